"""Few-shot robust names (Fivez, Suster, Daelemans 2021): a small encoder on top of any frozen one, trained in seconds.

    python recipes/fewshot_names.py recipes/configs/fewshot_names_open.yaml --training_sets "Mine=concepts.csv" --shots 5
    python recipes/fewshot_names.py recipes/configs/fewshot_names_paper.yaml --base_model wiki.bin \\
        --training_sets "ICD-10=icd10cm" "SNOMED=data/snomed#UMLS:C0012634" --benchmarks mayosrs --shots 5 10 15

One command is the paper's whole experiment: every training set alone and on top of each other one, every number of shots,
every seed; the frozen encoder is applied once to each name. One encoder is released, baked into built-in modules. Every
argument of the trainer is an argument here too; ``--help`` lists them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformerTrainingArguments
from sentence_transformers.util import get_world_size

from st_biomed.encoder import POOLINGS
from st_biomed.encoder.foreign import FLAG_HELP
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import BENCHMARK, chosen_benchmarks
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.few_shot.experiment import Chain, Experiment, TrainedChain, best_width, chains_of, check_numbers
from st_biomed.few_shot.frozen_encoder import FrozenEncoder, InputForm
from st_biomed.few_shot.outcomes import Outcomes, Run
from st_biomed.few_shot.rankings import first_validation_names, ranking_tables
from st_biomed.few_shot.stage import StageSettings, assembled
from st_biomed.few_shot.training_sets import TrainingSet, open_training_sets, sources_of
from st_biomed.files import replace_text
from st_biomed.modules.residual_feed_forward import HIDDEN
from st_biomed.plots.canvas import check_picture
from st_biomed.plots.shot_curves import shot_curves
from st_biomed.release.bake import bake
from st_biomed.release.run_record import RunRecord
from st_biomed.settings.checks import COUNT, FOLDER, PATH, SEED, about, at_least, one_of
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.training.arguments import PRECISIONS, with_precision
from st_biomed.training.finish import measure_and_release
from st_biomed.training.output import OutputFolders, output_folders
from st_biomed.training_data.fewshot import few_shot_names
from st_biomed.training_data.high_level_concepts import LARGEST, NAMES

PROTOTYPES = "validation names whose nearest prototype is that of their own concept"


@dataclass
class FewShotArguments(StageSettings):
    """The paper's sentences as arguments; the section of the paper stands in the help."""

    base_model: str = field(
        default="sentence-transformers/all-MiniLM-L6-v2",
        metadata=about("folder or Hub id, fastText's .bin or .vec, word2vec's .txt, or a matrix in .npy (3.1)", PATH),
    )
    trust_remote_code: bool = field(default=False, metadata={"help": FLAG_HELP})
    pooling: str = field(
        default="", metadata=about("cls, mean, max, lasttoken; the base model's own by default", one_of("", *POOLINGS))
    )
    max_length: int | None = field(
        default=None, metadata=about("tokens a name is cut at; the base model's own", at_least(3))
    )
    vocabulary: str = field(default="", metadata={"help": "of a matrix: a file with an entry on each line"})
    unit: str = field(
        default="word", metadata=about("what such an entry is: word, or name for a whole name", one_of("word", "name"))
    )
    width: int | None = field(default=None, metadata=about("a random projection brings vectors to it (2.2)", COUNT))
    training_sets: list[str] = field(
        default_factory=lambda: ["ICD-10=icd10cm"],
        metadata={
            "help": "NAME=SOURCE for the tops of a terminology, NAME=SOURCE#CODE for the children of a concept, NAME=TABLE for "
            "a .csv or .tsv with the columns concept and name (2.3)"
        },
    )
    names: str = field(
        default="preferred", metadata=about("preferred: the reference name of a code; or all (2.3)", one_of(*NAMES))
    )
    largest: int = field(default=LARGEST, metadata=about("children of a concept that are kept (2.3)", at_least(2)))
    leave_out: list[str] = field(default_factory=list, metadata={"help": "codes of concepts not to train on"})
    shots: list[int] = field(
        default_factory=lambda: [15], metadata=about("names of every concept, e.g. 5 10 15", COUNT)
    )
    seeds: list[int] = field(
        default_factory=lambda: list(range(5)), metadata=about("random training samples (3.3)", SEED)
    )
    hidden: list[int] = field(
        default_factory=lambda: [HIDDEN],
        metadata=about("width of the hidden layer; of several the one with the least validation loss (3.2)", COUNT),
    )
    continual: bool = field(default=True, metadata={"help": "train each set on top of each other one, too (3.3)"})
    benchmarks: list[str] = field(
        default_factory=list, metadata=about("measured before and after every run: names or files", BENCHMARK)
    )
    slow_benchmarks: list[str] = field(
        default_factory=list, metadata=about("measured with the largest number of shots only", BENCHMARK)
    )
    rankings: list[str] = field(
        default_factory=list, metadata={"help": "names to rank training names by (Table 4); some validation names"}
    )
    release: list[str] = field(
        default_factory=list, metadata={"help": "training sets of the released encoder; by default the first two"}
    )
    release_seed: int | None = field(default=None, metadata=about("its seed; by default the first", SEED))
    precision: str = field(
        default="as given",
        metadata=about(
            "auto: bf16 where the processor or the GPU computes in it; as given: --bf16, --fp16 decide",
            one_of(*PRECISIONS),
        ),
    )
    license: str = field(default="other", metadata={"help": "license of the released model"})
    overwrite: bool = field(default=False, metadata={"help": "replace what an earlier run left in output_dir"})
    cache_dir: str = field(
        default="", metadata=about("folder in which a model's vectors are kept for later runs", FOLDER)
    )
    smoke: bool = field(default=False, metadata={"help": "two epochs of a small network, for tests"})


