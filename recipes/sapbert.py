"""SapBERT (arXiv:2010.11784): a term encoder that gives the names of a concept similar vectors.

    python recipes/sapbert.py recipes/configs/sapbert_open.yaml
    accelerate launch recipes/sapbert.py recipes/configs/sapbert_paper.yaml --terminology data/umls --linking ncbi.yaml

The recipe reads terminologies, draws new pairs of synonyms in every epoch, trains with the multi-similarity loss on
mined pairs, links held-out names and optional benchmarks before, during and after training, and writes a folder that
sentence-transformers loads without this package. The trainer's arguments are accepted too; ``--help-all`` lists
them.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from sentence_transformers import SentenceTransformerTrainingArguments
from transformers import set_seed

from st_biomed.encoder import find_model
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import BENCHMARK, read_all_settings
from st_biomed.evaluators.data_folder import data_path
from st_biomed.evaluators.entity_linking.settings import LinkingSettings
from st_biomed.evaluators.entity_linking.suite import LinkingSuite
from st_biomed.linking_data.held_out_name_arguments import HeldOutNameArguments
from st_biomed.losses.pair_loss_arguments import PairLossArguments
from st_biomed.losses.terminology_digest_callback import TerminologyDigestCallback
from st_biomed.modules.adapters import SIZES, add_adapters
from st_biomed.samplers import EpochCallback, HardNegativeBatches, HardNegativeCallback, SynonymBatches
from st_biomed.settings.checks import COUNT, PATH, SEED, about, check_unused, one_of
from st_biomed.settings.keyword_options import unless_none
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import EncoderArguments, HardNegativeArguments, measured_in_training
from st_biomed.training.distillation import DistillationArguments
from st_biomed.training.encoder_run import evaluate_base_model, read_terminology, record_run, train_encoder
from st_biomed.training.finish import Measured, evaluate_and_release
from st_biomed.training.output import OutputFolders, output_folders
from st_biomed.training.readings import sapbert_readings
from st_biomed.training.seeds import seed_runs
from st_biomed.training_data import names_dataset

ADAPTERS = ("none", "lora", "bottleneck")


@dataclass
class SapBERTArguments(
    DistillationArguments, HardNegativeArguments, HeldOutNameArguments, PairLossArguments, EncoderArguments
):
    """Arguments from the paper; the help names its sections. Hard negatives are those of CODER++."""

    terminology: list[str] = field(
        default_factory=lambda: ["icd10cm"],
        metadata=about(
            "a reader's name, reader:path, or a folder written by `st-biomed read`; several are merged", PATH
        ),
    )
    adapter: str = field(
        default="none", metadata=about("none, lora, or bottleneck (4.2, the adapter variant)", one_of(*ADAPTERS))
    )
    adapter_size: str = field(
        default="large",
        metadata=about("size of a bottleneck: large (13.22%% of the parameters) or small (1.09%%)", one_of(*SIZES)),
    )
    decay_all: bool = field(
        default=True, metadata={"help": "weight decay also for biases and layer norms, as in the published code"}
    )
    max_pairs_per_concept: int = field(
        default=50, metadata=about("synonym pairs per concept and epoch (4.1); not used with --neighbors", COUNT)
    )
    pivot_language: str | None = field(
        default=None,
        metadata={"help": "make pairs within each language and between it and this one, e.g. en; empty: all pairs"},
    )
    linking: list[str] = field(
        default_factory=list,
        metadata=about("entity linking benchmarks, as files like evaluation/benchmarks/*.yaml", BENCHMARK),
    )
    relatedness: list[str] = field(
        default_factory=list,
        metadata=about("tables of term pairs with relatedness scores, e.g. MayoSRS.csv", PATH),
    )
    seeds: list[int] = field(
        default_factory=list,
        metadata=about("one run for each seed, and their mean (the paper has five runs); --seed by default", SEED),
    )
    split_seed: int = field(default=0, metadata=about("seed of the held-out names", SEED))


def main(argv: Sequence[str] | None = None) -> None:
    train(*read_settings((SapBERTArguments, SentenceTransformerTrainingArguments), argv))


def train(recipe: SapBERTArguments, training: SentenceTransformerTrainingArguments) -> None:
    """One run, or one run for each seed; runs that an earlier command has finished are not repeated."""
    check(recipe)
    if recipe.smoke:
        training.max_steps, training.per_device_train_batch_size, recipe.held_out_names = 2, 16, 4
        if recipe.neighbors:
            recipe.prototypes, recipe.positives, recipe.neighbors = 2, 2, min(recipe.neighbors, 2)
    training = recipe.training_arguments(training)
    if recipe.neighbors:
        training.per_device_train_batch_size = recipe.hard_negative_plan().batch_size
    if not recipe.seeds:
        with output_folders(training, "sapbert", recipe.overwrite, base_model=recipe.base_model) as folders:
            run(recipe, training, folders, read(recipe, training))
        return
    with seed_runs(training, recipe.seeds, Path(training.output_dir or "out/sapbert")) as runs:
        find_model(recipe.base_model)
        data, before = read(recipe, training), None
        for seeded in runs.unfinished(recipe, [data.whole]):
            with output_folders(seeded, "sapbert", recipe.overwrite, base_model=recipe.base_model) as folders:
                before, runs.results[seeded.seed] = run(recipe, seeded, folders, data, before)
        runs.report()


def check(recipe: SapBERTArguments) -> None:
    """Raise InputError if an argument is invalid, before anything is read.

    Raises:
        InputError: There is no terminology, hard negatives are combined with a pivot language, an option does not fit
            the loss or needs another one, or a table of term pairs does not exist.
    """
    if not recipe.terminology:
        raise InputError("terminology: is needed, nothing was given")
    recipe.check_hard_negatives()
    if recipe.neighbors and recipe.pivot_language:
        raise InputError("pivot_language: batches with hard negatives have none; leave one of the two out")
    if recipe.adapter != "bottleneck":
        check_unused(recipe, ("adapter_size",), f"adapter {recipe.adapter}", by=("adapter",))
    recipe.check_loss()
    recipe.check_distillation()
    for path in unless_none(recipe.relatedness):
        if not data_path(path).is_file():
            raise InputError(f"relatedness: {path}: no such file, a table of term pairs with scores is needed")


class Data(NamedTuple):
    """The terminologies and the evaluators, which are the same for all seeds."""

    whole: Terminology
    train: Terminology
    suite: LinkingSuite


def read(recipe: SapBERTArguments, training: SentenceTransformerTrainingArguments) -> Data:
    """Read the terminologies and the benchmarks, and hold out names."""
    # Read.
    whole = read_terminology(recipe.terminology)
    suite = LinkingSuite(
        read_all_settings(recipe.linking, LinkingSettings),
        relatedness=unless_none(recipe.relatedness),
        show_progress_bar=not training.disable_tqdm,
        **recipe.measuring(training),
    )

    # Hold out.
    train = whole
    if recipe.held_out_names:
        train, held_out = recipe.hold_out_names(whole, recipe.split_seed)
        suite.add_dataset(held_out, "held-out-names")
    print(f"{whole!r}\nlinking: {suite}")
    return Data(whole, train, suite)


def run(
    recipe: SapBERTArguments,
    training: SentenceTransformerTrainingArguments,
    folders: OutputFolders,
    data: Data,
    before: Measured | None = None,
) -> tuple[Measured, Measured]:
    """One run from the base model to the release folder; returns the results before and after training."""
    whole, train, suite = data
    set_seed(training.seed)

    # Model.
    model = recipe.encoder()

    # Data.
    rows, kept = names_dataset(train), folders.work / "terminology"
    if recipe.neighbors:
        training.batch_sampler = HardNegativeBatches.of(train, kept, **vars(recipe.hard_negative_plan()))
    else:
        training.batch_sampler = SynonymBatches.of(
            train,
            kept,
            max_pairs_per_concept=recipe.max_pairs_per_concept,
            pivot_language=recipe.pivot_language or None,
        )

    # Loss.
    loss = recipe.pair_loss(model, train, **recipe.embedding())
    loss = recipe.distill_loss(loss, model, train.strings, max_length=recipe.max_length, bf16=training.bf16)

    # Train.
    dev = measured_in_training(training, suite.dev)
    recipe.check_dev(suite.dev)
    if before is None:
        before = evaluate_base_model(suite, model, training, train)
    if recipe.adapter == "bottleneck":
        add_adapters(model, recipe.adapter_size)
    averaging = recipe.averaging(model, recipe.base_model, suite.dev, bf16=training.bf16)
    folders.begin_in_main(training, train)
    record = record_run(
        "sapbert",
        recipe,
        training,
        {"synonyms": loss},
        terminologies=[whole],
        description="An encoder of biomedical terms in which the names of a concept lie together.",
        readings=sapbert_readings(recipe),
        headline=suite.headline,
    )
    train_encoder(
        model,
        recipe,
        training,
        rows,
        loss,
        record,
        TerminologyDigestCallback(loss),
        HardNegativeCallback(recipe.refresh_steps or None, max_length=recipe.max_length)
        if recipe.neighbors
        else EpochCallback(),
        dev=dev,
    )

    # Measure and release.
    after = evaluate_and_release(
        model,
        suite,
        folders,
        record,
        before=before,
        terminologies=[whole],
        training=training,
        averaging=averaging,
        needs_code=recipe.adapter == "bottleneck",
    )
    return before, after


if __name__ == "__main__":
    run_recipe(main)
