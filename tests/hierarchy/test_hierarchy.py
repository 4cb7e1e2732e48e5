"""Distances of a hierarchy against loops over pairs that restate their definitions."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.hierarchy import DISTANCES, MASKED, Hierarchy
from st_biomed.hierarchy.kinships import KINSHIPS
from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.terminology import Terminology
from tests.hierarchy.chains import chain

FIVE = ("sibling", "parent_child", ("grandparent_child", "uncle_nephew"), "cousin")
SEEDS = range(25)


def graph(seed: int, *, forest: bool = False, sources: int = 2) -> Terminology:
    """Concepts of two sources with up to three parents, ambiguous names, and some concepts without relatives."""
    rng = np.random.default_rng(seed)
    records: list[Term | Parent | SourceInfo] = [SourceInfo(name, name) for name in "AB"[:sources]]
    for source in "AB"[:sources]:
        n = int(rng.integers(6, 14))
        for c in range(n):
            code = f"{source}:{c:02}"
            texts = [f"own {code}", *(f"shared {k}" for k in rng.integers(0, 8, rng.integers(0, 3)))]
            records += [Term(code, text, source=source) for text in texts]
            most = 1 if forest else 3
            for parent in rng.permutation(c)[: rng.integers(0, most + 1)] if rng.random() < 0.9 else ():
                records.append(Parent(code, f"{source}:{parent:02}", source))
    return Terminology.from_records(records, SourceInfo("A", "A"))


class Oracle:
    """The definitions, one pair at a time."""

    def __init__(self, terminology: Terminology) -> None:
        self.terminology = terminology
        self.parents: dict[int, set[int]] = {c: set() for c in range(terminology.n_concepts)}
        self.sources: dict[int, set[str]] = {c: set() for c in range(terminology.n_concepts)}
        for row in terminology.parents.to_pylist():
            self.parents[row["child"]].add(row["parent"])
            self.sources[row["child"]].add(row["source"])
            self.sources[row["parent"]].add(row["source"])
        for row in terminology.terms.to_pylist():
            if not self.parents[row["concept"]] and not any(
                row["concept"] in above for above in self.parents.values()
            ):
                self.sources[row["concept"]].add(row["source"])

    def up(self, concept: int, steps: int) -> set[int]:
        return {concept} if steps == 0 else {a for p in self.parents[concept] for a in self.up(p, steps - 1)}

    def steps_up(self, concept: int) -> dict[int, int]:
        """Every ancestor, the concept itself too, and the fewest steps to it."""
        found = {concept: 0}
        for parent in self.parents[concept]:
            for ancestor, steps in self.steps_up(parent).items():
                found[ancestor] = min(found.get(ancestor, 99), steps + 1)
        return found

    def depth(self, concept: int) -> int:
        return max((self.depth(parent) + 1 for parent in self.parents[concept]), default=0)

    def kinship(self, a: int, b: int, levels) -> int:
        for level, names in enumerate(levels, start=1):
            for name in (names,) if isinstance(names, str) else names:
                i, j = KINSHIPS[name]
                if self.up(a, i) & self.up(b, j) or self.up(b, i) & self.up(a, j):
                    return level
        return len(levels) + 1

    def lca_depth(self, a: int, b: int, most: int) -> int:
        common = set(self.steps_up(a)) & set(self.steps_up(b))
        if not common:
            return most
        deepest = max(self.depth(c) for c in self.parents if self.sources[c] & self.sources[a])
        return int(np.clip(deepest - max(self.depth(c) for c in common), 1, most - 1))

    def decimals(self, a: int, b: int, most: int) -> int:
        near = {a, b} | self.parents[a] | self.parents[b]
        common = set(self.steps_up(a)) & set(self.steps_up(b)) & near
        if not common:
            return most
        deepest = max(self.depth(c) for c in self.parents if self.sources[c] & self.sources[a])
        return int(np.clip(deepest - max(self.depth(c) for c in common), 1, most - 1))

    def hops(self, a: int, b: int, most: int) -> int:
        above_a, above_b = self.steps_up(a), self.steps_up(b)
        return min([most, *(above_a[c] + above_b[c] for c in above_a if c in above_b)])

    def concepts(self, a: int, b: int, hierarchy: Hierarchy) -> int:
        """Distance of two concepts, whatever their sources."""
        if a == b:
            return 0
        if hierarchy.distance_type == "sibling_parent":
            return self.kinship(a, b, hierarchy.levels)
        return getattr(self, hierarchy.distance_type)(a, b, hierarchy.max_distance)

    def comparable(self, concepts_a, concepts_b) -> bool:
        return bool(
            set().union(*(self.sources[a] for a in concepts_a)) & set().union(*(self.sources[b] for b in concepts_b))
        )

    def texts(self, hierarchy: Hierarchy) -> np.ndarray:
        """All distances, ``[T, T]``: the smallest among the pairs of concepts that can be compared."""
        of = [[int(c) for c in self.terminology.text_concepts.row(t)] for t in range(self.terminology.n_texts)]
        out = np.full((len(of), len(of)), MASKED)
        for a, b in product(range(len(of)), repeat=2):
            pairs = [(x, y) for x in of[a] for y in of[b] if self.comparable([x], [y])]
            if a != b and pairs:
                out[a, b] = min(self.concepts(x, y, hierarchy) for x, y in pairs)
        return out


HIERARCHIES = {
    "siblings and parents": {"distance": "sibling_parent"},
    "five levels": {"distance": "sibling_parent", "levels": FIVE},
    "depth of the common ancestor": {"distance": "lca_depth"},
    "the same in five": {"distance": "lca_depth", "max_distance": 5},
    "decimals": {"distance": "decimals"},
    "decimals in five": {"distance": "decimals", "max_distance": 5},
    "hops": {"distance": "hops"},
    "six hops": {"distance": "hops", "max_distance": 6},
}


@pytest.mark.long
@pytest.mark.parametrize("name", HIERARCHIES)
@pytest.mark.parametrize("forest", [True, False], ids=["forest", "graph"])
def test_distances_are_those_of_the_definition(name, forest):
    """Would catch a relation that is looked for one way only, one parent of several, one concept of a string."""
    for seed in SEEDS:
        terminology = graph(seed, forest=forest)
        hierarchy = Hierarchy(terminology, **HIERARCHIES[name])
        labels = torch.arange(terminology.n_texts)
        found = hierarchy.distance(labels, labels)
        assert found.dtype == torch.int8
        assert np.array_equal(found.numpy(), Oracle(terminology).texts(hierarchy))


@pytest.mark.parametrize("name", HIERARCHIES)
def test_a_batch_is_a_part_of_the_whole(name):
    """Would catch a lookup by position: batches are not square, not sorted, and repeat texts."""
    terminology = graph(3)
    hierarchy = Hierarchy(terminology, **HIERARCHIES[name])
    every = torch.arange(terminology.n_texts)
    whole = hierarchy.distance(every, every)
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randint(terminology.n_texts, (n,), generator=generator) for n in (17, 9))
    assert torch.equal(hierarchy.distance(a, b), whole[a][:, b])
    assert hierarchy.distance(a[:0], b).shape == (0, 9)


@pytest.mark.long
@pytest.mark.parametrize("name", HIERARCHIES)
def test_distances_of_concepts_are_the_same_one_by_one(name):
    """Would catch a sampler that draws by other distances than the loss uses."""
    for seed in SEEDS:
        terminology = graph(seed)
        hierarchy, oracle = Hierarchy(terminology, **HIERARCHIES[name]), Oracle(terminology)
        a, b = (side.reshape(-1) for side in np.indices((terminology.n_concepts,) * 2))
        expected = [
            oracle.concepts(x, y, hierarchy) if oracle.comparable([x], [y]) else MASKED
            for x, y in zip(a.tolist(), b.tolist())
        ]
        assert hierarchy.concept_distance(a, b).tolist() == expected


@pytest.mark.parametrize("name", HIERARCHIES)
def test_partner_tables_lead_to_every_partner(name):
    """Would catch a way to be related that is drawn from in one direction only."""
    terminology = graph(5)
    hierarchy = Hierarchy(terminology, **HIERARCHIES[name])
    for level in range(1, hierarchy.max_distance):
        for anchor in range(terminology.n_concepts):
            reached = {
                int(concept)
                for keys, members in hierarchy.partner_tables(level)
                for key in keys.row(anchor)
                for concept in members.row(key)
            }
            others = np.arange(terminology.n_concepts)
            partners = others[hierarchy.concept_distance(np.full_like(others, anchor), others) == level]
            assert set(partners.tolist()) <= reached


def test_everything_in_one_source_is_comparable_across_its_trees():
    """Would catch masking pairs of different trees, which throws almost all of a batch away."""
    terminology = graph(1, sources=1)
    labels = torch.arange(terminology.n_texts)
    distance = Hierarchy(terminology).distance(labels, labels)
    assert ((distance == MASKED) == torch.eye(len(labels), dtype=torch.bool)).all()
    assert (distance == 3).any()


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_terminology_without_parents_has_synonyms_and_others(distance):
    records = [Term("X:1", "one"), Term("X:1", "uno"), Term("X:2", "two"), Term("X:3", "three")]
    terminology = Terminology.from_records(records, SourceInfo("X", "X"))
    labels = torch.tensor([terminology.strings.index(text) for text in ("one", "uno", "two", "three")])
    expected = [[-1, 0, 3, 3], [0, -1, 3, 3], [3, 3, -1, 3], [3, 3, 3, -1]]
    assert Hierarchy(terminology, distance).distance(labels, labels).tolist() == expected


def test_lca_depth_on_phecodes_goes_by_the_shared_decimals():
    """As `dist_PheCode` of HiPrBERT's eval.py: 1 for the same first decimal, 2 for the same integer, 3 for anything else."""
    parents = {"008.51": "008.5", "008.52": "008.5", "008.5": "008", "008.6": "008", "010.1": "010", "010.2": "010"}
    codes = sorted({*parents, *parents.values()})
    records = [Term(f"P:{code}", f"disease {code}") for code in codes]
    records += [Parent(f"P:{child}", f"P:{parent}") for child, parent in parents.items()]
    terminology = Terminology.from_records(records, SourceInfo("P", "P"))
    hierarchy = Hierarchy(terminology, "lca_depth")
    text = {code: torch.tensor([terminology.strings.index(f"disease {code}")]) for code in codes}
    for a, b, expected in (
        ("008.51", "008.52", 1),
        ("008.5", "008.51", 1),
        ("008.51", "008.6", 2),
        ("008", "008.52", 2),
        ("010.1", "010.2", 2),
        ("008.51", "010.1", 3),
        ("008", "010", 3),
    ):
        assert hierarchy.distance(text[a], text[b]).item() == expected, (a, b)


