"""Pairs drawn from a hierarchy, against the list of all pairs."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from st_biomed import Hierarchy, Terminology
from st_biomed.errors import InputError
from st_biomed.evaluators import draw_pairs
from st_biomed.evaluators.tree import pairs as module
from st_biomed.records import Parent, SourceInfo, Term

EVERY = 10**6
FIVE_LEVELS = {"levels": ("sibling", "parent_child", ("grandparent_child", "uncle_nephew"))}


@pytest.fixture(scope="module")
def toy() -> Terminology:
    """Trees with concepts of two parents and strings of two concepts."""
    return Terminology.read("toy", trees=4, branching=3)


def all_pairs(hierarchy: Hierarchy, ids: np.ndarray) -> dict[int, set[tuple[int, int]]]:
    """Distance to every unordered pair at it, by looking at all of them."""
    labels = torch.from_numpy(ids)
    matrix = hierarchy.distance(labels, labels).numpy()
    found: dict[int, set[tuple[int, int]]] = {}
    for i in range(len(ids)):
        for j in range(i + 1, len(ids)):
            found.setdefault(int(matrix[i, j]), set()).add((int(ids[i]), int(ids[j])))
    return found


def by_distance(pairs: np.ndarray, distances: np.ndarray) -> dict[int, set[tuple[int, int]]]:
    return {int(d): set(map(tuple, pairs[distances == d].tolist())) for d in np.unique(distances)}


@pytest.mark.parametrize(
    ("definition", "options"),
    [
        ("sibling_parent", {}),
        ("sibling_parent", FIVE_LEVELS),
        ("lca_depth", {}),
        ("decimals", {}),
        ("hops", {"max_distance": 4}),
    ],
)
def test_asked_for_all_it_draws_exactly_the_pairs_at_each_distance(toy, definition, options):
    """Would catch a way of being related that is not listed, a far pair that is near by another way, and repeats."""
    hierarchy = Hierarchy(toy, definition, **options)
    pairs, distances = draw_pairs(hierarchy, pairs_per_class=EVERY)
    assert by_distance(pairs, distances) == {
        d: of for d, of in all_pairs(hierarchy, np.arange(toy.n_texts)).items() if d >= 0
    }
    assert (pairs[:, 0] < pairs[:, 1]).all() and len(np.unique(pairs, axis=0)) == len(pairs)
    assert (np.diff(distances) >= 0).all()


def test_held_out_texts_are_measured_in_the_whole_hierarchy(toy):
    """Siblings whose parent is not held out are siblings still: would catch distances from the cut-down hierarchy."""
    hierarchy = Hierarchy(toy)
    leaves = np.flatnonzero(hierarchy.children.counts == 0)
    _, texts = toy.concept_texts.take(leaves)
    held_out = np.unique(texts)
    pairs, distances = draw_pairs(hierarchy, held_out, pairs_per_class=EVERY, distances=[0, 1, 3])
    expected = all_pairs(hierarchy, held_out)
    assert by_distance(pairs, distances) == {d: expected[d] for d in (0, 1, 3)}
    mask = np.zeros(toy.n_texts, dtype=bool)
    mask[held_out] = True
    np.testing.assert_array_equal(draw_pairs(hierarchy, mask, distances=[0, 1, 3], pairs_per_class=EVERY)[0], pairs)


def test_more_candidates_than_can_be_listed_are_sampled_and_still_true(toy, monkeypatch):
    """Would catch a sampled pair that is not checked, drawn twice, or made of one text."""
    monkeypatch.setattr(module, "_LISTED", 60)
    hierarchy = Hierarchy(toy, **FIVE_LEVELS)
    pairs, distances = draw_pairs(hierarchy, pairs_per_class=15, seed=1)
    expected = all_pairs(hierarchy, np.arange(toy.n_texts))
    assert set(distances) == {0, 1, 2, 3, 4}
    for distance, drawn in by_distance(pairs, distances).items():
        assert drawn <= expected[distance]
        assert len(drawn) == (distances == distance).sum() > 0


@pytest.mark.long
def test_every_pair_of_a_distance_is_equally_likely(toy):
    """Would catch a draw that favors large families: each of n pairs is drawn k/n of the time."""
    hierarchy = Hierarchy(toy)
    n = len(all_pairs(hierarchy, np.arange(toy.n_texts))[0])
    drawn = [
        tuple(pair)
        for seed in range(300)
        for pair in draw_pairs(hierarchy, pairs_per_class=8, distances=[0], seed=seed)[0].tolist()
    ]
    _, times = np.unique(drawn, axis=0, return_counts=True)
    expected = 300 * 8 / n
    assert len(times) == n
    assert np.abs(times - expected).max() < 5 * np.sqrt(expected)


def test_the_draw_depends_on_the_seed_and_not_on_the_other_distances(toy):
    hierarchy = Hierarchy(toy)
    pairs, distances = draw_pairs(hierarchy, pairs_per_class=20, seed=1)
    alone, _ = draw_pairs(hierarchy, pairs_per_class=20, seed=1, distances=[2])
    other, _ = draw_pairs(hierarchy, pairs_per_class=20, seed=2, distances=[2])
    np.testing.assert_array_equal(pairs[distances == 2], alone)
    assert alone.tolist() != other.tolist()


@pytest.mark.long
def test_two_processes_draw_the_same_pairs(toy):
    """Would catch an order that comes from a set or a hash."""
    program = (
        "from st_biomed import Hierarchy, Terminology\n"
        "from st_biomed.evaluators import draw_pairs\n"
        "pairs, _ = draw_pairs(Hierarchy(Terminology.read('toy', trees=4, branching=3)), pairs_per_class=20)\n"
        "print(pairs.tolist())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "123"}
    printed = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == str(draw_pairs(Hierarchy(toy), pairs_per_class=20)[0].tolist())


def test_pairs_of_different_sources_and_of_one_string_are_never_drawn():
    """Would catch a masked pair (-1) counted as far, and an ambiguous string paired with itself."""
    terms = [
        Term(code, text, source=code[0])
        for code, text in (("A:0", "a"), ("A:1", "b"), ("A:2", "same"), ("B:0", "c"), ("B:1", "same"))
    ]
    parents = [Parent("A:1", "A:0", "A"), Parent("A:2", "A:0", "A"), Parent("B:1", "B:0", "B")]
    terminology = Terminology.from_records([*terms, *parents, SourceInfo("B", "b")], SourceInfo("A", "a"))
    hierarchy = Hierarchy(terminology)
    pairs, distances = draw_pairs(hierarchy, pairs_per_class=EVERY, distances=[1, 2])
    strings = terminology.strings
    assert [(strings[a], strings[b], int(d)) for (a, b), d in zip(pairs, distances)] == [
        ("b", "same", 1), ("a", "b", 2), ("a", "same", 2), ("c", "same", 2),
    ]  # fmt: skip
    with pytest.raises(InputError, match="no pair at distance 3"):
        draw_pairs(hierarchy, distances=[3])


def test_a_distance_without_pairs_is_named(toy):
    with pytest.raises(InputError, match=r"no pair at distance 0 of sibling_parent among .* distances= selects those"):
        draw_pairs(Hierarchy(toy), toy.preferred_texts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs_per_class": 0}, "pairs_per_class must be at least 1, found 0"),
        ({"seed": -1}, "seed must not be negative"),
        ({"distances": [0, 4]}, r"distances must be from 0 to 3 in this hierarchy, found \[0, 4\]"),
        ({"distances": []}, "distances must be from 0 to 3"),
        ({"texts": np.array([-1])}, "texts: expected ids from 0 to"),
        ({"texts": np.array([0.5])}, "texts: expected ids"),
        ({"texts": np.array([True])}, "texts: expected ids"),
        ({"texts": np.array([], dtype=int)}, "no pair at distance 0 of sibling_parent among 0 texts"),
    ],
)
def test_bad_arguments_are_refused(toy, options, message):
    with pytest.raises(InputError, match=message):
        draw_pairs(Hierarchy(toy), **options)
