"""Hierarchy batches: who is an anchor, and whether its partners stand where they should."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.samplers import HierarchyBatchSampler, HierarchyPlan
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset
from tests.contracts.batch_contract import BatchContract, batches

TOY = Terminology.read("toy")
HIERARCHIES = {
    "sibling_parent": Hierarchy(TOY),
    "lca_depth": Hierarchy(TOY, "lca_depth"),
    "decimals": Hierarchy(TOY, "decimals"),
    "hops": Hierarchy(TOY, "hops", max_distance=4),
    "five levels": Hierarchy(TOY, levels=("sibling", "parent_child", ("grandparent_child", "uncle_nephew"), "cousin")),
}


def sampler(hierarchy: Hierarchy, batch_size: int, dataset=None, seed=0, **options) -> HierarchyBatchSampler:
    dataset = names_dataset(hierarchy.terminology) if dataset is None else dataset
    return HierarchyBatchSampler(dataset, batch_size, seed=seed, hierarchy=hierarchy, plan=HierarchyPlan(**options))


def tree(children: int, others: int = 0, names: int = 1, source: str = "X") -> list[Term | Parent]:
    """A root with children, and a second tree of a root with ``others`` children; ``names`` names each."""
    records: list[Term | Parent] = []
    for root, n in (("R", children), ("S", others)):
        codes = [f"{source}:{root}"] + [f"{source}:{root}{i:02}" for i in range(n)]
        if n:
            records += [Term(code, f"{code} name {k}") for code in codes for k in range(names)]
            records += [Parent(code, codes[0]) for code in codes[1:]]
    return records


def hierarchy_of(records) -> Hierarchy:
    return Hierarchy(Terminology.from_records(records, SourceInfo("X", "X")))


def groups(drawn: HierarchyBatchSampler, epoch: int = 0) -> np.ndarray:
    """The groups of an epoch as rows, ``[N, group_size]``."""
    per_batch = drawn.batch_size // drawn.group_size * drawn.group_size
    return np.array(batches(drawn, epoch))[:, :per_batch].reshape(-1, drawn.group_size)


def distances(hierarchy: Hierarchy, group: np.ndarray) -> np.ndarray:
    """Distances of the members of groups of text ids to their anchors, ``[N, group_size]``."""
    members = torch.from_numpy(group)
    return torch.stack([hierarchy.distance(row[:1], row)[0] for row in members]).numpy()


class TestHierarchyContract(BatchContract):
    sampler_class = HierarchyBatchSampler

    def make(self, seed=0):
        return sampler(HIERARCHIES["sibling_parent"], self.batch_size, seed=seed)

    def make_too_large(self):
        return sampler(HIERARCHIES["sibling_parent"], 391)


class TestLeftOverRowsContract(TestHierarchyContract):
    batch_size = 29

    def make(self, seed=0):
        return sampler(
            HIERARCHIES["lca_depth"], self.batch_size, seed=seed, partners={1: 3, 3: 1}, synonym_anchors=0.7
        )


@pytest.mark.long
@pytest.mark.parametrize("name", HIERARCHIES)
def test_partners_stand_at_their_distance_or_are_far(name):
    """Would catch a partner that is nearer by another way, in the wrong slot, or a true neighbor among the far."""
    hierarchy = HIERARCHIES[name]
    drawn = sampler(hierarchy, 48)
    slots = np.repeat(np.arange(hierarchy.max_distance + 1), drawn.partners)
    found = distances(hierarchy, groups(drawn))[:, 1:]
    assert ((found == slots) | (found == hierarchy.max_distance)).all()


@pytest.mark.long
@pytest.mark.parametrize("name", HIERARCHIES)
def test_a_distance_that_has_texts_gives_a_partner(name):
    """Would catch short classes that are topped up although they have members, such as a single child among keys."""
    hierarchy = HIERARCHIES[name]
    drawn = sampler(hierarchy, 48)
    every = torch.arange(TOY.n_texts)
    group = groups(drawn)
    found = distances(hierarchy, group)
    distances_to_all = hierarchy.distance(torch.from_numpy(group[:, 0]), every).numpy()
    for distance, wanted in enumerate(drawn.partners):
        if wanted:
            has = (distances_to_all == distance).any(axis=1)
            assert has.any()
            assert ((found == distance).any(axis=1) >= has).mean() > 0.99


def test_a_small_class_gives_all_its_members():
    """Would catch repeats that take the place of members that were drawn too."""
    hierarchy = hierarchy_of(tree(3, 9))
    drawn = sampler(hierarchy, 6, partners=(0, 2, 1, 2))
    group = np.concatenate([groups(drawn, epoch) for epoch in range(20)])
    child = [hierarchy.terminology.strings.index(f"X:R0{i} name 0") for i in range(3)]
    found = distances(hierarchy, group[np.isin(group[:, 0], child)])
    assert len(found) == 60
    assert (found[:, 1:3] == 1).mean() > 0.95


def test_all_synonyms_fit():
    """Would catch synonyms drawn with replacement."""
    hierarchy = hierarchy_of(tree(6, 12, names=4))
    found = distances(hierarchy, groups(sampler(hierarchy, 16, partners=(3, 0, 0, 0))))
    assert (found[:, 1:] == 0).all()


def test_no_text_is_twice_in_a_group():
    """Would catch partners drawn with replacement: identical strings are masked and teach nothing."""
    for group in groups(sampler(HIERARCHIES["sibling_parent"], 60, partners=(3, 3, 3, 2))).tolist():
        assert len(set(group)) == len(group)


def test_far_partners_are_never_neighbors_where_most_texts_are():
    """Would catch far partners drawn without a look at their distance, as in the published code."""
    hierarchy = hierarchy_of(tree(30, 3))
    for epoch in range(3):
        found = distances(hierarchy, groups(sampler(hierarchy, 12, partners=(0, 0, 0, 2)), epoch))
        assert (found[:, 1:] == 3).all()


def test_without_anything_far_any_text_fills_the_group():
    """Would catch a draw that never ends."""
    hierarchy = hierarchy_of(tree(6))
    assert len(batches(sampler(hierarchy, 4, partners=(0, 1, 1, 1)))) == 7


def test_partners_come_from_the_anchors_own_source():
    """Would catch far partners of another source, whose pairs the loss masks."""
    records = [record._replace(source=name) for name in ("A", "B", "C") for record in tree(5, 5, source=name)]
    hierarchy = hierarchy_of([*records, SourceInfo("A", "A"), SourceInfo("B", "B"), SourceInfo("C", "C")])
    assert (distances(hierarchy, groups(sampler(hierarchy, 16)))[:, 1:] >= 0).all()


@pytest.mark.parametrize("batch_size", [7, 9])
def test_a_large_second_source_does_not_dilute_the_batches(batch_size):
    """Would catch far partners, fallbacks (here for want of a far text) and left-over rows of loose names elsewhere."""
    for root in (tree(9, 9), tree(12)):
        loose = [Term(f"Y:{i}", f"loose {i}", source="Y") for i in range(3000)]
        placed = [record._replace(source="X") for record in root]
        hierarchy = hierarchy_of([*placed, *loose, SourceInfo("Y", "Y")])
        drawn = sampler(hierarchy, batch_size, partners=(0, 1, 1, 4))
        rows = np.array(batches(drawn))
        assert not [text for text in rows.reshape(-1) if hierarchy.terminology.strings[text].startswith("loose")]


@pytest.mark.long
def test_relatives_are_drawn_evenly():
    """Would catch a draw that first picks between parents and children, and so a parent half of the time."""
    records = tree(20, 3)
    records += [Term("X:T", "top"), Parent("X:R", "X:T")]
    hierarchy = hierarchy_of(records)
    codes = hierarchy.terminology.codes
    drawn = sampler(hierarchy, 4, partners=(0, 0, 3, 0))
    root = hierarchy.terminology.concept("X:R")
    anchor = hierarchy.terminology.preferred_texts[root]
    partners: Counter[str] = Counter()
    for epoch in range(400):
        group = groups(drawn, epoch)
        for row in group[group[:, 0] == anchor]:
            partners.update(codes[int(hierarchy.terminology.text_concepts.row(text)[0])] for text in row[1:])
    counts = np.array([partners[f"X:R{i:02}"] for i in range(20)] + [partners["X:T"]])
    expected = counts.sum() / 21
    assert ((counts - expected) ** 2 / expected).sum() < 45  # chi-square, 20 degrees of freedom, p = .001


def test_an_epoch_takes_every_name_of_the_hierarchy_as_an_anchor_once():
    """Would catch anchors drawn with replacement, and concepts outside the hierarchy among them."""
    records = [*tree(6, 8, names=2), *(Term(f"X:loose{i}", f"loose {i}") for i in range(5))]
    hierarchy = hierarchy_of(records)
    anchors = groups(sampler(hierarchy, 8))[:, 0]
    texts = hierarchy.terminology.strings
    assert sorted(texts[a] for a in anchors) == sorted(t for t in texts if not t.startswith("loose"))


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_share_of_the_anchors_has_a_synonym(share):
    """Would catch an option that does nothing; a tenth of the names has a synonym here."""
    records = [*tree(60, 30), *(Term(f"X:R{i:02}", f"another {i}") for i in range(5))]
    hierarchy = hierarchy_of(records)
    has = hierarchy.terminology.concept_texts.counts > 1
    anchors = groups(sampler(hierarchy, 8, synonym_anchors=share))[:, 0]
    concepts = np.array([hierarchy.terminology.text_concepts.row(a)[0] for a in anchors])
    assert share <= has[concepts].mean() <= share + 0.2 * (1 - share)


def test_anchors_of_a_small_source_come_more_often():
    """Would catch an option that does nothing, or that repeats the wrong source."""
    hierarchy = Hierarchy(
        Terminology.merge(
            *(
                Terminology.from_records(tree(n, source=name), SourceInfo(name, name))
                for name, n in (("X", 19), ("Y", 4))
            )
        )
    )
    drawn = sampler(hierarchy, 6, partners=(0, 1, 1, 0), anchor_repeats={"Y": 7})
    texts = hierarchy.terminology.strings
    times = Counter(texts[a] for epoch in range(2) for a in groups(drawn, epoch)[:, 0])
    assert len(drawn) == (20 + 5 * 7) // 2
    assert 2 * 55 - 2 <= sum(times.values()) <= 2 * 55
    assert {n for text, n in times.items() if text.startswith("X")} <= {1, 2}
    assert {n for text, n in times.items() if text.startswith("Y")} <= {12, 13, 14}


@pytest.mark.parametrize("names_per_partner", [1, 2, 3])
def test_related_concepts_bring_several_of_their_names(names_per_partner):
    """Would catch names that are drawn twice, from different concepts, or an option that does nothing."""
    drawn = sampler(hierarchy_of(tree(30, names=3)), 7, partners=(0, 6), names_per_partner=names_per_partner)
    concepts_of = drawn.hierarchy.terminology.text_concepts
    siblings = [
        group for group in groups(drawn) if not drawn.hierarchy.terminology.strings[group[0]].startswith("X:R ")
    ]
    names = [Counter(int(concepts_of.row(text)[0]) for text in group[1:]).values() for group in siblings]
    assert all(len(set(group)) == 7 for group in siblings)
    least = [min(counts) for counts in names]
    # A concept drawn twice may bring one name more, or a part of its names.
    assert names_per_partner - 0.2 < np.mean(least) < names_per_partner + 0.2


def test_rows_follow_the_dataset_whatever_its_order():
    """Would catch text ids taken for rows, and partners that the dataset does not hold."""
    hierarchy = HIERARCHIES["sibling_parent"]
    dataset = names_dataset(TOY).shuffle(seed=1).select(range(250))
    drawn = sampler(hierarchy, 16, dataset)
    found = distances(hierarchy, np.array(dataset["label"][:])[groups(drawn)])
    assert ((found[:, 1:] == [0, 1, 1, 2, 2, 3, 3]) | (found[:, 1:] == 3)).all()


def test_rows_that_no_group_takes_are_filled():
    """Would catch a batch that is cut to whole groups."""
    drawn = sampler(HIERARCHIES["sibling_parent"], 23)
    assert drawn.group_size == 8
    assert {len(batch) for batch in batches(drawn)} == {23}


def test_partners_can_be_given_for_some_distances():
    hierarchy = HIERARCHIES["sibling_parent"]
    assert sampler(hierarchy, 16, partners=(1, 2)).partners == (1, 2, 0, 0)
    assert sampler(hierarchy, 16, partners={3: 2, 1: 1}).partners == (0, 1, 0, 2)
    assert sampler(hierarchy, 16).partners == (1, 2, 2, 2)


def test_partners_stand_at_the_levels_before_the_level_function():
    """Would catch partners counted by levels that the sampler does not draw by."""
    hierarchy = Hierarchy(TOY, level_function=lambda pairs: pairs.distance * 2 + 1, max_distance=7)
    drawn = sampler(hierarchy, 16)
    assert drawn.partners == (1, 2, 2, 2)
    assert batches(drawn) == batches(sampler(HIERARCHIES["sibling_parent"], 16))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda h: sampler(h, 7), "at least 8; found 7"),
        (lambda h: sampler(h, 16, partners=(1, 1, 1, 1, 1)), "each distance from 0 to 3"),
        (lambda h: sampler(h, 16, partners={4: 1}), "each distance from 0 to 3"),
        (lambda h: sampler(h, 16, partners=(1, -1, 1, 1)), "partners must be an integer of at least 0, found -1"),
        (lambda h: sampler(h, 16, partners=(0, 0, 0, 0)), "each distance from 0 to 3"),
        (lambda h: sampler(h, 16, synonym_anchors=1.2), "share from 0 to 1, found 1.2"),
        (lambda h: sampler(h, 16, anchor_repeats={"PHECODE": 70}), "source of anchor_repeats 'PHECODE'"),
        (lambda h: sampler(h, 16, names_per_partner=0), "names_per_partner must be an integer of at least 1, found 0"),
        (lambda h: sampler(h, 16, anchor_repeats={"TOY": 10**10}), "anchor_repeats must be at most 2147483647, found"),
        (lambda h: sampler(h, 16, anchor_repeats={"TOY": 0}), "anchor_repeats must be an integer of at least 1"),
        (lambda h: sampler(hierarchy_of([Term(f"X:{i}", f"t {i}") for i in range(20)]), 8), "hierarchy is empty"),
        (
            lambda h: sampler(hierarchy_of(tree(9)), 8, synonym_anchors=0.5),
            "no concept of the hierarchy has two names",
        ),
        (
            lambda h: sampler(hierarchy_of([*tree(2), *(Term(f"X:{i}", f"t {i}") for i in range(99))]), 64),
            "3 anchors do not fill 8 groups of 8",
        ),
        (
            lambda h: HierarchyBatchSampler(names_dataset(hierarchy_of(tree(9)).terminology), 8, hierarchy=h),
            "labels come",
        ),
    ],
)
def test_what_cannot_be_batched_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make(HIERARCHIES["sibling_parent"])
