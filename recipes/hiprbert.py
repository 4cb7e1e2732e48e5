"""HiPrBERT (arXiv:2307.00266): a term encoder that keeps the order of distances in a hierarchy.

    python recipes/hiprbert.py recipes/configs/hiprbert_open.yaml
    python recipes/hiprbert.py recipes/configs/hiprbert_paper.yaml --terminology data/umls phecode:phecode.csv

Reads terminologies, holds whole sub-trees out, trains on synonyms, relations and hierarchy batches in one run, measures
the tree AUCs on the held-out trees before, during and after, and writes a folder that plain sentence-transformers loads.
Every argument of the trainer is an argument here too; ``--help`` lists them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from torch import nn

from st_biomed.errors import InputError, unknown_name
from st_biomed.evaluators.benchmark import BENCHMARK, read_benchmark_settings
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.evaluators.tree.settings import TreeSettings
from st_biomed.hierarchy import DISTANCES, Hierarchy
from st_biomed.hierarchy.kinships import KINSHIPS
from st_biomed.losses import (
    CachedMultiSimilarityLoss,
    CachedOrdinalMultiSimilarityLoss,
    MultiSimilarityLoss,
    OrdinalMultiSimilarityLoss,
)
from st_biomed.losses.callbacks import TerminologyDigestCallback
from st_biomed.losses.miners import MODES, TripletMarginMiner
from st_biomed.losses.multi_similarity import PRESETS
from st_biomed.losses.ordinal_multi_similarity import FORMS, SIMILARITIES
from st_biomed.losses.similarity import REDUCTIONS
from st_biomed.release.run_record import RunRecord
from st_biomed.samplers import (
    BatchesByName,
    EpochCallback,
    HierarchyBatches,
    RankAlignedMixing,
    ShuffledBatches,
    SynonymBatches,
    TrainingBatches,
)
from st_biomed.settings.checks import (
    COUNT,
    LARGEST,
    PATH,
    PATTERN,
    SEED,
    SIZE,
    WEIGHT,
    about,
    above,
    at_least,
    one_of,
    within,
)
from st_biomed.settings.recipe import read_settings, run_recipe
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import EncoderArguments, decaying_all, with_precision
from st_biomed.training.checkpoints import whole_checkpoints
from st_biomed.training.finish import Measured, measure_and_release
from st_biomed.training.output import OutputFolders, output_folders, resume_point
from st_biomed.training_data import RelationLookup, names_dataset, relation_pairs

PARTS = ("synonyms", "relations", "hierarchy")


@dataclass
class HiPrBERTArguments(EncoderArguments):
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
    synonym_preset: str = field(
        default="hiprbert",
        metadata=about("multi-similarity preset of synonyms (3.5)", one_of(*PRESETS, called="preset")),
    )
    relation_preset: str = field(
        default="hiprbert",
        metadata=about("multi-similarity preset of relations (3.5)", one_of(*PRESETS, called="preset")),
    )
    margin: float | None = field(
        default=None, metadata=about("margin of the triplet miner; the preset's by default", WEIGHT)
    )
    mining: str | None = field(
        default=None,
        metadata=about("triplets kept: all, hard, semihard, easy or violate; the preset's by default", one_of(*MODES)),
    )
    shared_concept_negatives: bool = field(
        default=False, metadata={"help": "relation pairs that share a concept are negatives (the published code)"}
    )
    alpha: list[float] = field(
        default_factory=lambda: [2.0],
        metadata=about("ordinal loss, near side (3.5), one number or one per cut", above(0)),
    )
    beta: list[float] = field(
        default_factory=lambda: [2.0],
        metadata=about("ordinal loss, far side (3.5), one number or one per cut", above(0)),
    )
    base: list[float] = field(
        default_factory=lambda: [0.5], metadata={"help": "ordinal loss, lambda (3.5), one number or one per cut"}
    )
    cut_weights: list[float] = field(
        default_factory=list, metadata=about("weight of each cut; all equal by default", WEIGHT)
    )
    form: str = field(
        default="ordinal", metadata=about("ordinal (3.5) or pairwise_mean (the published code)", one_of(*FORMS))
    )
    similarity: str = field(
        default="cos", metadata=about("cos (3.3) or half, (cos + 1) / 2 (the published code)", one_of(*SIMILARITIES))
    )
    reduction: str = field(default="sum", metadata=about("over anchors (3.5: a sum)", one_of(*REDUCTIONS)))
    group_size: int | None = field(
        default=None,
        metadata=about("rows of a group that an anchor is compared within; the whole batch by default", COUNT),
    )
    partners: list[int] = field(
        default_factory=lambda: [5, 5, 5, 5], metadata=about("partners of an anchor at distance 0, 1, 2, ...", SIZE)
    )
    synonym_anchors: float = field(
        default=0.0, metadata=about("least share of anchors that have a synonym", within("[0, 1]"))
    )
    anchor_repeats: list[str] = field(
        default_factory=list,
        metadata={"help": "SOURCE=N: its anchors come N times an epoch (the published code: PHECODE=70 CPT=10)"},
    )
    names_per_partner: int = field(default=1, metadata=about("names that a related concept brings to a group", COUNT))
    temperature: float = field(
        default=1.0, metadata=about("mixing of the parts: 1 is by size, larger is flatter", at_least(1))
    )
    max_pairs_per_concept: int = field(default=50, metadata=about("synonym pairs a concept and epoch", COUNT))
    decay_all: bool = field(
        default=False, metadata={"help": "weight decay for biases and layer norms too (the published code)"}
    )
    subtrees: str = field(
        default="", metadata=about("regular expression of the codes that root a sub-tree held out as a whole", PATTERN)
    )
    subtree_depth: int = field(default=1, metadata=about("or their depth, where no expression is given", SIZE))
    held_out: float = field(
        default=1 / 6, metadata=about("share of the sub-trees held out for dev, and for test", within("(0, 0.5)"))
    )
    split_seed: int = field(default=0, metadata=about("seed of the split and of the pairs", SEED))
    pairs_per_class: int = field(default=800, metadata=about("pairs measured at each distance", COUNT))
    benchmark: str | None = field(
        default=None,
        metadata=about(
            "a frozen protocol that sets the five arguments above and checks the pairs; none for none", BENCHMARK
        ),
    )


def main(argv: Sequence[str] | None = None) -> None:
    recipe, training = read_settings((HiPrBERTArguments, SentenceTransformerTrainingArguments), argv)
    if recipe.benchmark in ("", "none"):
        recipe.benchmark = None
    check(recipe)
    if recipe.smoke:
        shrink(recipe, training)
    training = with_precision(training, recipe.precision)
    with output_folders(training, "hiprbert", recipe.overwrite, base_model=recipe.base_model) as folders:
        run(recipe, training, folders)


def run(recipe: HiPrBERTArguments, training: SentenceTransformerTrainingArguments, folders: OutputFolders) -> None:
    """From the terminologies to the release folder."""
    # Read, and hold whole sub-trees out.
    whole = Terminology.merge(*(Terminology.open(source) for source in recipe.terminology))
    hierarchy = Hierarchy(whole, recipe.distance, levels=recipe.levels)
    if not whole.parents.num_rows:
        raise InputError(f"terminology {' '.join(recipe.terminology)}: empty hierarchy, no concept has a parent")
    trees = protocol(recipe).hold_out(hierarchy, bf16=training.bf16, show_progress_bar=not training.disable_tqdm)
    train = trees.splits.train
    print(f"{whole!r}\n{trees.splits}")

    # One dataset, one loss and one way to batch for each part.
    model = recipe.encoder()
    parts = training_parts(model, train, folders.work / "terminology", recipe, training.seed)
    with training.main_process_first(desc="terminology"):
        if training.should_save:
            folders.begin(train)
    losses = {name: part.loss for name, part in parts.items()}
    training.batch_sampler = BatchesByName({name: part.batches for name, part in parts.items()})
    training.multi_dataset_batch_sampler = RankAlignedMixing(temperature=recipe.temperature)

    record = RunRecord(
        recipe="hiprbert",
        base_model=recipe.base_model,
        configuration=asdict(recipe),
        seed=training.seed,
        terminologies=[whole],
        license=recipe.license,
        description="An encoder of biomedical terms whose cosine similarity follows distance in a hierarchy.",
        readings=readings(recipe, parts),
        headline=list(trees.test.headline.values()),
    )
    record.add_losses(losses)
    suite = EvaluatorSuite([trees.test])
    before = suite.measure(model, "the base model" if training.should_log else "")
    optimizers: Any = (decaying_all(model, training), None) if recipe.decay_all else (None, None)
    trainer = SentenceTransformerTrainer(
        model=model,
        args=training,
        train_dataset={name: part.dataset for name, part in parts.items()},
        loss=losses,
        evaluator=trees.dev,
        optimizers=optimizers,
        callbacks=whole_checkpoints(record.callback(), TerminologyDigestCallback(losses), EpochCallback()),
    )
    trainer.train(resume_from_checkpoint=resume_point(training))

    def shown(after: Measured) -> str:
        name = trees.test.name
        table = trees.test.table(before=before[name], after=after[name])
        return f"AUC on trees held out of training ({name}):\n{table}"

    measure_and_release(
        model, suite, folders, record, before=before, terminologies=[whole], trainer=trainer, shown=shown
    )


def check(recipe: HiPrBERTArguments) -> None:
    """Refuse before anything is read what its use would refuse later.

    Raises:
        InputError: No terminology or part, a part twice, a malformed ``SOURCE=N``, or no such benchmark.
    """
    for name, values in (("terminology", recipe.terminology), ("parts", recipe.parts)):
        if not values or len(set(values)) < len(values):
            raise InputError(f"{name}: one or several different ones are needed, found {' '.join(values) or 'none'}")
    source_numbers(recipe.anchor_repeats)
    protocol(recipe)


class Part(NamedTuple):
    """What one kind of pairs brings to the training."""

    dataset: Dataset
    loss: nn.Module
    batches: TrainingBatches


def training_parts(
    model: SentenceTransformer, train: Terminology, folder: Path, recipe: HiPrBERTArguments, seed: int
) -> dict[str, Part]:
    """What ``recipe.parts`` names, relations only where there are any."""
    parts: dict[str, Part] = {}
    for name in recipe.parts:
        if name == "synonyms":
            parts[name] = synonyms(model, train, folder, recipe)
        elif name == "hierarchy":
            parts[name] = hierarchy_batches(model, train, folder, recipe)
        elif name != "relations":
            raise unknown_name("part", name, PARTS)
        elif train.relations.num_rows:
            parts[name] = relations(model, train, recipe, seed)
    return parts


def multi_similarity(
    model: SentenceTransformer, preset: str, lookup: Terminology | RelationLookup, recipe: HiPrBERTArguments
) -> nn.Module:
    """The preset's loss with what the arguments change of it."""
    options: dict[str, Any] = {"lookup": lookup, "gather_across_devices": recipe.gather_across_devices}
    if recipe.margin is not None or recipe.mining is not None:
        miner = PRESETS[preset]["miner"] if preset in PRESETS else None
        chosen = miner.get_config_dict() if isinstance(miner, TripletMarginMiner) else {}
        options["miner"] = TripletMarginMiner(
            margin=chosen.get("margin", 0.2) if recipe.margin is None else recipe.margin,
            distance=chosen.get("distance", "l2_normalized"),
            mode=recipe.mining or "all",
        )
    if recipe.mini_batch_size is None:
        return MultiSimilarityLoss.from_preset(model, preset, **options)
    return CachedMultiSimilarityLoss.from_preset(model, preset, mini_batch_size=recipe.mini_batch_size, **options)


