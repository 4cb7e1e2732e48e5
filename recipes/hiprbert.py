"""HiPrBERT (arXiv:2307.00266): a term encoder that preserves the order of distances in a hierarchy.

    python recipes/hiprbert.py recipes/configs/hiprbert_open.yaml
    python recipes/hiprbert.py recipes/configs/hiprbert_paper.yaml --terminology data/umls data/phecode \\
        --hierarchy_sources PHECODE

The head of ``hiprbert_paper.yaml`` has the commands that read the paper's sources. The recipe reads terminologies, holds
out whole sub-trees and relations, trains on synonyms, relations and the hierarchy in one run, measures tree AUCs on the
held-out trees before, during and after training and relation AUCs on held-out concepts before and after, and writes a
folder that sentence-transformers loads without this package. The trainer's arguments are accepted too; ``--help-all``
lists them.
"""

from __future__ import annotations

import st_biomed.settings.first_import  # noqa: F401 # isort: skip

from collections.abc import Sequence
from dataclasses import dataclass, field

from sentence_transformers import SentenceTransformerTrainingArguments
from transformers import set_seed

from st_biomed.errors import InputError
from st_biomed.evaluators.entity_linking.suite import LinkingSuite
from st_biomed.evaluators.relation.arguments import RelationArguments
from st_biomed.evaluators.shared_embedding import SharedEvaluator
from st_biomed.evaluators.tree.arguments import TreeArguments
from st_biomed.linking_data.held_out_name_arguments import HeldOutNameArguments
from st_biomed.losses.terminology_digest_callback import TerminologyDigestCallback
from st_biomed.samplers import EpochCallback
from st_biomed.settings.checks import PATH, SIZE, about, one_of
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.training.encoder_run import evaluate_base_model, read_terminology, record_run, train_encoder
from st_biomed.training.finish import Measured, evaluate_and_release
from st_biomed.training.output import OutputFolders, output_folders
from st_biomed.training.part_distillation import PartDistillationArguments
from st_biomed.training.parts import check_parts
from st_biomed.training.readings import distillation_readings, hiprbert_readings
from st_biomed.training.source_arguments import SourceArguments
from st_biomed.training_data.held_out_concepts import TEST

PARTS = ("synonyms", "relations", "hierarchy")


@dataclass
class HiPrBERTArguments(
    HeldOutNameArguments, PartDistillationArguments, TreeArguments, RelationArguments, SourceArguments
):
    """Arguments from the paper; the help names its sections."""

    terminology: list[str] = field(
        default_factory=lambda: ["icd10cm"],
        metadata=about(
            "a reader's name, reader:path, or a folder written by `st-biomed read`; several are merged", PATH
        ),
    )
    parts: list[str] = field(
        default_factory=lambda: list(PARTS), metadata=about("parts to train on (4.1)", one_of(*PARTS, called="part"))
    )
    held_out_names: int = field(
        default=0,
        metadata=about("number of synonyms that are held out and linked, for each of dev and test; 0 for none", SIZE),
    )


def main(argv: Sequence[str] | None = None) -> None:
    train(*read_settings((HiPrBERTArguments, SentenceTransformerTrainingArguments), argv))


def train(recipe: HiPrBERTArguments, training: SentenceTransformerTrainingArguments) -> None:
    """One run."""
    if recipe.benchmark in ("", "none"):
        recipe.benchmark = None
    check(recipe)
    if recipe.smoke:
        shrink(recipe, training)
    training = recipe.training_arguments(training)
    with output_folders(training, "hiprbert", recipe.overwrite, base_model=recipe.base_model) as folders:
        run(recipe, training, folders)


def check(recipe: HiPrBERTArguments) -> None:
    """Raise InputError if an argument is invalid, before anything is read.

    Raises:
        InputError: The terminology or the parts are empty, a part is repeated or unknown, a ``SOURCE=N`` is malformed,
            a preset has no triplet miner to change, an option is of a part that is not trained on or of self-distillation
            without its weight, the benchmark does not exist, or an argument is given that it sets.
    """
    check_parts(recipe.terminology, recipe.parts, PARTS)
    recipe.check_options_of_parts(recipe.parts)
    recipe.repeats_by_source()
    recipe.check_distances()
    recipe.check_presets()
    recipe.check_part_distillation(recipe.parts)
    recipe.check_protocol()


