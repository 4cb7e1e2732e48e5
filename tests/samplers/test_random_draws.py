"""What a draw depends on (seed, epoch, batch), and that draws are even: mistakes that leave every batch valid."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from torch.utils.data import ConcatDataset

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.records import Definition, Parent, Record, SourceInfo, Term
from st_biomed.samplers import (
    DefinitionBatchSampler,
    DefinitionPlan,
    HierarchyBatchSampler,
    HierarchyPlan,
    RankAlignedMixing,
    ShuffledBatchSampler,
)
from st_biomed.samplers.batch_factories import dataset_digest
from st_biomed.samplers.hard_negatives import HardNegativePlan
from st_biomed.samplers.hierarchy import repeats_per_concept
from st_biomed.samplers.neighbor_table import nearest_rows
from st_biomed.terminology import Terminology
from st_biomed.training_data import definitions_dataset, names_dataset
from tests.contracts.batch_contract import batches
from tests.samplers.prototype_batches import mentions, sampler, with_names


def families(n: int = 8, children: int = 6, names: int = 4) -> Terminology:
    """Trees of a root and its children; every concept has so many names and two definitions."""
    records: list[Record] = []
    for tree in range(n):
        for child in range(children + 1):
            code = f"X:{tree}.{child}"
            records += [
                Term(code, f"name {i} of {tree}.{child}", "synonym" if i else "preferred") for i in range(names)
            ]
            records += [Definition(code, f"What {tree}.{child} is, in {i} words.") for i in range(2)]
            if child:
                records.append(Parent(code, f"X:{tree}.0"))
    return Terminology.from_records(records, SourceInfo("X", "X"))


FAMILIES = families()


def definition_batches(seed: int = 0, siblings: float = 0.0, batch_size: int = 16) -> list[list[int]]:
    return batches(
        DefinitionBatchSampler(
            definitions_dataset(FAMILIES),
            batch_size,
            seed=seed,
            terminology=FAMILIES,
            plan=DefinitionPlan(siblings=siblings),
        )
    )


def name_ranks(batch: list[int]) -> list[int]:
    """Which of the four names of its concept each name of a batch is."""
    return [int(FAMILIES.strings[name].split()[1]) for name in batch[::2]]


def trees(batch: list[int]) -> list[str]:
    return [FAMILIES.strings[name].split()[3].split(".")[0] for name in batch[::2]]


def test_names_of_a_batch_depend_on_the_seed_on_the_batch_and_on_their_place():
    """Catches one draw for all seeds, for all batches, or for all concepts of a batch."""
    first, second = name_ranks(definition_batches(0)[0]), name_ranks(definition_batches(0)[1])
    assert first != second
    assert first != name_ranks(definition_batches(1)[0])
    assert len(set(first)) > 1 and len(set(second)) > 1


def test_siblings_are_of_several_anchors_and_of_all_concepts():
    """Catches siblings of the first anchor alone, and those with the lowest numbers."""
    drawn: Counter[str] = Counter()
    mixed = []
    for seed in range(12):
        for batch in definition_batches(seed, siblings=0.5):
            mixed.append(len(set(trees(batch)[4:])) > 1)
            drawn.update(FAMILIES.strings[name].split()[3] for name in batch[8::2])
    assert np.mean(mixed) > 0.8
    low = sum(n for name, n in drawn.items() if int(name.split(".")[0]) < 4)
    assert 0.42 < low / drawn.total() < 0.58


def test_anchors_with_a_synonym_come_throughout_an_epoch():
    """Catches an epoch whose first half has all of them."""
    records: list[Record] = [Term("X:R", "root")]
    for i in range(120):
        records += [Term(f"X:{i}", f"name {i}"), Parent(f"X:{i}", "X:R")]
        records += [Term(f"X:{i}", f"other {i}", "synonym")] if i < 60 else []
    hierarchy = Hierarchy(Terminology.from_records(records, SourceInfo("X", "X")))
    made = HierarchyBatchSampler(
        names_dataset(hierarchy.terminology),
        8,
        hierarchy=hierarchy,
        plan=HierarchyPlan(synonym_anchors=0.5),
    )
    of_names = hierarchy.terminology.text_concepts
    n_names = hierarchy.terminology.concept_texts.counts
    has_synonym = [n_names[of_names.row(batch[0])[0]] > 1 for batch in batches(made)]
    half = len(has_synonym) // 2
    assert sum(has_synonym[:half]) < half and sum(has_synonym[half:]) > half / 3


def test_an_anchor_of_two_sources_comes_as_often_as_in_that_of_more():
    """Catches the number of the source that happens to be last."""
    records: list[Record | SourceInfo] = [SourceInfo("A", "A"), SourceInfo("B", "B")]
    records += [Term(f"X:{i}", f"name {i}", source="A") for i in range(4)]
    records += [
        Parent("X:1", "X:0", "A"),
        Parent("X:1", "X:0", "B"),
        Parent("X:2", "X:0", "A"),
        Parent("X:3", "X:2", "B"),
    ]
    hierarchy = Hierarchy(Terminology.from_records(records, SourceInfo("X", "X")))
    assert repeats_per_concept(hierarchy, {"A": 5})[1] == repeats_per_concept(hierarchy, {"B": 5})[1] == 5
    assert (
        repeats_per_concept(hierarchy, {"A": 5, "B": 3})[1] == repeats_per_concept(hierarchy, {"A": 3, "B": 5})[1] == 5
    )


def test_a_source_that_has_no_anchor_is_not_repeated():
    """Catches a source that gives names alone, whose number of repeats would do nothing."""
    records: list[Record | SourceInfo] = [SourceInfo("A", "A"), SourceInfo("B", "B"), SourceInfo("C", "C")]
    records += [Term(f"X:{i}", f"name {i}", source="A") for i in range(3)]
    records += [Term(f"X:{i}", f"other {i}", source="B") for i in range(3)]
    records += [Parent("X:1", "X:0", "A"), Parent("X:2", "X:0", "C")]
    hierarchy = Hierarchy(Terminology.from_records(records, SourceInfo("X", "X")))
    assert repeats_per_concept(hierarchy, {"A": 5, "C": 2}).tolist() == [5, 5, 2]
    with pytest.raises(InputError, match="must name sources with parents, found 'B', which has none"):
        repeats_per_concept(hierarchy, {"A": 5, "B": 2})


def test_rows_beyond_the_groups_are_of_the_source_of_an_anchor_of_their_batch():
    """Catches rows of another batch's source, whose pairs with the anchor are masked."""
    parts = []
    for source in "AB":
        records: list[Record] = [Term(f"{source}:R", f"{source} root")]
        for i in range(12):
            records += [Term(f"{source}:{i}", f"{source} {i}"), Parent(f"{source}:{i}", f"{source}:R")]
        parts.append(Terminology.from_records(records, SourceInfo(source, source)))
    terminology = Terminology.merge(*parts)
    hierarchy = Hierarchy(terminology)
    made = HierarchyBatchSampler(names_dataset(terminology), 12, hierarchy=hierarchy, plan=HierarchyPlan())
    assert made.group_size == 8
    for batch in batches(made):
        assert {terminology.strings[row][0] for row in batch} == {terminology.strings[batch[0]][0]}