def main(argv: Sequence[str] | None = None) -> None:
    recipe, training = read_settings((FewShotArguments, SentenceTransformerTrainingArguments), argv)
    chains = check(recipe)
    if recipe.smoke:
        training.num_train_epochs, recipe.hidden = 2, [8]
    training = with_precision(training, recipe.precision)
    with output_folders(training, "fewshot_names", recipe.overwrite, base_model=recipe.base_model) as folders:
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
    # Read; names are drawn once before anything is encoded, so that too few of them are noticed at once.
    form = InputForm(
        recipe.base_model,
        recipe.pooling,
        recipe.max_length,
        recipe.vocabulary,
        recipe.unit,
        recipe.width,
        recipe.trust_remote_code,
    )
    encoder = FrozenEncoder(form, bf16=training.bf16, cache_dir=recipe.cache_dir)
    sets = {one.name: with_vectors(one, encoder) for one in training_sets(recipe)}
    for one in sets.values():
        few_shot_names(one.concepts, max(recipe.shots), ambiguous=recipe.ambiguous)
    suite, whole = suites(recipe)

    # Measure the input, whose vectors stay; choose the hidden layer.
    outcomes = Outcomes.of(whole, whole.measure_vectors(encoder, "the input"))
    if coverage := encoder.coverage(list(encoder.texts)):
        print(f"measured texts: {coverage}")
    record = record_of(recipe, training, sets, whole)
    experiment = Experiment(sets, encoder, recipe, training)
    tuning = experiment.tuning(recipe.hidden, shots=max(recipe.shots), seeds=recipe.seeds)
    hidden = {name: best_width(tuning.get(name, {recipe.hidden[0]: 0.0})) for name in sets}

    # Train: every set alone and on top of each other one, every number of names, every seed.
    wanted = released(recipe), released_seed(recipe), max(recipe.shots)
    kept: list[tuple[TrainedChain, Run]] = []
    for shots in recipe.shots:
        for seed in recipe.seeds:
            for chain in experiment.train(chains, shots=shots, seed=seed, hidden=hidden):
                results = (whole if shots == max(recipe.shots) else suite).measure_vectors(chain.embed)
                outcomes.runs.append(Run.of(chain, shots, seed, results, encoder))
                print(outcomes.runs[-1], flush=True)
                if (chain.sets, seed, shots) == wanted:
                    kept.append((chain, outcomes.runs[-1]))
            outcomes.save(folders.work / "results.json", configuration=asdict(recipe), tuning=tuning)
    report(outcomes, sets, folders.work, tuning)
    rank(recipe, sets, kept[0][0], encoder, folders.work)
    release(encoder, kept[0], folders, record, outcomes, whole)