def shrink(recipe: HiPrBERTArguments, training: SentenceTransformerTrainingArguments) -> None:
    """Set two steps of sixteen names, which only test that the recipe runs."""
    training.max_steps, training.per_device_train_batch_size = 2, 16
    recipe.shrink_partners()
    recipe.pairs_per_class = 20
    recipe.held_out_relations = min(recipe.held_out_relations, 4)


def run(recipe: HiPrBERTArguments, training: SentenceTransformerTrainingArguments, folders: OutputFolders) -> None:
    """One run, from the terminologies to the release folder."""
    set_seed(training.seed)

    # Read.
    whole = recipe.with_relations(read_terminology(recipe.terminology))
    if not whole.parents.num_rows:
        raise InputError(f"terminology {' '.join(recipe.terminology)}: empty hierarchy, no concept has a parent")
    hierarchy = recipe.hierarchy(recipe.with_hierarchy(whole))

    # Hold out whole sub-trees, and the relations of their concepts.
    options = {"show_progress_bar": not training.disable_tqdm, **recipe.measuring(training)}
    trees = recipe.protocol().hold_out(hierarchy, **options)
    held_out = trees.splits.concept_split == TEST
    train, relations = recipe.hold_out_relations(whole, trees.splits.train, held_out, recipe.split_seed, **options)
    suite = LinkingSuite(**options)
    for evaluator in filter(None, (trees.test, relations)):
        suite.add_evaluator(evaluator)
    print(f"{whole!r}\nhierarchy: {hierarchy!r}\n{trees.splits}")
    if whole.relations.num_rows and relations is None:
        print(f"relations: none has {recipe.least_relation_pairs} pairs of held-out concepts, so none is measured")

    # Hold out names of the remaining concepts.
    if recipe.held_out_names:
        train, held_out = recipe.hold_out_names(train, recipe.split_seed)
        suite.add_dataset(held_out, "held-out-names")

    # Model.
    model = recipe.encoder()

    # Data and loss of each part; by default, a terminology without relations leaves their part out.
    names = recipe.parts
    if not train.relations.num_rows and names == [*PARTS]:
        names = [name for name in PARTS if name != "relations"]
        print(f"relations: there are none to train on; the parts are {' and '.join(names)}")
    parts = {name: recipe.part(name, model, train, folders.work / "terminology", training.seed) for name in names}
    losses = recipe.distill_parts(parts, model, train, max_length=recipe.max_length, bf16=training.bf16)
    recipe.mix(training, parts)

    # Train.
    dev = trees.dev if suite.dev is None else SharedEvaluator([trees.dev, *suite.dev.evaluators])
    averaging = recipe.averaging(model, recipe.base_model, dev, bf16=training.bf16)
    before = evaluate_base_model(suite, model, training, train)
    folders.begin_in_main(training, train)
    record = record_run(
        "hiprbert",
        recipe,
        training,
        losses,
        terminologies=[whole],
        description="An encoder of biomedical terms whose cosine similarity follows distance in a hierarchy.",
        readings=[*hiprbert_readings(recipe, parts), *distillation_readings(recipe)],
        headline=suite.headline,
    )
    train_encoder(
        model,
        recipe,
        training,
        {name: part.rows for name, part in parts.items()},
        losses,
        record,
        TerminologyDigestCallback(losses),
        EpochCallback(),
        dev=trees.dev,
    )

    # Measure and release.
    def shown(after: Measured) -> str:
        table = trees.test.table(before=before[trees.test.name], after=after[trees.test.name])
        lines = [f"AUC on trees held out of training ({trees.test.name}):", table]
        for test in suite.tests[1:]:
            if test is relations:
                table = test.table(before=before[test.name], after=after[test.name])
                lines += [f"AUC on relations of concepts held out of training ({test.name}):", table]
                continue
            was, now = (found[test.name][test.primary_metric] for found in (before, after))
            lines += ["linking of names held out of training:", f"acc@1      {was:.3f}  {now:.3f}  {now - was:+.3f}"]
        return "\n".join(lines)

    evaluate_and_release(
        model,
        suite,
        folders,
        record,
        before=before,
        terminologies=[whole],
        training=training,
        shown=shown,
        averaging=averaging,
    )


if __name__ == "__main__":
    run_recipe(main)
