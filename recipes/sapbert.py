"""SapBERT (arXiv:2010.11784): a term encoder in which the names of a concept lie together.

    python recipes/sapbert.py recipes/configs/sapbert_open.yaml
    accelerate launch recipes/sapbert.py recipes/configs/sapbert_paper.yaml --terminology data/umls --linking ncbi.yaml

Reads terminologies, draws pairs of synonyms anew every epoch, trains with the multi-similarity loss on mined pairs,
links held-out names (and any benchmark it is given) before, during and after, and writes a folder that plain
sentence-transformers loads. Every argument of the trainer is an argument here too; ``--help`` lists them.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from transformers import set_seed

from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import BENCHMARK, read_benchmark_settings
from st_biomed.evaluators.data_folder import data_path
from st_biomed.evaluators.entity_linking.settings import LinkingSettings, LinkingSuite
from st_biomed.files import check_writable, lock, replace_text
from st_biomed.linking_data.held_out import hold_out_names
from st_biomed.losses.ablation import LOSSES, MINERS, loss_by_name
from st_biomed.losses.callbacks import TerminologyDigestCallback
from st_biomed.modules.adapt import SIZES, adapt
from st_biomed.modules.lora import add_lora, merge_lora
from st_biomed.release.run_data import read_run
from st_biomed.release.run_record import RunRecord
from st_biomed.samplers import EpochCallback, HardNegativeBatches, HardNegativeCallback, SynonymBatches
from st_biomed.settings.checks import COUNT, PATH, SEED, SIZE, about, one_of
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import (
    EncoderArguments,
    HardNegativeArguments,
    decaying_all,
    measured_in_training,
    with_precision,
)
from st_biomed.training.checkpoints import checkpoints_in, whole_checkpoints
from st_biomed.training.finish import Measured, measure_and_release
from st_biomed.training.output import OutputFolders, is_main, output_folders, resume_point
from st_biomed.training_data import names_dataset

ADAPTERS = ("none", "lora", "bottleneck")


@dataclass
class SapBERTArguments(HardNegativeArguments, EncoderArguments):
    """The paper's sentences as arguments; the section of the paper stands in the help. Hard negatives are CODER++'s."""

    terminology: list[str] = field(
        default_factory=lambda: ["icd10cm"],
        metadata=about(
            "a reader's name, reader:path, or a folder written by `st-biomed read`; several are merged", PATH
        ),
    )
    loss: str = field(default="ms", metadata=about(f"one of {', '.join(LOSSES)} (B.4, table 6)", one_of(*LOSSES)))
    miner: str = field(default="triplet", metadata=about("none, triplet (2, Eq. 1) or ms", one_of(*MINERS)))
    loss_options: str = field(default="", metadata={"help": "NAME=VALUE,... of the loss, e.g. beta=50,base=0.6"})
    adapter: str = field(
        default="none", metadata=about("none, lora, or bottleneck (4.2, the adapter variant)", one_of(*ADAPTERS))
    )
    adapter_size: str = field(
        default="large",
        metadata=about("of a bottleneck: large (13.22%% of the parameters) or small (1.09%%)", one_of(*SIZES)),
    )
    decay_all: bool = field(
        default=True, metadata={"help": "weight decay for biases and layer norms too (the published code)"}
    )
    max_pairs_per_concept: int = field(
        default=50, metadata=about("synonym pairs a concept and epoch (4.1); not used with --neighbors", COUNT)
    )
    pivot_language: str | None = field(
        default=None,
        metadata={"help": "pairs within each language and of each language with this one, e.g. en; all by default"},
    )
    held_out_names: int = field(
        default=1000, metadata=about("synonyms held out for dev, and for test, and linked; 0 for none", SIZE)
    )
    linking: list[str] = field(
        default_factory=list,
        metadata=about("benchmarks to link, as files like evaluation/benchmarks/*.yaml", BENCHMARK),
    )
    relatedness: list[str] = field(
        default_factory=list,
        metadata=about("tables of term pairs with scores to correlate with, e.g. MayoSRS.csv", PATH),
    )
    seeds: list[int] = field(
        default_factory=list, metadata=about("several runs and their mean (the paper: five); --seed by default", SEED)
    )
    split_seed: int = field(default=0, metadata=about("seed of the names that are held out", SEED))


def main(argv: Sequence[str] | None = None) -> None:
    recipe, training = read_settings((SapBERTArguments, SentenceTransformerTrainingArguments), argv)
    check(recipe)
    if recipe.smoke:
        training.max_steps, training.per_device_train_batch_size, recipe.held_out_names = 2, 16, 4
        if recipe.neighbors:
            recipe.prototypes, recipe.positives, recipe.neighbors = 2, 2, min(recipe.neighbors, 2)
    training = with_precision(training, recipe.precision)
    if recipe.seeds:
        run_seeds(recipe, training)
        return
    with output_folders(training, "sapbert", recipe.overwrite, base_model=recipe.base_model) as folders:
        run(recipe, training, folders, read(recipe, training))


class Read(NamedTuple):
    """What is trained on and measured, the same for all seeds."""

    whole: Terminology
    train: Terminology
    suite: LinkingSuite


def read(recipe: SapBERTArguments, training: SentenceTransformerTrainingArguments) -> Read:
    """Read terminologies and benchmarks, and hold names out."""
    whole = Terminology.merge(*(Terminology.open(source) for source in recipe.terminology))
    suite = LinkingSuite(
        [read_benchmark_settings(path, LinkingSettings) for path in recipe.linking],
        relatedness=recipe.relatedness,
        bf16=training.bf16,
        show_progress_bar=not training.disable_tqdm,
        cache_dir=recipe.cache_dir or None,
    )
    train = whole
    if recipe.held_out_names:
        train, held_out = hold_out_names(
            whole, n_dev=recipe.held_out_names, n_test=recipe.held_out_names, seed=recipe.split_seed
        )
        suite.add(held_out, "held-out-names")
    print(f"{whole!r}\nlinking: {suite}")
    return Read(whole, train, suite)


def run_seeds(recipe: SapBERTArguments, training: SentenceTransformerTrainingArguments) -> None:
    """Train with several seeds from one base model; runs that were finished earlier are not repeated."""
    runs = runs_of(training, recipe.seeds)
    folder = Path(training.output_dir or "out/sapbert")
    check_writable(folder)
    with lock(folder) if is_main(training) else nullcontext():
        data = read(recipe, training)
        results, before = [], None
        for one in runs:
            if resume_point(one) is True and not checkpoints_in(Path(f"{one.output_dir}-training")):
                one.resume_from_checkpoint = None  # its turn had not come
            finished = Path(str(one.output_dir), "run.json")
            if finished.is_file() and not recipe.overwrite:
                print(f"seed {one.seed}: finished in an earlier run ({finished.parent})")
                results.append(read_results(finished))
                continue
            with output_folders(one, "sapbert", recipe.overwrite, base_model=recipe.base_model) as folders:
                before, after = run(recipe, one, folders, data, before)
            results.append(after)
        if is_main(training):
            report_seeds(folder, recipe.seeds, results)


def check(recipe: SapBERTArguments) -> None:
    """Refuse before anything is read what its use would refuse later.

    Raises:
        InputError: No terminology, hard negatives with a pivot language, an option of the loss that is no number, or a
            table that is not there.
    """
    if not recipe.terminology:
        raise InputError("terminology: is needed, nothing was given")
    if recipe.neighbors:
        recipe.hard_negative_plan()
        if recipe.pivot_language is not None:
            raise InputError("pivot_language: batches with hard negatives have none; leave one of the two out")
    options_of_loss(recipe.loss_options)
    for path in recipe.relatedness:
        if not data_path(path).is_file():
            raise InputError(f"relatedness: {path}: no such file, a table of term pairs with scores is needed")


def run(
    recipe: SapBERTArguments,
    training: SentenceTransformerTrainingArguments,
    folders: OutputFolders,
    data: Read,
    before: Measured | None = None,
) -> tuple[Measured, Measured]:
    """One run from the base model to the release folder; what the benchmarks gave before and after it."""
    whole, train, suite = data
    plan = recipe.hard_negative_plan() if recipe.neighbors else None
    set_seed(training.seed)
    model = recipe.encoder()
    loss = loss_by_name(
        recipe.loss,
        model,
        miner=recipe.miner,
        mini_batch_size=recipe.mini_batch_size,
        lookup=train,
        gather_across_devices=recipe.gather_across_devices,
        **options_of_loss(recipe.loss_options),
    )
    if before is None:
        before = suite.measure(model, "the base model" if training.should_log else "")
    add_adapter(model, recipe)
    with training.main_process_first(desc="terminology"):
        if training.should_save:
            folders.begin(train)
    if plan is not None:
        training.per_device_train_batch_size = plan.batch_size
        training.batch_sampler = HardNegativeBatches.of(train, folders.work / "terminology", plan=plan)
        batches: EpochCallback = HardNegativeCallback(recipe.refresh_steps or None)
    else:
        training.batch_sampler = SynonymBatches.of(
            train,
            folders.work / "terminology",
            max_pairs_per_concept=recipe.max_pairs_per_concept,
            pivot_language=recipe.pivot_language,
        )
        batches = EpochCallback()
    record = RunRecord(
        recipe="sapbert",
        base_model=recipe.base_model,
        configuration=asdict(recipe),
        seed=training.seed,
        terminologies=[whole],
        license=recipe.license,
        description="An encoder of biomedical terms in which the names of a concept lie together.",
        readings=readings(recipe),
        headline=suite.headline,
    )
    record.add_losses({"synonyms": loss})
    optimizers: Any = (decaying_all(loss, training), None) if recipe.decay_all else (None, None)
    trainer = SentenceTransformerTrainer(
        model=model,
        args=training,
        train_dataset=names_dataset(train),
        loss=loss,
        evaluator=measured_in_training(training, suite.dev),
        optimizers=optimizers,
        callbacks=whole_checkpoints(record.callback(), TerminologyDigestCallback(loss), batches),
    )
    trainer.train(resume_from_checkpoint=resume_point(training))
    if recipe.adapter == "lora":
        merge_lora(model)
    after = measure_and_release(model, suite, folders, record, before=before, terminologies=[whole], trainer=trainer)
    return before, after


def runs_of(
    training: SentenceTransformerTrainingArguments, seeds: list[int]
) -> list[SentenceTransformerTrainingArguments]:
    """The arguments of the run of each seed, in a folder of its own."""
    if len(set(seeds)) < len(seeds):
        raise InputError(f"seeds: each is run once, found {' '.join(map(str, seeds))}")
    if training.push_to_hub:
        raise InputError(
            "push_to_hub: with --seeds, publish the run that you choose: st-biomed release FOLDER owner/name"
        )
    folder = Path(training.output_dir or "out/sapbert")
    return [replace(training, seed=seed, output_dir=str(folder / f"seed-{seed}")) for seed in seeds]


def read_results(path: Path) -> Measured:
    """What a finished run found after training."""
    results = read_run(path)["results"]
    return {
        name: {key: value for key, value in sides.get("after", {}).items() if value is not None}
        for name, sides in results.items()
    }


def report_seeds(folder: Path, seeds: list[int], results: list[dict[str, dict[str, float]]]) -> None:
    """Print the mean and the standard deviation of the accuracies over the runs, and write all figures of all runs."""
    replace_text(folder / "seeds.json", json.dumps({"seeds": seeds, "results": results}, indent=1) + "\n")
    print(f"\nMean and standard deviation over seeds {', '.join(map(str, seeds))}:")
    for name, of_first in results[0].items():
        for key in (f"{name}_{what}" for what in ("acc@1", "acc@5", "spearman") if f"{name}_{what}" in of_first):
            if lacking := [seed for seed, result in zip(seeds, results) if key not in result.get(name, {})]:
                print(f"{key:40} was not measured with seed {lacking[0]}")
                continue
            values = [result[name][key] for result in results]
            deviation = statistics.stdev(values) if len(values) > 1 else 0.0
            print(f"{key:40} {statistics.fmean(values):.4f} +- {deviation:.4f}")


def add_adapter(model: SentenceTransformer, recipe: SapBERTArguments) -> None:
    """Put the adapters in that are trained in place of the encoder."""
    if recipe.adapter == "bottleneck":
        adapt(model, recipe.adapter_size)
    elif recipe.adapter == "lora":
        add_lora(model)


def options_of_loss(text: str) -> dict[str, float]:
    """``"beta=50,base=0.6"`` as keyword arguments."""
    options = {}
    for pair in filter(None, text.split(",")):
        name, equals, value = pair.partition("=")
        try:
            options[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals or not math.isfinite(options[name.strip()]):
            raise InputError(f"loss_options are written NAME=NUMBER,..., found {pair!r}")
    return options


def readings(recipe: SapBERTArguments) -> list[str]:
    """How this run reads what the paper leaves open, for the card."""
    said = []
    if recipe.loss == "ms":
        said.append(
            "Equation 2 prints alpha and beta with exchanged roles; alpha (1) is the steepness of positives and beta (60) "
            "that of negatives, as in the published code and in the paper the loss comes from."
        )
    if recipe.miner == "triplet":
        said.append(
            "Equation 1 as printed keeps triplets whose negative is nearer than the positive by more than the margin; kept "
            "are those whose negative is not at least .2 farther, in distances of unit vectors, as in the published code."
        )
    if recipe.neighbors:
        said.append(
            f"Batches are those of CODER++ (arXiv:2204.00391), not the paper's: {recipe.prototypes} prototypes, each with "
            f"{recipe.positives} of its names and the {recipe.neighbors} names nearest to it under the weights of the time."
        )
    return said


if __name__ == "__main__":
    run_recipe(main)