def check(recipe: FewShotArguments) -> list[Chain]:
    """What is trained: every set alone, then each on top of each other one.

    Raises:
        InputError: Numbers that are none or repeat, or an encoder to release that is not trained.
    """
    if get_world_size() > 1:
        raise InputError("a run takes seconds: start this recipe in one process")
    check_numbers(shots=recipe.shots, seeds=recipe.seeds, hidden=recipe.hidden)
    chains = chains_of(list(sources_of(recipe.training_sets)), recipe.continual)
    chosen_benchmarks([*recipe.benchmarks, *recipe.slow_benchmarks])
    if released(recipe) not in chains:
        raise InputError(f"release: is one training set or two in their order, found {' '.join(recipe.release)!r}")
    if released_seed(recipe) not in recipe.seeds:
        raise InputError(f"release_seed must be one of seeds, found {recipe.release_seed}")
    return chains


def released(recipe: FewShotArguments) -> Chain:
    """What is released: as asked for, or the first set and the second one on top of it."""
    return tuple(recipe.release or list(sources_of(recipe.training_sets))[: 2 if recipe.continual else 1])


def released_seed(recipe: FewShotArguments) -> int:
    return recipe.seeds[0] if recipe.release_seed is None else recipe.release_seed


def training_sets(recipe: FewShotArguments) -> list[TrainingSet]:
    """The training sets, each with its statistics printed (Table 2)."""
    sets = open_training_sets(
        recipe.training_sets, names=recipe.names, largest=recipe.largest, leave_out=recipe.leave_out
    )
    for one in sets:
        print(f"{one.name}: {one.terminology!r}\n{one.statistics}")
    return sets


def with_vectors(one: TrainingSet, encoder: FrozenEncoder) -> TrainingSet:
    """The set without names that word vectors know no word of, which are counted."""
    coverage = encoder.coverage([name for names in one.concepts.values() for name in names])
    if coverage is None:
        return one
    print(f"{one.name}: {coverage}")
    return one.without_names(coverage.without_words)


def suites(recipe: FewShotArguments) -> tuple[EvaluatorSuite, EvaluatorSuite]:
    """What is measured after every run, and after those with the largest number of shots."""
    options: dict[str, Any] = {"n_bootstrap": 0}  # deviations over seeds are what is reported
    suite = EvaluatorSuite.of_benchmarks(recipe.benchmarks, **options)
    return suite, suite.joined(EvaluatorSuite.of_benchmarks(recipe.slow_benchmarks, **options))


def report(
    outcomes: Outcomes, sets: dict[str, TrainingSet], folder: Path, tuning: dict[str, dict[int, float]]
) -> None:
    """The paper's Tables 2 and 3, as Markdown, and its Figure 1."""
    parts = [f"Names of {one.name}:\n\n```\n{one.statistics}\n```" for one in sets.values()]
    for name, losses in tuning.items():
        row = ", ".join(f"{width}: {loss:.4f}" for width, loss in losses.items())
        parts.append(f"Validation loss of {name} by width of the hidden layer: {row}.")
    for shots in outcomes.shots[::-1]:
        if outcomes.metrics:
            parts.append(f"{shots}-shot:\n\n{outcomes.table(shots)}")
        parts.append(f"{shots}-shot, {PROTOTYPES}:\n\n{outcomes.prototype_table(shots)}")
    print(f"\n{(outcomes.table if outcomes.metrics else outcomes.prototype_table)(outcomes.shots[-1])}\n")
    replace_text(folder / "tables.md", "\n\n".join(parts) + "\n")
    print(f"{folder / 'tables.md'}: all tables")
    if len(outcomes.shots) < 2 or not outcomes.metrics:
        return
    curves = {outcomes.labels[one]: outcomes.curves(one) for one in outcomes.metrics}
    curves = {title: lines for title, lines in curves.items() if any(len(points) > 1 for points in lines.values())}
    baselines = {outcomes.labels[one]: outcomes.base[one][metric] for one, metric in outcomes.metrics.items()}
    try:
        print(f"{shot_curves(check_picture(folder / 'figure.svg'), curves, baselines)}: by number of names")
    except InputError as error:
        print(f"no figure: {error}")