def readings(recipe: HiPrBERTArguments, parts: dict[str, Part]) -> list[str]:
    """How this run reads what the paper leaves open, for the card."""
    said = []
    if "synonyms" in parts or "relations" in parts:
        said.append(
            "Hard pairs are mined from the embeddings of the current step. The paper's sentence, read literally, keeps "
            "triplets that are separated already; kept here are those whose negative is not at least the margin "
            f"farther than the positive{'' if recipe.mining in (None, 'all') else f' (mode {recipe.mining})'}."
        )
    if "hierarchy" in parts:
        levels = ", ".join(f"{level.replace('_', ' ')} {i}" for i, level in enumerate(recipe.levels, 1))
        said += [
            f"Distances: synonyms 0, {levels}, everything else {len(recipe.levels) + 1}; the smallest where several apply."
            if recipe.distance == "sibling_parent"
            else f"Distances are by {recipe.distance}; the smallest where several apply.",
            "An anchor is compared with "
            + ("the whole batch" if recipe.group_size is None else f"its group of {recipe.group_size} rows")
            + ": within one source a pair without a nearer relation is at the largest distance, across trees too; "
            "pairs of different sources and identical strings are left out.",
            f"The ordinal loss is in its {recipe.form} form, alpha {recipe.alpha}, beta {recipe.beta}, base {recipe.base}, "
            f"weights of the cuts {recipe.cut_weights or 1}; the paper has 2, 2, .5 and equal weights.",
        ]
    return said


