"""Fine-tune an encoder on an entity linking data set (SapBERT, section 4.1).

    python recipes/sapbert_finetune.py recipes/configs/sapbert_finetune_paper.yaml --base_model out/sapbert \
        --linking evaluation/benchmarks/ncbi_disease.yaml

The recipe pairs every mention of the training split with every name of its concepts in the dictionary, trains with the
multi-similarity loss, links the test split before and after training, and writes a folder that sentence-transformers
loads without this package. Test mentions are used only for measurement. With a data set in folds (CADEC, PsyTAR) there
is a separate run for each fold from the same base model, or only for ``--fold``. With ``--neighbors`` a batch has mentions
with their nearest names of the dictionary, found anew in every epoch, as in BioSyn. The trainer's arguments are accepted too.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

from collections.abc import Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path

from sentence_transformers import SentenceTransformerTrainingArguments
from transformers import set_seed

from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import BENCHMARK, read_benchmark_settings
from st_biomed.evaluators.entity_linking.settings import LinkingSettings
from st_biomed.evaluators.entity_linking.suite import LinkingSuite
from st_biomed.linking_data import LinkingDataset
from st_biomed.linking_data.formats import format_options
from st_biomed.linking_data.preparation import prepare
from st_biomed.losses.pair_loss_arguments import PairLossArguments
from st_biomed.losses.terminology_digest_callback import TerminologyDigestCallback
from st_biomed.release.push_target import push_target
from st_biomed.samplers import EpochCallback, HardNegativeBatches, HardNegativeCallback, ShuffledBatches
from st_biomed.settings.checks import PATH, WEIGHT, about
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.training.arguments import EncoderArguments, HardNegativeArguments
from st_biomed.training.distillation import DistillationArguments
from st_biomed.training.encoder_run import evaluate_base_model, record_run, train_encoder
from st_biomed.training.finish import evaluate_and_release
from st_biomed.training.fold_results import FoldResult, mean_table
from st_biomed.training.output import OutputFolders, output_folders, resume_point
from st_biomed.training.readings import distillation_readings
from st_biomed.training_data import mention_pairs, names_dataset

EPOCHS = {"ncbi_disease": 3, "bc5cdr": 3, "medmentions": 3, "askapatient": 15, "cometa": 10}
"""By format: "On scientific language datasets, we train for 3 epochs while on AskAPatient and COMETA we train for 15 and
10 epochs respectively" (4.1)."""


@dataclass
class FinetuningArguments(DistillationArguments, HardNegativeArguments, PairLossArguments, EncoderArguments):
    """Arguments from the paper; the help names its sections."""

    linking: str = field(
        default="", metadata=about("data set, as a file like evaluation/benchmarks/ncbi_disease.yaml", BENCHMARK)
    )
    base_model: str = field(
        default="cambridgeltl/SapBERT-from-PubMedBERT-fulltext", metadata=about("Hub id or folder to start from", PATH)
    )
    train_splits: list[str] = field(default_factory=lambda: ["train"], metadata={"help": "splits to train on"})
    decay_all: bool = field(
        default=True, metadata={"help": "weight decay also for biases and layer norms, as in the published code"}
    )
    back_off: bool = field(
        default=False,
        metadata={"help": "add training mentions to the dictionary when test mentions are linked (COMETA's baseline)"},
    )
    fold: int | None = field(
        default=None,
        metadata={
            "help": "fold of a data set in folds to train on and measure; by default all folds, in separate folders "
            "(<output_dir>/fold-0, ...), and their mean"
        },
    )


@dataclass
class FinetuningTraining(SentenceTransformerTrainingArguments):
    """The trainer's arguments, with another default."""

    num_train_epochs: float = field(
        default=0.0,
        metadata=about(
            "number of epochs; by default that of the paper for the data set (4.1), 3 for other data sets", WEIGHT
        ),
    )


def main(argv: Sequence[str] | None = None) -> None:
    train(*read_settings((FinetuningArguments, FinetuningTraining), argv))


def train(recipe: FinetuningArguments, training: SentenceTransformerTrainingArguments) -> None:
    """One run, or one run for each fold."""
    if not recipe.linking:
        raise InputError("linking: the data set is needed, a file like evaluation/benchmarks/ncbi_disease.yaml")
    recipe.check_loss()
    recipe.check_distillation()
    recipe.check_hard_negatives()
    benchmark = read_benchmark_settings(recipe.linking, LinkingSettings)
    if benchmark.test in recipe.train_splits:
        raise InputError(f"train_splits: {benchmark.test} is measured, and would be trained on; leave it out")
    training.num_train_epochs = training.num_train_epochs or EPOCHS.get(benchmark.format, 3)
    if recipe.smoke:
        training.max_steps, training.per_device_train_batch_size = 2, 2
        if recipe.neighbors:
            recipe.prototypes, recipe.positives, recipe.neighbors = 2, 1, min(recipe.neighbors, 2)
    training = recipe.training_arguments(training)
    folds = folds_to_train(recipe, benchmark, training)
    output = Path(training.output_dir or "out/sapbert_finetuned")
    # The folders of all folds are checked and locked, and all folds are read, before the first training.
    with ExitStack() as held:
        runs = []
        for fold in folds:
            own = deepcopy(training)
            own.output_dir = str(output / f"fold-{fold}" if len(folds) > 1 else output)
            folders = held.enter_context(
                output_folders(own, "sapbert_finetuned", recipe.overwrite, base_model=recipe.base_model)
            )
            runs.append((replace(recipe, fold=fold), own, folders, benchmark))
        datasets = [benchmark.open(fold) for fold in folds]
        results = [run(*arguments, dataset) for arguments, dataset in zip(runs, datasets)]
    if len(results) > 1 and training.should_log:
        print(f"\n{mean_table(results)}")


