"""An encoder of biomedical terms, trained only on open sources, that preserves the knowledge of its base model.

    st-biomed unite evaluation/open_terminology.yaml --data DATA --output out/open_terminology
    python recipes/open_encoder.py recipes/configs/open_encoder_english.yaml --corpus none

The recipe reads terminologies, holds out what is measured (with ``--held_out_translations``, names in other languages too), and
trains on synonyms, definitions (and, with ``--corpus``, passages of text around a name), the hierarchy and relations together,
while self-distillation preserves the base model's cosines of these texts (and, with ``--distilled_texts``, of any text). With
``--runs N`` it trains N encoders with consecutive seeds, with ``--alone hierarchy`` N others on the hierarchy alone, and
averages their weights, then these with those of the base. The release loads in sentence-transformers without this package.

The models of the runs stay in ``<output_dir>-training/phases``; ``--resume_from_checkpoint true`` continues in the first
unfinished run. The trainer's arguments are accepted too; ``--help-all`` lists them.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from sentence_transformers.base.evaluation import BaseEvaluator
from transformers import set_seed

from st_biomed.averaging.trained_here import average_trained
from st_biomed.encoder import find_model
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import BENCHMARK, chosen_benchmarks, read_benchmark_settings
from st_biomed.evaluators.data_folder import open_terminology
from st_biomed.evaluators.entity_linking.suite import LinkingSuite
from st_biomed.evaluators.relation.settings import RelationSettings
from st_biomed.evaluators.shared_embedding import SharedEvaluator
from st_biomed.evaluators.tree.settings import TreeSettings
from st_biomed.hierarchy import Hierarchy
from st_biomed.linking_data.held_out_name_arguments import HeldOutNameArguments
from st_biomed.linking_data.translation_arguments import TranslationArguments
from st_biomed.losses.terminology_digest_callback import TerminologyDigestCallback
from st_biomed.samplers import EpochCallback
from st_biomed.settings.checks import PATH, about, check_last_seed, one_of
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import changed_arguments, measured_in_training
from st_biomed.training.encoder_run import evaluate_base_model, read_terminology, record_run
from st_biomed.training.finish import evaluate_and_release
from st_biomed.training.output import OutputFolders, output_folders
from st_biomed.training.parts import check_parts
from st_biomed.training.phases import Phases
from st_biomed.training.several_runs import SeveralRunsArguments
from st_biomed.training.teacher import TeacherVectors
from st_biomed.training.text_part import TEXTS
from st_biomed.training_data import without_benchmark, without_relations

PARTS = ("synonyms", "definitions", "hierarchy", "relations")
FREE = ("runs", "alone", "alone_weight")
"""What may change in a resumed run: it decides which trainings there are, not what one of them does."""


@dataclass
class OpenEncoderArguments(HeldOutNameArguments, TranslationArguments, SeveralRunsArguments):
    """Arguments for the training data, the held-out data and the benchmarks."""

    terminology: list[str] = field(
        default_factory=lambda: ["icd10cm"],
        metadata=about(
            "a reader's name, reader:path, or a folder written by `st-biomed unite`; several are merged", PATH
        ),
    )
    parts: list[str] = field(
        default_factory=lambda: list(PARTS), metadata=about("parts to train on", one_of(*PARTS, TEXTS, called="part"))
    )
    trees: list[str] = field(
        default_factory=list,
        metadata=about(
            "tree benchmarks; their dev and test sub-trees are held out and measured; none for none", BENCHMARK
        ),
    )
    benchmarks: list[str] = field(
        default_factory=list,
        metadata=about(
            "additional benchmarks, measured before and after training; relations that they measure are held out",
            BENCHMARK,
        ),
    )


def main(argv: Sequence[str] | None = None) -> None:
    train(*read_settings((OpenEncoderArguments, SentenceTransformerTrainingArguments), argv))


def train(recipe: OpenEncoderArguments, training: SentenceTransformerTrainingArguments) -> None:
    """All runs of one command."""
    without_none(recipe)
    check(recipe)
    if recipe.smoke:
        training.max_steps, training.per_device_train_batch_size, recipe.alone_steps = 4, 16, None
        recipe.held_out_names, recipe.held_out_translations = 4, min(recipe.held_out_translations, 4)
        recipe.shrink_partners()
    check_last_seed(training.seed + recipe.runs - 1)
    training = recipe.training_arguments(training)
    with output_folders(
        training, "open_encoder", recipe.overwrite, base_model=recipe.base_model, in_phases=True
    ) as folders:
        run(recipe, training, folders, Phases(folders, training, free=FREE))


def without_none(recipe: OpenEncoderArguments) -> None:
    """Make lists empty that are given as ``none``, and raw text that parts of a later place do not use."""
    for name in ("trees", "corpus", "distilled_texts", "alone"):
        if getattr(recipe, name) == ["none"]:
            setattr(recipe, name, [])
    recipe.without_unused_text(recipe.parts)


def check(recipe: OpenEncoderArguments) -> None:
    """Raise InputError if an argument is invalid, before anything is read.

    Raises:
        InputError: The terminology, parts, shares, options, corpora or trees are missing or invalid, or do not fit.
    """
    check_parts(recipe.terminology, recipe.parts, (*PARTS, TEXTS))
    if recipe.corpus:
        if "definitions" not in recipe.parts:
            raise InputError(f"corpus: its passages belong to the part definitions, found {' '.join(recipe.parts)}")
        recipe.check_corpus()
    recipe.check_texts(recipe.parts)
    recipe.check_shares(recipe.parts)
    recipe.check_options_of_parts(recipe.parts)
    recipe.check_alone(recipe.parts)
    recipe.repeats_by_source()
    recipe.check_distances()
    recipe.check_presets()
    recipe.check_part_distillation(recipe.parts)
    recipe.check_translations()
    for name in recipe.trees:
        read_benchmark_settings(name, TreeSettings)


class Data(NamedTuple):
    """The terminologies and the evaluators."""

    whole: Terminology
    train: Terminology
    suite: LinkingSuite
    dev: SharedEvaluator | None


def read(recipe: OpenEncoderArguments, training: SentenceTransformerTrainingArguments) -> Data:
    """Read the terminologies, and hold out what the evaluators measure."""
    # Read.
    whole = read_terminology(recipe.terminology)
    options = {"show_progress_bar": not training.disable_tqdm, **recipe.measuring(training)}
    suite = LinkingSuite(**options)

    # Hold out: translations, sub-trees with all of their names, measured relations, then names of the remaining concepts.
    train, translations = recipe.hold_out(whole, recipe.pivot_language or "en")
    devs: list[BaseEvaluator] = []
    for name in recipe.trees:
        settings = read_benchmark_settings(name, TreeSettings)
        trees = settings.hold_out(Hierarchy(open_terminology(settings.sources)), **options)
        for part in (trees.splits.dev, trees.splits.test):
            train = without_benchmark(train, codes=part.codes, names=part.strings)
        suite.add_evaluator(trees.test)
        devs.append(trees.dev)
    for benchmark in chosen_benchmarks(recipe.benchmarks):
        if isinstance(measured := benchmark.evaluator_settings(), RelationSettings):
            train = without_relations(train, measured.source_names())
    for dataset in translations:
        suite.add_dataset(dataset, dataset.name)
    if recipe.held_out_names:
        train, held_out = recipe.hold_out_names(train, recipe.split_seed)
        suite.add_dataset(held_out, "held-out-names")
    suite.add_benchmarks(recipe.benchmarks, **options)
    devs += [] if suite.dev is None else suite.dev.evaluators
    print(f"{whole!r}\ntrained on: {train!r}\nmeasured: {suite}")
    return Data(whole, train, suite, SharedEvaluator(devs) if devs else None)


def run(
    recipe: OpenEncoderArguments,
    training: SentenceTransformerTrainingArguments,
    folders: OutputFolders,
    phases: Phases,
) -> None:
    """All runs, from the terminologies to the release folder."""
    find_model(recipe.base_model)
    whole, train, suite, dev = read(recipe, training)
    set_seed(training.seed)

    # Model.
    model = recipe.encoder()
    train, coverage = recipe.with_corpus(train, model.tokenizer)
    averaging = recipe.averaging(model, recipe.base_model, dev, bf16=training.bf16)
    measured = measured_in_training(training, dev)
    before = evaluate_base_model(suite, model, training, train)
    phases.begin(train)
    texts = recipe.texts_data()
    record = record_run(
        "open_encoder",
        recipe,
        training,
        {},
        terminologies=[whole],
        description="An encoder of biomedical terms, trained on open terminologies.",
        headline=suite.headline,
        **recipe.recorded(coverage, texts),
    )
    record.add_training_arguments(training, changed_arguments(training))

    # Data and loss of each part, then train; each training starts from the base model, their teacher.
    students: dict[str, SentenceTransformer] = {}
    teachers: dict[str, TeacherVectors] = {}
    planned = recipe.planned_runs(recipe.parts, training.seed)
    for one in planned:
        student, seed = recipe.encoder(), one.arguments["seed"]
        parts = {
            f"{part}{one.suffix}": one.recipe.part(part, student, train, folders.work / "terminology", seed)
            for part in one.recipe.parts
        }
        losses = one.recipe.distill_parts(
            parts, student, train, max_length=recipe.max_length, bf16=training.bf16, teachers=teachers
        )
        one.recipe.mix(training, parts)
        phases.train(
            one.name,
            student,
            one.recipe,
            {part: data.rows for part, data in parts.items()},
            losses,
            record,
            TerminologyDigestCallback(losses),
            EpochCallback(),
            dev=measured,
            free=one.free,
            details=one.recipe.recorded(coverage, texts),
            **one.arguments,
        )
        students[one.name] = student
    trained = average_trained(record, students, [one.weight for one in planned])

    # Measure and release.
    evaluate_and_release(
        trained, suite, folders, record, before=before, terminologies=[whole], training=training, averaging=averaging
    )


if __name__ == "__main__":
    run_recipe(main)
