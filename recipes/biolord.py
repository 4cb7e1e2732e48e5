"""BioLORD-2023 (Remy, Demuynck, Demeester, JAMIA 2024, arXiv:2311.16075): training on definitions in three phases.

    st-biomed read umls 2020AA/META --option languages=ENG --output data/umls
    python recipes/biolord.py recipes/configs/biolord_paper.yaml --terminology data/umls

1. Contrastive (published as -C): the base model is trained on all names and definitions of a batch against each other.
   ``--distillation`` adds self-distillation from the base model to this phase; its students learn the result.
2. Self-distillation (-S): new copies of the base model learn the first model's vectors of names and definitions.
3. Averaging: the weights of these students are averaged; the average is measured and released.

The models of the phases stay in ``<output_dir>-training/phases``; ``--resume_from_checkpoint true`` continues in the
first unfinished phase. The trainer's arguments are accepted; those of the students' rate, steps, epochs and batch are options
of their own, and their seeds follow ``--seed``; all others apply to both phases. ``--help-all`` lists them.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from transformers import set_seed

from st_biomed.averaging.trained_here import average_trained
from st_biomed.encoder import find_model
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import BENCHMARK, chosen_benchmarks
from st_biomed.evaluators.entity_linking.suite import LinkingSuite
from st_biomed.linking_data.held_out_name_arguments import HeldOutNameArguments
from st_biomed.losses.self_distillation import only_distilled
from st_biomed.losses.terminology_digest_callback import TerminologyDigestCallback
from st_biomed.samplers import EpochCallback, ShuffledBatches
from st_biomed.settings.checks import COUNT, PATH, SEED, SIZE, about, above, check_last_seed
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import changed_arguments, measured_in_training
from st_biomed.training.distillation import DistillationArguments
from st_biomed.training.encoder_run import evaluate_base_model, read_terminology, record_run
from st_biomed.training.finish import evaluate_and_release
from st_biomed.training.output import OutputFolders, output_folders
from st_biomed.training.parts import DefinitionArguments
from st_biomed.training.phases import Phases
from st_biomed.training.principal_components import project_onto_leading_components
from st_biomed.training.readings import biolord_readings
from st_biomed.training.teacher import TeacherVectors

STUDENTS = ("student_learning_rates", "student_batch_size", "student_epochs", "student_steps")
"""Arguments that a student takes as those of its trainer."""


@dataclass
class BioLORDArguments(DistillationArguments, HeldOutNameArguments, DefinitionArguments):
    """Arguments for the training data, the students, the held-out names and the benchmarks."""

    terminology: list[str] = field(
        default_factory=list,
        metadata=about(
            "terminologies with definitions: reader:path, or a folder written by `st-biomed read` or `unite`; "
            "several are merged",
            PATH,
        ),
    )
    student_learning_rates: list[float] = field(
        default_factory=lambda: [2e-5, 5e-5],
        metadata=about("learning rate of each student; the weights of all students are averaged", above(0)),
    )
    student_batch_size: int = field(
        default=128, metadata=about("batch size of a student per device, in names and definitions", COUNT)
    )
    student_epochs: float = field(
        default=1.0, metadata=about("epochs of each student over names and definitions", above(0))
    )
    student_steps: int = field(
        default=0, metadata=about("steps of each student; 0: as many as student_epochs needs", SIZE)
    )
    components: int = field(
        default=0,
        metadata=about(
            "number of leading principal components of the vectors that the students learn; 0 for all", SIZE
        ),
    )
    benchmarks: list[str] = field(
        default_factory=list,
        metadata=about("additional benchmarks, measured before and after training; none for none", BENCHMARK),
    )
    split_seed: int = field(default=0, metadata=about("seed of the held-out names", SEED))


def main(argv: Sequence[str] | None = None) -> None:
    train(*read_settings((BioLORDArguments, SentenceTransformerTrainingArguments), argv))


def train(recipe: BioLORDArguments, training: SentenceTransformerTrainingArguments) -> None:
    """One run of all phases."""
    check(recipe)
    check_last_seed(training.seed + len(recipe.student_learning_rates))
    if recipe.smoke:
        training.max_steps, training.per_device_train_batch_size, recipe.held_out_names = 2, 8, 4
        recipe.student_steps, recipe.student_batch_size = 2, 8
    training = recipe.training_arguments(training)
    with output_folders(
        training, "biolord", recipe.overwrite, base_model=recipe.base_model, in_phases=True
    ) as folders:
        run(recipe, training, folders, Phases(folders, training, free=STUDENTS))


def check(recipe: BioLORDArguments) -> None:
    """Raise InputError if an argument is invalid, before anything is read.

    Raises:
        InputError: There is no terminology or no student, a learning rate is repeated, a benchmark does not exist, or an
            option of self-distillation is given without its weight.
    """
    rates = recipe.student_learning_rates
    if not recipe.terminology:
        raise InputError("terminology: is needed, nothing was given")
    if not rates or len(set(rates)) < len(rates):
        found = " ".join(f"{rate:g}" for rate in rates) or "none"
        raise InputError(f"student_learning_rates: one or several different ones are needed, found {found}")
    recipe.check_distillation()
    chosen_benchmarks(recipe.benchmarks)


class Data(NamedTuple):
    """The terminologies and the evaluators."""

    whole: Terminology
    train: Terminology
    suite: LinkingSuite


def read(recipe: BioLORDArguments, training: SentenceTransformerTrainingArguments) -> Data:
    """Read the terminologies, and hold out the names that are linked."""
    # Read.
    whole = train = read_terminology(recipe.terminology)
    options = {"show_progress_bar": not training.disable_tqdm, **recipe.measuring(training)}
    suite = LinkingSuite(**options)

    # Hold out.
    if recipe.held_out_names:
        train, held_out = recipe.hold_out_names(whole, recipe.split_seed)
        suite.add_dataset(held_out, "held-out-names")
    suite.add_benchmarks(recipe.benchmarks, **options)
    print(f"{whole!r}\ntrained on: {train!r}\nmeasured: {suite}")
    return Data(whole, train, suite)


def run(
    recipe: BioLORDArguments,
    training: SentenceTransformerTrainingArguments,
    folders: OutputFolders,
    phases: Phases,
) -> None:
    """All phases, from the terminologies to the release folder."""
    find_model(recipe.base_model)
    whole, train, suite = read(recipe, training)
    set_seed(training.seed)

    # Model.
    model = recipe.encoder()
    if recipe.components > (width := model.get_embedding_dimension() or 0):
        raise InputError(
            f"components must be at most {width}, the dimension of the base model, found {recipe.components}"
        )
    averaging = recipe.averaging(model, recipe.base_model, suite.dev, bf16=training.bf16)
    dev = measured_in_training(training, suite.dev)
    before = evaluate_base_model(suite, model, training, train)

    # Data and loss of phase 1.
    part = recipe.definitions(model, train, folders.work / "terminology")
    loss = recipe.distill_loss(part.loss, model, part.rows["text"], max_length=recipe.max_length, bf16=training.bf16)
    phases.begin(train)
    record = record_run(
        "biolord",
        recipe,
        training,
        {},
        terminologies=[whole],
        description="An encoder of biomedical names and their definitions.",
        readings=biolord_readings(recipe),
        headline=suite.headline,
    )
    record.add_training_arguments(training, changed_arguments(training))

    # Train, phase 1: names against definitions.
    phases.train(
        "contrastive",
        model,
        recipe,
        part.rows,
        loss,
        record,
        TerminologyDigestCallback(loss),
        EpochCallback(),
        dev=dev,
        free=["components"],
        batch_sampler=part.batches,
    )

    # Train, phase 2: new copies of the base model learn the vectors of the first model.
    vectors = TeacherVectors(model, part.rows["text"], max_length=recipe.max_length, bf16=training.bf16)
    teacher = project_onto_leading_components(vectors[:], recipe.components) if recipe.components else vectors
    students: dict[str, SentenceTransformer] = {}
    for i, rate in enumerate(recipe.student_learning_rates, 1):
        name, student = f"student-{i}", recipe.encoder()
        phases.train(
            name,
            student,
            recipe,
            part.rows,
            only_distilled(student, teacher, target="vectors", mini_batch_size=recipe.mini_batch_size),
            record,
            EpochCallback(),
            dev=dev,
            batch_sampler=ShuffledBatches.of(part.rows),
            learning_rate=rate,
            per_device_train_batch_size=recipe.student_batch_size,
            num_train_epochs=recipe.student_epochs,
            max_steps=recipe.student_steps or -1,
            seed=training.seed + i,
        )
        students[name] = student

    # Phase 3: the average of the students' weights, which may be averaged with the base model in turn.
    model = average_trained(record, students, [1 / len(students)] * len(students))

    # Measure and release.
    evaluate_and_release(
        model, suite, folders, record, before=before, terminologies=[whole], training=training, averaging=averaging
    )


if __name__ == "__main__":
    run_recipe(main)