def folds_to_train(
    recipe: FinetuningArguments, benchmark: LinkingSettings, training: SentenceTransformerTrainingArguments
) -> list[int | None]:
    """The folds to train on, in separate runs; ``[None]`` if the data set has no folds.

    Raises:
        InputError: The fold does not exist, or several folds are to be published or resumed.
    """
    if recipe.fold is not None:
        if benchmark.folds and recipe.fold not in benchmark.folds:
            raise InputError(f"fold: {benchmark.name} has {', '.join(map(str, benchmark.folds))}, found {recipe.fold}")
        if "fold" not in format_options(benchmark.format):
            raise InputError(f"fold: data sets of format {benchmark.format!r} have no folds, found {recipe.fold}")
        if benchmark.options.get("fold", recipe.fold) != recipe.fold:
            raise InputError(f"fold: {benchmark.name} is fold {benchmark.options['fold']} alone, found {recipe.fold}")
        return [recipe.fold]
    folds: list[int | None] = [*dict.fromkeys(benchmark.folds)]
    if len(folds) > 1:
        several = {"push_to_hub": push_target(training) is not None, "resume_from_checkpoint": resume_point(training)}
        for option in (option for option, asked in several.items() if asked):
            own = f"--fold {folds[0]} --output_dir {training.output_dir or 'out/sapbert_finetuned'}/fold-{folds[0]}"
            raise InputError(
                f"{option}: {benchmark.name} has {len(folds)} folds; name one with its folder, e.g. {own}"
            )
    return folds or [None]


def run(
    recipe: FinetuningArguments,
    training: SentenceTransformerTrainingArguments,
    folders: OutputFolders,
    benchmark: LinkingSettings,
    raw: LinkingDataset,
) -> FoldResult:
    """One run, from the data set or one of its folds to the release folder."""
    set_seed(training.seed)

    # Read.
    dataset = benchmark.prepared(raw)
    pairs = mention_pairs(dataset, recipe.train_splits)

    # Hold out: the mentions that are linked are not in the training data.
    suite = LinkingSuite(show_progress_bar=not training.disable_tqdm, **recipe.measuring(training))
    seen = [*dict.fromkeys([*recipe.train_splits, *benchmark.seen])]
    if recipe.back_off:
        steps = {"add_mentions": {"splits": recipe.train_splits}}
        raw, dataset = prepare(raw, steps), prepare(dataset, steps)
    documents = benchmark.by_document
    if benchmark.steps and benchmark.raw:
        suite.add_dataset(raw, f"{benchmark.name}_raw", dev="", test=benchmark.test, seen=seen, by_document=documents)
    unused = training.eval_strategy == "no" and not recipe.measures_shares
    dev = "" if benchmark.dev in recipe.train_splits or unused else benchmark.dev
    suite.add_dataset(dataset, benchmark.name, dev=dev, test=benchmark.test, seen=seen, by_document=documents)
    print(f"{dataset.name}: {pairs.tally}\n{len(pairs.dataset):,} pairs; linking: {suite}")

    # Model.
    model = recipe.encoder()

    # Data.
    known, rows = pairs.terminology, pairs.dataset
    if recipe.neighbors:
        rows = names_dataset(known)
        plan = replace(
            recipe.hard_negative_plan(),
            prototype_sources=(pairs.mention_source,),
            candidate_sources=(pairs.dictionary_source,),
        )
        training.per_device_train_batch_size = plan.batch_size
        training.batch_sampler = HardNegativeBatches.of(known, folders.work / "terminology", **vars(plan))
    else:
        training.batch_sampler = ShuffledBatches.of(rows)

    # Loss.
    told = pairs.masks() if recipe.loss == "marginal" else {}  # a loss that tells mentions from names
    loss = recipe.pair_loss(model, known, **recipe.embedding(), **told)
    loss = recipe.distill_loss(loss, model, known.strings, max_length=recipe.max_length, bf16=training.bf16)

    # Train.
    averaging = recipe.averaging(model, recipe.base_model, suite.dev, bf16=training.bf16)
    before = evaluate_base_model(suite, model, training)
    folders.begin_in_main(training, pairs.terminology)
    record = record_run(
        "sapbert_finetune",
        recipe,
        training,
        {"mentions": loss},
        terminologies=[pairs.terminology],
        description=f"An encoder of biomedical terms, fine-tuned on the mentions of {dataset.name}.",
        readings=distillation_readings(recipe),
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
        dev=suite.dev,
    )

    # Measure and release.
    after = evaluate_and_release(
        model,
        suite,
        folders,
        record,
        before=before,
        terminologies=[pairs.terminology],
        training=training,
        averaging=averaging,
    )
    return FoldResult(suite, {name: dict(figures) for name, figures in before.items()}, after)


if __name__ == "__main__":
    run_recipe(main)