def synonyms(model: SentenceTransformer, train: Terminology, folder: Path, recipe: HiPrBERTArguments) -> Part:
    """Names of one concept against mined names of others (3.4, 3.5)."""
    loss = multi_similarity(model, recipe.synonym_preset, train, recipe)
    batches = SynonymBatches.of(train, folder, max_pairs_per_concept=recipe.max_pairs_per_concept)
    return Part(names_dataset(train), loss, batches)


def relations(model: SentenceTransformer, train: Terminology, recipe: HiPrBERTArguments, seed: int) -> Part:
    """Names of related concepts against mined names of other pairs ("We do the same for UMLS relational data", 3.4)."""
    lookup = RelationLookup(train, shared_concept_negatives=recipe.shared_concept_negatives)
    loss = multi_similarity(model, recipe.relation_preset, lookup, recipe)
    pairs = relation_pairs(train, seed=seed)
    return Part(pairs, loss, ShuffledBatches.of(pairs))


def hierarchy_batches(model: SentenceTransformer, train: Terminology, folder: Path, recipe: HiPrBERTArguments) -> Part:
    """Anchors and their partners at every distance (3.4), under the ordinal loss (3.5)."""
    hierarchy = Hierarchy(train, recipe.distance, levels=recipe.levels)
    options: dict[str, Any] = {
        "alpha": one_or_each(recipe.alpha),
        "beta": one_or_each(recipe.beta),
        "base": one_or_each(recipe.base),
        "cut_weights": recipe.cut_weights or None,
        "form": recipe.form,
        "reduction": recipe.reduction,
        "similarity": recipe.similarity,
        "group_size": recipe.group_size,
        "gather_across_devices": recipe.gather_across_devices,
    }
    loss: nn.Module
    if recipe.mini_batch_size is None:
        loss = OrdinalMultiSimilarityLoss(model, hierarchy, **options)
    else:
        loss = CachedOrdinalMultiSimilarityLoss(model, hierarchy, mini_batch_size=recipe.mini_batch_size, **options)
    batches = HierarchyBatches.of(
        hierarchy,
        folder,
        partners=recipe.partners,
        synonym_anchors=recipe.synonym_anchors,
        anchor_repeats=source_numbers(recipe.anchor_repeats),
        names_per_partner=recipe.names_per_partner,
    )
    return Part(names_dataset(train), loss, batches)


