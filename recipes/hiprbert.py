"""HiPrBERT (arXiv:2307.00266): a term encoder that keeps the order of distances in a hierarchy.

    python recipes/hiprbert.py recipes/configs/hiprbert_open.yaml
    python recipes/hiprbert.py recipes/configs/hiprbert_paper.yaml --terminology data/umls phecode:phecode.csv

Reads terminologies, holds whole sub-trees out, trains on synonyms, relations and hierarchy batches in one run, measures
the tree AUCs on the held-out trees before, during and after, and writes a folder that plain sentence-transformers loads.
Every argument of the trainer is an argument here too; ``--help-all`` lists them.
"""

from __future__ import annotations

import st_biomed.settings.early  # noqa: F401 # isort: skip

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from torch import nn

from st_biomed.errors import InputError, unknown_name
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.evaluators.tree.arguments import TreeArguments
from st_biomed.hierarchy import DISTANCES, Hierarchy
from st_biomed.hierarchy.kinships import KINSHIPS
from st_biomed.losses.callbacks import TerminologyDigestCallback
from st_biomed.losses.ordinal_arguments import OrdinalArguments
from st_biomed.losses.preset_arguments import PresetArguments
from st_biomed.samplers import (
    BatchesByName,
    EpochCallback,
    RankAlignedMixing,
    ShuffledBatches,
    SynonymBatches,
    TrainingBatches,
)
from st_biomed.samplers.partner_arguments import PartnerArguments
from st_biomed.settings.checks import COUNT, PATH, about, at_least, one_of
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import EncoderArguments
from st_biomed.training.encoder_run import measure_before, read_terminology, record_run, train_encoder
from st_biomed.training.finish import Measured, measure_and_release
from st_biomed.training.output import OutputFolders, output_folders
from st_biomed.training.readings import hiprbert_readings
from st_biomed.training_data import RelationLookup, names_dataset, relation_pairs

PARTS = ("synonyms", "relations", "hierarchy")


@dataclass
class HiPrBERTArguments(TreeArguments, PartnerArguments, OrdinalArguments, PresetArguments, EncoderArguments):
    """The paper's sentences as arguments; the section of the paper stands in the help."""

    terminology: list[str] = field(
        default_factory=lambda: ["icd10cm"],
        metadata=about(
            "a reader's name, reader:path, or a folder written by `st-biomed read`; several are merged", PATH
        ),
    )
    distance: str = field(
        default="sibling_parent", metadata=about("sibling_parent (3.3), lca_depth or hops", one_of(*DISTANCES))
    )
    levels: list[str] = field(
        default_factory=lambda: ["sibling", "parent_child"],
        metadata=about(
            "kinships from near to far, for sibling_parent (3.3; more of them: 5)", one_of(*KINSHIPS, called="kinship")
        ),
    )
    parts: list[str] = field(
        default_factory=lambda: list(PARTS), metadata=about("what to train on (4.1)", one_of(*PARTS, called="part"))
    )
    shared_concept_negatives: bool = field(
        default=False, metadata={"help": "relation pairs that share a concept are negatives (the published code)"}
    )
    temperature: float = field(
        default=1.0, metadata=about("mixing of the parts: 1 is by size, larger is flatter", at_least(1))
    )
    max_pairs_per_concept: int = field(default=50, metadata=about("synonym pairs a concept and epoch", COUNT))


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
    """Refuse before anything is read what its use would refuse later.

    Raises:
        InputError: No terminology or part, a part twice or unknown, a malformed ``SOURCE=N``, or no such benchmark.
    """
    for name, values in (("terminology", recipe.terminology), ("parts", recipe.parts)):
        if not values or len(set(values)) < len(values):
            raise InputError(f"{name}: one or several different ones are needed, found {' '.join(values) or 'none'}")
    for name in recipe.parts:
        if name not in PARTS:
            raise unknown_name("part", name, PARTS)
    recipe.repeats_by_source()
    recipe.protocol()


def shrink(recipe: HiPrBERTArguments, training: SentenceTransformerTrainingArguments) -> None:
    """Two steps of sixteen names: shows that everything fits together, and nothing else."""
    training.max_steps, training.per_device_train_batch_size = 2, 16
    recipe.partners, recipe.pairs_per_class = [1] * len(recipe.partners), 20


