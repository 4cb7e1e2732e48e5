"""Concepts that parents of several sources connect, and texts that name some of each."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from st_biomed.hierarchy import Hierarchy
from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.terminology import Terminology
from tests.hierarchy.test_hierarchy import HIERARCHIES, Oracle

A, B = SourceInfo("A", "A"), SourceInfo("B", "B")


def text(terminology: Terminology, name: str) -> torch.Tensor:
    return torch.tensor([terminology.strings.index(name)])


def test_only_concepts_that_can_be_compared_make_two_texts_near() -> None:
    """Catches a sibling in another source that is at distance 1, since a second concept of its name is comparable."""
    records = [
        A,
        B,
        *(
            Term(f"X:{code}", name)
            for code, name in (("p", "p"), ("q", "q"), ("b", "b"), ("a", "both"), ("c", "both"))
        ),
        Parent("X:a", "X:p", "B"),
        Parent("X:b", "X:p", "A"),
        Parent("X:c", "X:q", "A"),
    ]
    terminology = Terminology.from_records(records, A)
    hierarchy = Hierarchy(terminology)
    of = {code: np.array([terminology.concept(f"X:{code}")]) for code in "abcp"}
    assert hierarchy.concept_distance(of["a"], of["b"]).tolist() == [-1]
    assert hierarchy.concept_distance(of["c"], of["b"]).tolist() == [3]
    assert hierarchy.distance(text(terminology, "both"), text(terminology, "b")).tolist() == [[3]]
    assert hierarchy.distance(text(terminology, "both"), text(terminology, "p")).tolist() == [[2]]


def mixed(seed: int) -> Terminology:
    """A graph in which every edge is of one of two sources, with ambiguous names."""
    rng = np.random.default_rng(seed)
    records: list[Term | Parent | SourceInfo] = [A, B]
    for c in range(int(rng.integers(6, 14))):
        for name in (f"own {c}", *(f"shared {k}" for k in rng.integers(0, 5, rng.integers(0, 3)))):
            records.append(Term(f"X:{c:02}", name, source="AB"[rng.integers(2)]))
        for parent in rng.permutation(c)[: rng.integers(0, 3)]:
            records.append(Parent(f"X:{c:02}", f"X:{parent:02}", "AB"[rng.integers(2)]))
    return Terminology.from_records(records, A)


@pytest.mark.parametrize("name", ["siblings and parents", "five levels", "six hops"])
def test_distances_are_the_smallest_among_comparable_concepts(name: str) -> None:
    """Catches keys that concepts share although none of their sources is the same."""
    for seed in range(25):
        terminology = mixed(seed)
        hierarchy = Hierarchy(terminology, **HIERARCHIES[name])
        labels = torch.arange(terminology.n_texts)
        assert np.array_equal(hierarchy.distance(labels, labels).numpy(), Oracle(terminology).texts(hierarchy))
