"""Few-shot robust names (Fivez, Suster, Daelemans 2021): a small network on a frozen encoder, trained in seconds.

    python recipes/fewshot_names.py recipes/configs/fewshot_names_open.yaml --training_sets "Mine=concepts.csv" --shots 5
    python recipes/fewshot_names.py recipes/configs/fewshot_names_paper.yaml --base_model wiki.bin \\
        --training_sets "ICD-10=icd10cm?extensions=true" "SNOMED=data/snomed#UMLS:C0012634" --benchmarks mayosrs --shots 5 10 15

One command runs the experiment of the paper: each training set alone and on top of each other set, with each number of
shots and each seed. One encoder is released. The trainer's arguments are accepted too; ``--help-all`` lists them.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from sentence_transformers import SentenceTransformerTrainingArguments
from sentence_transformers.util import get_world_size

from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import BENCHMARK, chosen_benchmarks
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.few_shot.experiment import Chain, Experiment, TrainedChain, best_width, chains_of, check_distinct
from st_biomed.few_shot.frozen_encoder import FrozenEncoder
from st_biomed.few_shot.input_arguments import InputArguments
from st_biomed.few_shot.outcomes import FewShotRun, Measured, Outcomes
from st_biomed.few_shot.paired_tests import RESAMPLES, compared_with_input, primary_units
from st_biomed.few_shot.result_files import write_rankings, write_tables
from st_biomed.few_shot.stage import StageSettings, assembled
from st_biomed.few_shot.training_set_arguments import TrainingSetArguments
from st_biomed.few_shot.training_sets import sources_of, with_known_words
from st_biomed.modules.residual_feed_forward import HIDDEN
from st_biomed.release.fold_modules import fold_modules
from st_biomed.release.run_record import RunRecord
from st_biomed.settings.checks import COUNT, FOLDER, SEED, about, at_least, one_of
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.training.arguments import PRECISIONS, changed_arguments, with_precision
from st_biomed.training.encoder_run import record_run
from st_biomed.training.finish import evaluate_and_release
from st_biomed.training.output import OutputFolders, output_folders
from st_biomed.training.readings import few_shot_readings
from st_biomed.training.same_run import weight_arguments
from st_biomed.training_data.few_shot import few_shot_names


@dataclass
class FewShotArguments(StageSettings, TrainingSetArguments, InputArguments):
    """Arguments from the paper; the help names its sections."""

    shots: list[int] = field(
        default_factory=lambda: [15], metadata=about("names of every concept, e.g. 5 10 15", COUNT)
    )
    seeds: list[int] = field(
        default_factory=lambda: list(range(5)), metadata=about("random training samples (3.3)", SEED)
    )
    hidden: list[int] = field(
        default_factory=lambda: [HIDDEN],
        metadata=about(
            "width of the hidden layer; with several, the one with the lowest validation loss is used (3.2)", COUNT
        ),
    )
    continual: bool = field(default=True, metadata={"help": "train each set also on top of each other set (3.3)"})
    benchmarks: list[str] = field(
        default_factory=list,
        metadata=about("benchmarks measured before and after every run: names or files", BENCHMARK),
    )
    slow_benchmarks: list[str] = field(
        default_factory=list, metadata=about("benchmarks measured only with the largest number of shots", BENCHMARK)
    )
    paired_tests: int = field(
        default=RESAMPLES,
        metadata=about("random draws of the paired test of each run against the input; 0 for no tests", at_least(0)),
    )
    rankings: list[str] = field(
        default_factory=list,
        metadata={"help": "names for which training names are ranked (Table 4); some validation names by default"},
    )
    release: list[str] = field(
        default_factory=list, metadata={"help": "training sets of the released encoder; by default the first two"}
    )
    release_seed: int | None = field(
        default=None, metadata=about("seed of the released encoder; by default the first", SEED)
    )
    precision: str = field(
        default="as given",
        metadata=about(
            "auto: bf16 if the CPU or the GPU supports it; as given: --bf16 and --fp16 decide",
            one_of(*PRECISIONS),
        ),
    )
    license: str = field(default="other", metadata={"help": "license of the released model"})
    overwrite: bool = field(default=False, metadata={"help": "replace the output of an earlier run in output_dir"})
    cache_dir: str = field(
        default="", metadata=about("folder in which a model's vectors are stored for later runs", FOLDER)
    )
    smoke: bool = field(default=False, metadata={"help": "two epochs of a small network, for tests"})


def main(argv: Sequence[str] | None = None) -> None:
    train(*read_settings((FewShotArguments, SentenceTransformerTrainingArguments), argv))


def train(recipe: FewShotArguments, training: SentenceTransformerTrainingArguments) -> None:
    """The whole experiment."""
    chains = check(recipe)
    if training.seed not in (SentenceTransformerTrainingArguments.seed, *recipe.seeds):
        raise InputError(f"seed: the runs have those of --seeds, found --seed {training.seed}; leave it out")
    if recipe.smoke:
        training.num_train_epochs, recipe.hidden = 2, [8]
    training = with_precision(training, recipe.precision)
    base, is_model = recipe.base_model, not recipe.input_form().is_table
    with output_folders(
        training, "fewshot_names", recipe.overwrite, base_model=base, base_is_model=is_model
    ) as folders:
        if folders.push is not None and recipe.unit == "name":
            raise InputError(
                "push_to_hub: with --unit name nothing is released, since the table of the input holds whole names"
            )
        run(recipe, training, chains, folders)


def run(
    recipe: FewShotArguments,
    training: SentenceTransformerTrainingArguments,
    chains: list[Chain],
    folders: OutputFolders,
) -> None:
    """From the training sets to tables and the release folder."""
    # Read. Names are drawn once before anything is encoded, so that too few names are an early error.
    encoder = FrozenEncoder(recipe.input_form(), bf16=training.bf16, cache_dir=recipe.cache_dir)
    sets = {part.name: with_known_words(part, encoder) for part in recipe.open_training_sets()}
    for training_set in sets.values():
        few_shot_names(training_set.concepts, max(recipe.shots), ambiguous=recipe.ambiguous)
    suite, full_suite = suites(recipe)

    # Measure the frozen encoder, and choose the width of the hidden layer.
    outcomes = Outcomes.of(full_suite, full_suite.measure_vectors(encoder, "the input"))
    input_units = primary_units(full_suite)
    if coverage := encoder.coverage(measured_texts := list(encoder.texts)):
        print(f"measured texts: {coverage}")
    record = record_run(
        "fewshot_names",
        recipe,
        training,
        {},
        seed=released_seed(recipe),
        terminologies=[sets[name].terminology for name in released(recipe)],
        description="A frozen encoder with small networks on top, trained on a few names of high-level biomedical concepts.",
        readings=few_shot_readings(recipe),
        headline=[evaluator.primary_metric for evaluator in full_suite.tests],
    )
    record.add_training_arguments(training, changed_arguments(training))
    experiment = Experiment(sets, encoder, recipe, training)
    tuning = experiment.tuning(recipe.hidden, shots=max(recipe.shots), seeds=recipe.seeds)
    hidden = {name: best_width(tuning.get(name, {recipe.hidden[0]: 0.0})) for name in sets}

    # Train: each set alone and on top of each other set, with each number of names and each seed.
    wanted = released(recipe), released_seed(recipe), max(recipe.shots)
    kept: list[tuple[TrainedChain, FewShotRun]] = []
    for shots in recipe.shots:
        for seed in recipe.seeds:
            for chain in experiment.train(chains, shots=shots, seed=seed, hidden=hidden):
                measured = full_suite if shots == max(recipe.shots) else suite
                results = measured.measure_vectors(chain.embed)
                tests = compared_with_input(input_units, primary_units(measured), n_resamples=recipe.paired_tests)
                outcomes.runs.append(FewShotRun.of(chain, shots, seed, results, encoder, tests))
                print(outcomes.runs[-1], flush=True)
                if (chain.sets, seed, shots) == wanted:
                    kept.append((chain, outcomes.runs[-1]))
            settings = {**asdict(recipe), **weight_arguments(training)}
            outcomes.save(folders.work / "results.json", configuration=settings, tuning=tuning)

    # Measure and release.
    chain, outcome = kept[0]
    write_tables(outcomes, sets, tuning, folders.work)
    write_rankings(recipe.rankings, sets, chain, encoder, folders.work)
    if encoder.form.unit == "name":
        print("nothing is released: the table of the input holds whole names")
    else:
        release(encoder, measured_texts, chain, outcome, folders, record, outcomes.base, full_suite)


def check(recipe: FewShotArguments) -> list[Chain]:
    """The chains to train: each set alone, then each set on top of each other set.

    Raises:
        InputError: A list of numbers is empty or has repeats, or the encoder to release is not trained.
    """
    if get_world_size() > 1:
        raise InputError("a run takes seconds: start this recipe in one process")
    check_distinct(shots=recipe.shots, seeds=recipe.seeds, hidden=recipe.hidden)
    chains = chains_of(list(sources_of(recipe.training_sets)), recipe.continual)
    chosen_benchmarks(recipe.benchmarks, recipe.slow_benchmarks)
    if released(recipe) not in chains:
        raise InputError(f"release: is one training set or two in their order, found {' '.join(recipe.release)!r}")
    if released_seed(recipe) not in recipe.seeds:
        raise InputError(f"release_seed must be one of seeds, found {recipe.release_seed}")
    return chains


def released(recipe: FewShotArguments) -> Chain:
    """The chain to release: ``--release``, or the second set on top of the first one."""
    return tuple(recipe.release or list(sources_of(recipe.training_sets))[: 2 if recipe.continual else 1])


def released_seed(recipe: FewShotArguments) -> int:
    """The seed of the chain to release."""
    return recipe.seeds[0] if recipe.release_seed is None else recipe.release_seed


def suites(recipe: FewShotArguments) -> tuple[EvaluatorSuite, EvaluatorSuite]:
    """The evaluators after every run, and those after runs with the largest number of shots."""
    suite = EvaluatorSuite.of_benchmarks(recipe.benchmarks, n_bootstrap=0)  # the tables have deviations over seeds
    return suite, suite.joined(EvaluatorSuite.of_benchmarks(recipe.slow_benchmarks, n_bootstrap=0))


def release(
    encoder: FrozenEncoder,
    measured_texts: Sequence[str],
    chain: TrainedChain,
    run: FewShotRun,
    folders: OutputFolders,
    record: RunRecord,
    before: Measured,
    suite: EvaluatorSuite,
) -> None:
    """Release the selected chain: the frozen encoder followed by its stages, in built-in modules."""
    record.add_losses({f"{i}-{name}": stage.loss for i, (name, stage) in enumerate(zip(chain.sets, chain.stages), 1)})
    for epoch, loss in enumerate(chain.stages[-1].validation_losses, 1):
        record.add_metrics(epoch, epoch, {"validation_loss": loss})
    for name, terminology in zip(chain.sets, record.terminologies):
        terminology.save(folders.work / f"terminology-{name}")  # `st-biomed release` searches for its strings
    own = [name for terminology in record.terminologies for name in terminology.strings]
    model = encoder.complete_model([*measured_texts, *own])
    evaluate_and_release(
        fold_modules(assembled(model, [stage.module for stage in chain.stages])),
        suite,
        folders,
        record,
        before=before,
        after=run.results,
        terminologies=record.terminologies,
        base_model=None if encoder.form.is_table else record.base_model,
        shown=lambda after: f"what is released, {run.name}:\n{suite.table(before=before, after=after)}",
    )


if __name__ == "__main__":
    run_recipe(main)