def test_depth_is_the_longest_path_from_a_root():
    for seed in SEEDS:
        terminology = graph(seed)
        oracle = Oracle(terminology)
        assert Hierarchy(terminology).depth.tolist() == [oracle.depth(c) for c in range(terminology.n_concepts)]


def test_lca_is_the_deepest_common_ancestor():
    terminology = graph(2)
    hierarchy, oracle = Hierarchy(terminology), Oracle(terminology)
    for a, b in product(range(terminology.n_concepts), repeat=2):
        common = set(oracle.steps_up(a)) & set(oracle.steps_up(b))
        deepest = max((oracle.depth(c) for c in common), default=0)
        assert hierarchy.lca(a, b).tolist() == sorted(c for c in common if oracle.depth(c) == deepest)


def test_a_cycle_is_named():
    """Would catch a loop without end, and a message that names a concept beside the cycle."""
    terminology = chain(("X:1", "X:0"), ("X:2", "X:1"), ("X:3", "X:2"), ("X:1", "X:3"), ("X:4", "X:3"))
    with pytest.raises(InputError) as error:
        Hierarchy(terminology)
    named = str(error.value).partition(": ")[2].partition(" (")[0].split(" -> ")
    assert named[0] == named[-1] and set(named) == {"X:1", "X:2", "X:3"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"distance": "hop"}, r"unknown distance 'hop'.*did you mean 'hops'"),
        (
            {"levels": ((), "sibling")},
            r"levels must have a kinship each, and each kinship once, found \[\(\), 'sibling'\]",
        ),
        ({"levels": ("sibling", "sibling", "parent_child")}, "levels must have a kinship each, and each kinship once"),
        ({"distance": "hops", "levels": ("nonsense",)}, "unknown kinship 'nonsense'"),
        ({"levels": ("siblings",)}, r"unknown kinship 'siblings'.*did you mean 'sibling'"),
        ({"levels": ("cousin", "sibling")}, "'cousin' contains 'sibling', which must be at a nearer level"),
        ({"max_distance": 4}, r"follows from levels \(3\).*found 4"),
        ({"distance": "hops", "max_distance": 0}, "max_distance must be an integer of at least 1 or None, found 0"),
        (
            {"distance": "hops", "max_distance": "3"},
            "max_distance must be an integer of at least 1 or None, found '3'",
        ),
        (
            {"distance": "hops", "max_distance": 2.5},
            "max_distance must be an integer of at least 1 or None, found 2.5",
        ),
        ({"distance": "hops", "max_distance": True}, "max_distance must be an integer of at least 1 or None, found T"),
        ({"distance": "hops", "max_distance": 128}, "must lie in 1..127, found 128"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Hierarchy(chain(("X:1", "X:0")), **arguments)


def test_siblings_may_not_stand_beyond_what_contains_them():
    """Would catch an order in which the wider kinship hides the narrower one."""
    with pytest.raises(InputError, match="nearer level"):
        Hierarchy(chain(("X:1", "X:0")), levels=("parent_child", "cousin", "sibling"))
    assert Hierarchy(chain(("X:1", "X:0")), levels=("parent_child", "uncle_nephew")).max_distance == 3


def test_a_hierarchy_pickles_without_its_device_copies():
    terminology = graph(4)
    hierarchy = Hierarchy(terminology)
    labels = torch.arange(terminology.n_texts)
    before = hierarchy.distance(labels, labels)
    assert torch.equal(pickle.loads(pickle.dumps(hierarchy)).distance(labels, labels), before)