def rank(
    recipe: FewShotArguments, sets: dict[str, TrainingSet], chain: TrainedChain, encoder: FrozenEncoder, folder: Path
) -> None:
    """The paper's Table 4, of the released encoder."""
    split = chain.stages[-1].split
    names = [name for name in recipe.rankings if name] or first_validation_names(split)
    tables = ranking_tables(names, sets[chain.sets[-1]], split, encoder, chain.embed)
    replace_text(folder / "rankings.md", tables + "\n")
    print(f"{folder / 'rankings.md'}: nearest training names of {', '.join(map(repr, names))}")


def record_of(
    recipe: FewShotArguments,
    training: SentenceTransformerTrainingArguments,
    sets: dict[str, TrainingSet],
    suite: EvaluatorSuite,
) -> RunRecord:
    """The record of the encoder that is released."""
    record = RunRecord(
        recipe="fewshot_names",
        base_model=recipe.base_model,
        configuration=asdict(recipe),
        seed=released_seed(recipe),
        terminologies=[sets[name].terminology for name in released(recipe)],
        license=recipe.license,
        description="A frozen encoder with small networks on top, trained on a few names of high-level biomedical concepts.",
        readings=[
            "Vectors are brought to length 1 before every stage, as the published code does with whatever it is given.",
            "Prototypes are means over the training names alone, as in the published code."
            if recipe.prototypes == "training"
            else "Prototypes are means over all names of a concept, as in Eq. 3.",
            "An anchor is compared with all other training names of its concept.",
            "Validation is in evaluation mode with negatives that are drawn once.",
        ],
        headline=[one.primary_metric for one in suite.tests],
    )
    usual = SentenceTransformerTrainingArguments(training.output_dir).to_dict()
    record.add_training_arguments(training, [n for n, value in training.to_dict().items() if value != usual[n]])
    return record


def release(
    encoder: FrozenEncoder,
    found: tuple[TrainedChain, Run],
    folders: OutputFolders,
    record: RunRecord,
    outcomes: Outcomes,
    suite: EvaluatorSuite,
) -> None:
    """Write the encoder that was asked for: the frozen one with its stages behind it, in built-in modules."""
    chain, run = found
    if encoder.form.unit == "name":
        print("nothing is released: the table of the input holds whole names")
        return
    record.add_losses({f"{i}-{name}": stage.loss for i, (name, stage) in enumerate(zip(chain.sets, chain.stages), 1)})
    for epoch, loss in enumerate(chain.stages[-1].validation_losses, 1):
        record.add_metrics(epoch, epoch, {"validation_loss": loss})
    for name, terminology in zip(chain.sets, record.terminologies):
        terminology.save(folders.work / f"terminology-{name}")  # what `st-biomed release` looks for in the release
    measure_and_release(
        bake(assembled(encoder.whole(), [stage.module for stage in chain.stages])),
        suite,
        folders,
        record,
        before=outcomes.base,
        after=run.results,
        terminologies=record.terminologies,
        base_model=None if encoder.form.is_table else record.base_model,
        shown=lambda after: f"what is released, {run.name}:\n{suite.table(before=outcomes.base, after=after)}",
    )


if __name__ == "__main__":
    run_recipe(main)