def source_numbers(pairs: list[str]) -> dict[str, int]:
    """``SOURCE=N`` as a dictionary."""
    numbers = {}
    for pair in pairs:
        source, equals, number = pair.partition("=")
        if not (source and equals and number.isdecimal() and 0 < int(number[:10]) <= LARGEST):
            raise InputError(f"anchor_repeats are written SOURCE=N with N from 1, found {pair!r}")
        numbers[source] = int(number)
    return numbers


def one_or_each(values: list[float]) -> float | list[float]:
    """A single number stands for every cut."""
    return values[0] if len(values) == 1 else values


def protocol(recipe: HiPrBERTArguments) -> TreeSettings:
    """The frozen protocol, or one from the arguments."""
    if recipe.benchmark is not None:
        return read_benchmark_settings(recipe.benchmark, TreeSettings)
    return TreeSettings(
        subtrees=recipe.subtrees,
        depth=recipe.subtree_depth,
        dev=recipe.held_out,
        test=recipe.held_out,
        seed=recipe.split_seed,
        pairs_per_class=recipe.pairs_per_class,
    )


def shrink(recipe: HiPrBERTArguments, training: SentenceTransformerTrainingArguments) -> None:
    """Two steps of sixteen names: shows that everything fits together, and nothing else."""
    training.max_steps, training.per_device_train_batch_size = 2, 16
    recipe.partners, recipe.pairs_per_class = [1] * len(recipe.partners), 20


if __name__ == "__main__":
    run_recipe(main)
