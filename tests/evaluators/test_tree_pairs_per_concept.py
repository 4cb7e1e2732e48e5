"""A limited number of pairs for each concept, against loops over all pairs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from st_biomed import Hierarchy, Terminology
from st_biomed.errors import InputError
from st_biomed.evaluators import draw_pairs
from st_biomed.evaluators.tree import pairs as module
from st_biomed.evaluators.tree.settings import TreeSettings
from st_biomed.hierarchy.level_functions import by_depth
from st_biomed.records import Parent, SourceInfo, Term

EVERY = 10**6
Pair = tuple[int, int]


@pytest.fixture(scope="module")
def toy() -> Terminology:
    """Trees with concepts of two parents and strings of two concepts."""
    return Terminology.read("toy", trees=4, branching=3)


def pairs_of_concepts(hierarchy: Hierarchy, level: int) -> dict[int, set[Pair]]:
    """Concept to every pair at a distance that has one of its names, by looking at all pairs."""
    terminology = hierarchy.terminology
    labels = torch.arange(terminology.n_texts)
    matrix = hierarchy.distance(labels, labels).numpy()
    found: dict[int, set[Pair]] = {}
    for a in range(terminology.n_texts):
        for b in range(a + 1, terminology.n_texts):
            if matrix[a, b] == level:
                for concept in {
                    *terminology.text_concepts.row(a).tolist(),
                    *terminology.text_concepts.row(b).tolist(),
                }:
                    found.setdefault(concept, set()).add((a, b))
    return found


def drawn(hierarchy: Hierarchy, level: int, n: int, **options: int) -> set[Pair]:
    options = {"pairs_per_class": EVERY, **options}
    pairs, _ = draw_pairs(hierarchy, pairs_per_concept=n, distances=[level], **options)
    found = set(map(tuple, pairs.tolist()))
    assert len(found) == len(pairs) and (pairs[:, 0] < pairs[:, 1]).all()
    return found


@pytest.mark.parametrize("definition", ["sibling_parent", "decimals"])
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_each_concept_has_its_number_of_pairs_or_all_that_it_has(toy: Terminology, definition: str, level: int):
    """Would catch a concept without its pairs, a pair that is not at the distance, and more pairs than anchors give."""
    hierarchy = Hierarchy(toy, definition)
    available = pairs_of_concepts(hierarchy, level)
    pairs = drawn(hierarchy, level, 3)
    assert pairs <= set().union(*available.values())
    assert len(pairs) <= sum(min(3, len(own)) for own in available.values())
    for own in available.values():
        assert len(pairs & own) >= min(3, len(own))


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_without_a_limit_that_matters_all_pairs_are_drawn(toy: Terminology, level: int):
    hierarchy = Hierarchy(toy)
    assert drawn(hierarchy, level, EVERY) == set().union(*pairs_of_concepts(hierarchy, level).values())


def test_levels_of_a_function_are_drawn(toy: Terminology):
    """Would catch candidates of another level that point into the wrong partners."""
    hierarchy = Hierarchy(toy, max_distance=5, level_function=by_depth)
    available = pairs_of_concepts(hierarchy, 2)
    pairs = drawn(hierarchy, 2, 2)
    assert pairs <= set().union(*available.values())
    assert all(len(pairs & own) >= min(2, len(own)) for own in available.values())


def test_a_large_tree_has_no_more_pairs_than_its_concepts_allow():
    """Golden: one concept with 30 names and nine with three. Drawn uniformly, it has nearly all synonyms."""
    records = [Term(f"X:{c}", f"name {c} {k}") for c in range(10) for k in range(30 if c == 0 else 3)]
    records += [Parent(f"X:{c}", "X:0") for c in range(1, 10)]
    hierarchy = Hierarchy(Terminology.from_records(records, SourceInfo("X", "X")))

    def share(**options: int) -> float:
        pairs, _ = draw_pairs(hierarchy, distances=[0], pairs_per_class=27, **options)
        texts = hierarchy.terminology.strings
        return float(np.mean([texts[a].startswith("name 0") for a, _ in pairs]))

    assert share() > 0.8
    assert share(pairs_per_concept=3) == pytest.approx(3 / 30, abs=0.04)


def of_three_names(n_concepts: int) -> Hierarchy:
    records = [Term(f"X:{c:02}", f"name {c:02} {k}") for c in range(n_concepts) for k in range(3)]
    records += [Parent(f"X:{c:02}", "X:00") for c in range(1, n_concepts)]
    return Hierarchy(Terminology.from_records(records, SourceInfo("X", "X")))


def test_each_concept_draws_on_its_own():
    """Of three pairs a concept has one. Catches the first one of each, and one choice that is made for all of them."""
    pairs, _ = draw_pairs(of_three_names(30), distances=[0], pairs_per_concept=1)
    places = [(int(a) % 3, int(b) % 3) for a, b in pairs]
    assert len(places) == 30 and set(places) == {(0, 1), (0, 2), (1, 2)}
    assert max(places.count(place) for place in places) < 20


def test_of_more_pairs_than_a_distance_takes_any_is_as_likely():
    """60 draws of 9 of 30 pairs: each about 18 times. Catches the first ones by their texts."""
    hierarchy = of_three_names(10)
    times: dict[Pair, int] = {}
    for seed in range(60):
        for pair in drawn(hierarchy, 0, 3, pairs_per_class=9, seed=seed):
            times[pair] = times.get(pair, 0) + 1
    assert len(times) == 30 and 5 <= min(times.values()) <= max(times.values()) <= 33


def test_only_the_given_concepts_are_anchors(toy: Terminology):
    """Would catch a concept that is not held out and has pairs of its own, since one of its names is also held out."""
    hierarchy = Hierarchy(toy)
    available = pairs_of_concepts(hierarchy, 1)
    anchors = list(available)[:4]
    pairs, _ = draw_pairs(
        hierarchy, pairs_per_class=EVERY, pairs_per_concept=2, distances=[1], anchors=np.array(anchors)
    )
    found = set(map(tuple, pairs.tolist()))
    assert 0 < len(found) <= 2 * len(anchors) and found <= set().union(*(available[concept] for concept in anchors))


def test_a_name_of_two_concepts_is_a_name_of_both_anchors():
    """Catches far pairs of an ambiguous name that its first concept alone has: the other one would have none."""
    names = {"X:0": "root", "X:1": "same", "X:2": "same", "X:3": "far away"}
    records = [*(Term(code, name) for code, name in names.items()), Parent("X:1", "X:0"), Parent("X:2", "X:0")]
    hierarchy = Hierarchy(Terminology.from_records(records, SourceInfo("X", "X")))
    strings = hierarchy.terminology.strings
    for anchor in (1, 2):
        pairs, _ = draw_pairs(hierarchy, pairs_per_concept=5, distances=[3], anchors=np.array([anchor]))
        assert [{strings[a], strings[b]} for a, b in pairs] == [{"same", "far away"}]


def test_sampled_candidates_are_checked_and_the_number_at_a_distance_still_counts(
    toy: Terminology, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "_LISTED_OF_CONCEPT", 40)
    hierarchy = Hierarchy(toy)
    far = drawn(hierarchy, 3, 2)
    assert far <= set().union(*pairs_of_concepts(hierarchy, 3).values())
    assert len(drawn(hierarchy, 3, 2, pairs_per_class=5)) == 5
    assert drawn(hierarchy, 3, 2) == far != drawn(hierarchy, 3, 2, seed=1)


def test_zero_is_the_draw_without_a_limit(toy: Terminology):
    hierarchy = Hierarchy(toy)
    plain = draw_pairs(hierarchy, pairs_per_class=30, seed=4)
    for found, expected in zip(draw_pairs(hierarchy, pairs_per_class=30, pairs_per_concept=0, seed=4), plain):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(InputError, match="pairs_per_concept must not be negative, found -1"):
        draw_pairs(hierarchy, pairs_per_concept=-1)


def test_a_benchmark_passes_the_number_on(caplog: pytest.LogCaptureFixture):
    """Would catch a setting that nobody reads, and a warning about fewer pairs than the number at a distance."""
    settings = TreeSettings("zorb", sources=["toy"], depth=1, dev=0.25, test=0.25, pairs_per_class=100_000)
    for whole in ({}, {"whole": True, "dev": 1 / 6, "test": 1 / 6}):
        (every,) = replace(settings, **whole).evaluators()
        caplog.clear()
        (few,) = replace(settings, **whole, pairs_per_concept=1).evaluators()
        assert set(few.pairs) < set(every.pairs) and not caplog.messages