def test_the_order_of_datasets_depends_on_the_seed_and_every_dataset_comes():
    """Catches an order that all seeds share, and a small dataset that a share leaves out."""
    parts = [names_dataset(FAMILIES), names_dataset(FAMILIES)]
    concat = ConcatDataset(parts)

    def order(seed: int, **options: object) -> list[int]:
        made = RankAlignedMixing(**options)(
            concat, [ShuffledBatchSampler(part, 8, seed=0) for part in parts], seed=seed
        )
        return [int(batch[0] >= len(parts[0])) for batch in made]

    assert order(0) != order(1)
    assert set(order(0, shares=(10_000.0, 1.0))) == {0, 1}


def test_prototypes_depend_on_the_seed_and_may_be_any_mention_of_a_term():
    """Catches the first mention of each term in all trainings, and one choice for all seeds."""
    terminology = with_names(2, 2, 2)
    labels = [label for label in range(6) for _ in range(8)]
    plan = HardNegativePlan(prototypes=2, positives=2, neighbors=2, prototypes_per_concept=2)
    chosen = [
        sampler(terminology, plan, mentions(terminology, labels), seed=seed).prototypes.tolist() for seed in range(8)
    ]
    assert len({tuple(rows) for rows in chosen}) > 1
    assert len({row % 8 for rows in chosen for row in rows}) > 3


def test_positives_are_any_of_the_synonyms():
    """Catches the same first synonyms in every epoch."""
    terminology = with_names(10, 10, 10)
    made = sampler(terminology, HardNegativePlan(prototypes=2, positives=2, neighbors=2, prototypes_per_concept=1))
    met = {row for epoch in range(90) for batch in batches(made, epoch) for row in batch[1:3]}
    assert len(met) > 24


def test_neighbors_among_candidates_are_the_nearest_candidates():
    """Catches queries that are taken from the candidates by the number of a row."""
    vectors = np.random.default_rng(1).normal(size=(30, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    prototypes, candidates = np.array([3, 4, 20, 29]), np.array([1, 4, 8, 9, 12, 20, 25])
    found = nearest_rows(vectors, prototypes, 3, candidates=candidates)
    for row, near in zip(prototypes, found):
        others = candidates[candidates != row]
        expected = others[np.argsort(-(vectors[others] @ vectors[row]))][:3]
        assert near.tolist() == expected.tolist()


@pytest.mark.parametrize("change", ["labels", "terminology"])
def test_a_dataset_is_known_by_its_labels_and_its_terminology(change):
    """Catches training rows taken for evaluation rows, and the reverse, where only the texts are equal."""
    dataset = names_dataset(FAMILIES)
    if change == "labels":
        other = dataset.remove_columns("label").add_column("label", dataset["label"][::-1])
        other = other.cast_column("label", dataset.features["label"])
        other.info.description = dataset.info.description
    else:
        other = dataset.select(range(len(dataset)))
        other.info.description = "terminology:" + "0" * 64
    assert dataset_digest(other) != dataset_digest(dataset)
