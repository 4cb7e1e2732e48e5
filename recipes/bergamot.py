"""BERGAMOT (Sakhovskiy et al. 2024): a text encoder trained together with a graph encoder.

    python recipes/bergamot.py recipes/configs/bergamot_open.yaml --terminology out/open --graph gat
    accelerate launch recipes/bergamot.py recipes/configs/bergamot_paper.yaml --terminology data/umls --linking mantra_es quaero_emea

Each concept of a batch has two of its names, and a neighborhood drawn from the terminology's parents and relations. A
graph encoder in the loss reads the vectors of all names of the neighborhood. A weight of 0 turns a loss off; ``--graph
none`` turns the three graph losses off, which leaves SapBERT. The trainer's arguments are accepted too;
``--help-all`` lists them.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sentence_transformers import SentenceTransformerTrainingArguments
from transformers import set_seed

from st_biomed.encoder.text_limit import limited_preprocess
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import BENCHMARK, chosen_benchmarks, read_all_settings
from st_biomed.evaluators.entity_linking.settings import LinkingSettings
from st_biomed.evaluators.entity_linking.suite import LinkingSuite
from st_biomed.linking_data.translation_arguments import TranslationArguments
from st_biomed.losses import LossParametersCallback, TerminologyDigestCallback
from st_biomed.losses.bergamot_arguments import BergamotLossArguments
from st_biomed.samplers import EpochCallback, GraphBatches, GraphCollator
from st_biomed.settings.checks import COUNT, PATH, about, at_least, check_unused, one_of
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.training.arguments import EncoderArguments
from st_biomed.training.distillation import DistillationArguments
from st_biomed.training.encoder_run import evaluate_base_model, read_terminology, record_run, train_encoder
from st_biomed.training.finish import evaluate_and_release
from st_biomed.training.loss_warmup import check_schedule
from st_biomed.training.output import OutputFolders, output_folders
from st_biomed.training.readings import bergamot_readings
from st_biomed.training_data import names_dataset
from st_biomed.training_data.concept_graph import ConceptGraph

NEIGHBORHOODS = ("original", "shuffled", "none")


@dataclass
class BergamotArguments(DistillationArguments, BergamotLossArguments, TranslationArguments, EncoderArguments):
    """Arguments from the paper; the help names its sections."""

    base_model: str = field(
        default="FacebookAI/xlm-roberta-base", metadata=about("Hub id or folder to start from; any encoder", PATH)
    )
    max_length: int = field(default=32, metadata=about("maximum number of tokens of a name", at_least(3)))
    terminology: list[str] = field(
        default_factory=list,
        metadata=about(
            "a reader's name, reader:path, or a folder written by `st-biomed read`; several are merged", PATH
        ),
    )
    max_neighbors: list[int] = field(
        default_factory=lambda: [3],
        metadata=about("maximum number of neighbors of a concept, for each hop from the targets", COUNT),
    )
    neighborhood: str = field(
        default="original",
        metadata=about(
            "original: the neighbors in the terminology; or a control: shuffled (neighbors exchanged at random, drawn by "
            "the seed) or none (each concept alone in its graph)",
            one_of(*NEIGHBORHOODS),
        ),
    )
    relations: bool = field(default=True, metadata={"help": "use relations as edges"})
    parents: bool = field(default=True, metadata={"help": "use parents as edges, in both directions"})
    inverses: bool = field(
        default=True, metadata={"help": "add an inverse edge for each relation; UMLS states both directions"}
    )
    max_pairs_per_concept: int = field(
        default=50,
        metadata=about("pairs of names per concept and epoch, in each language and with the pivot language", COUNT),
    )
    pivot_language: str = field(
        default="en",
        metadata={"help": "make pairs within each language and between it and this one; empty: ignore languages"},
    )
    linking: list[str] = field(
        default_factory=list,
        metadata=about("linking benchmarks measured before, during and after training: names or files", BENCHMARK),
    )
    benchmarks: list[str] = field(
        default_factory=list,
        metadata=about("benchmarks measured before and after training: names or files; none for none", BENCHMARK),
    )


def main(argv: Sequence[str] | None = None) -> None:
    train(*read_settings((BergamotArguments, SentenceTransformerTrainingArguments), argv))


def train(recipe: BergamotArguments, training: SentenceTransformerTrainingArguments) -> None:
    """One run."""
    check(recipe)
    if recipe.smoke:
        training.max_steps, training.per_device_train_batch_size = 2, 8
    training = recipe.training_arguments(training)
    if recipe.graph_warmup_steps is not None:
        check_schedule(training)
    with output_folders(training, "bergamot", recipe.overwrite, base_model=recipe.base_model) as folders:
        run(recipe, training, folders)


def check(recipe: BergamotArguments) -> None:
    """Raise InputError if an argument is invalid, before anything is read.

    Raises:
        InputError: There is no terminology, an option is of another graph encoder, of a neighborhood that is left out, of
            self-distillation without its weight or of translations that are not held out, or the data of a benchmark are missing.
    """
    recipe.check_graph()
    recipe.check_distillation()
    recipe.check_translations()
    if recipe.neighborhood == "none":
        check_unused(recipe, ("relation_loss", "max_neighbors"), "neighborhood none", by=("neighborhood",))
    if not recipe.terminology:
        raise InputError("terminology: is needed, nothing was given")
    chosen_benchmarks(recipe.benchmarks)


def run(recipe: BergamotArguments, training: SentenceTransformerTrainingArguments, folders: OutputFolders) -> None:
    """From the terminologies to the release folder."""
    set_seed(training.seed)

    # Read.
    whole = read_terminology(recipe.terminology)
    suite = LinkingSuite(
        read_all_settings(recipe.linking, LinkingSettings),
        show_progress_bar=not training.disable_tqdm,
        **recipe.measuring(training),
    )

    # Hold out.
    train, datasets = recipe.hold_out(whole, recipe.pivot_language or "en")
    for dataset in datasets:
        suite.add_dataset(dataset, dataset.name)
    suite.add_benchmarks(recipe.benchmarks, **recipe.measuring(training))
    graph = ConceptGraph(
        train,
        relations=recipe.relations,
        parents=recipe.parents,
        inverses=recipe.inverses,
        shuffle_seed=training.seed if recipe.neighborhood == "shuffled" else None,
        may_be_empty=recipe.graph == recipe.relation_loss == "none",
    )
    print(f"{train!r}\n{graph!r}\nedges: {graph.tally}\nmeasured: {suite}")

    # Model.
    model = recipe.encoder()

    # Data.
    training.batch_sampler = GraphBatches.of(
        train,
        folders.work / "terminology",
        max_pairs_per_concept=recipe.max_pairs_per_concept,
        pivot_language=recipe.pivot_language or None,
    )

    # Loss.
    loss: Any = recipe.bergamot_loss(
        model,
        train,
        len(graph.relations),
        edgeless=recipe.neighborhood == "none",
        seed=training.seed,
        **recipe.embedding(),
    )
    reads_graph = recipe.neighborhood != "none" and any(loss.weights[name] for name in loss.weights if name != "text")
    loss = recipe.distill_loss(loss, model, train.strings, max_length=recipe.max_length, bf16=training.bf16)
    collator = GraphCollator(
        graph,
        limited_preprocess(model, recipe.max_length),
        max_neighbors=recipe.max_neighbors if reads_graph else (),  # embed no text that no loss uses
        seed=training.seed,
    )

    # Train.
    averaging = recipe.averaging(model, recipe.base_model, suite.dev, bf16=training.bf16)
    before = evaluate_base_model(suite, model, training, train)
    folders.begin_in_main(training, train)
    record = record_run(
        "bergamot",
        recipe,
        training,
        {"names": loss},
        terminologies=[whole],
        description="An encoder of biomedical terms, trained "
        + ("with a graph encoder beside it." if recipe.graph != "none" else "on names alone."),
        readings=bergamot_readings(recipe),
        headline=suite.headline,
    )
    train_encoder(
        model,
        recipe,
        training,
        names_dataset(train),
        loss,
        record,
        LossParametersCallback(loss),
        TerminologyDigestCallback(loss),
        EpochCallback(),
        dev=suite.dev,
        collator=collator,
    )

    # Measure and release.
    evaluate_and_release(
        model,
        suite,
        folders,
        record,
        before=before,
        terminologies=[whole],
        training=training,
        beside={} if loss.graph_encoder is None else {"graph_encoder": loss.graph_encoder.save},
        averaging=averaging,
    )


if __name__ == "__main__":
    run_recipe(main)