def run(recipe: HiPrBERTArguments, training: SentenceTransformerTrainingArguments, folders: OutputFolders) -> None:
    """From the terminologies to the release folder."""
    # Read.
    whole = read_terminology(recipe.terminology)
    hierarchy = Hierarchy(whole, recipe.distance, levels=recipe.levels)
    if not whole.parents.num_rows:
        raise InputError(f"terminology {' '.join(recipe.terminology)}: empty hierarchy, no concept has a parent")

    # Hold out whole sub-trees.
    trees = recipe.protocol().hold_out(hierarchy, bf16=training.bf16, show_progress_bar=not training.disable_tqdm)
    train, suite = trees.splits.train, EvaluatorSuite([trees.test])
    print(f"{whole!r}\n{trees.splits}")

    # Model.
    model = recipe.encoder()

    # Data and loss of each part.
    parts = training_parts(recipe, model, train, folders.work / "terminology", training.seed)
    losses = {name: part.loss for name, part in parts.items()}
    training.batch_sampler = BatchesByName({name: part.batches for name, part in parts.items()})
    training.multi_dataset_batch_sampler = RankAlignedMixing(temperature=recipe.temperature)

    # Train.
    averaging = recipe.averaging(model, recipe.base_model, trees.dev, bf16=training.bf16)
    before = measure_before(suite, model, training)
    folders.begin_in_main(training, train)
    record = record_run(
        "hiprbert",
        recipe,
        training,
        losses,
        terminologies=[whole],
        description="An encoder of biomedical terms whose cosine similarity follows distance in a hierarchy.",
        readings=hiprbert_readings(recipe, parts),
        headline=list(trees.test.headline.values()),
    )
    trainer = train_encoder(
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
        name = trees.test.name
        table = trees.test.table(before=before[name], after=after[name])
        return f"AUC on trees held out of training ({name}):\n{table}"

    measure_and_release(
        model,
        suite,
        folders,
        record,
        before=before,
        terminologies=[whole],
        trainer=trainer,
        shown=shown,
        averaging=averaging,
    )


class Part(NamedTuple):
    """What one kind of pairs brings to the training."""

    rows: Dataset
    loss: nn.Module
    batches: TrainingBatches


def training_parts(
    recipe: HiPrBERTArguments, model: SentenceTransformer, train: Terminology, folder: Path, seed: int
) -> dict[str, Part]:
    """What ``recipe.parts`` names, relations only where there are any."""
    parts: dict[str, Part] = {}
    for name in recipe.parts:
        if name == "synonyms":
            parts[name] = synonyms(recipe, model, train, folder)
        elif name == "hierarchy":
            parts[name] = kin(recipe, model, train, folder)
        elif train.relations.num_rows:
            parts[name] = relations(recipe, model, train, seed)
    return parts


def synonyms(recipe: HiPrBERTArguments, model: SentenceTransformer, train: Terminology, folder: Path) -> Part:
    """Names of one concept against mined names of others (3.4, 3.5)."""
    loss = recipe.multi_similarity(model, recipe.synonym_preset, train, **recipe.embedding())
    batches = SynonymBatches.of(train, folder, max_pairs_per_concept=recipe.max_pairs_per_concept)
    return Part(names_dataset(train), loss, batches)


def relations(recipe: HiPrBERTArguments, model: SentenceTransformer, train: Terminology, seed: int) -> Part:
    """Names of related concepts against mined names of other pairs ("We do the same for UMLS relational data", 3.4)."""
    lookup = RelationLookup(train, shared_concept_negatives=recipe.shared_concept_negatives)
    loss = recipe.multi_similarity(model, recipe.relation_preset, lookup, **recipe.embedding())
    pairs = relation_pairs(train, seed=seed)
    return Part(pairs, loss, ShuffledBatches.of(pairs))


def kin(recipe: HiPrBERTArguments, model: SentenceTransformer, train: Terminology, folder: Path) -> Part:
    """Anchors and their partners at every distance (3.4), under the ordinal loss (3.5)."""
    hierarchy = Hierarchy(train, recipe.distance, levels=recipe.levels)
    loss = recipe.ordinal_loss(model, hierarchy, **recipe.embedding())
    return Part(names_dataset(train), loss, recipe.partner_batches(hierarchy, folder))


if __name__ == "__main__":
    run_recipe(main)
