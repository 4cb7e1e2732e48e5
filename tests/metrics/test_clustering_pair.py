"""Clustering pairs against loops over all pairs in whole numbers, against scikit-learn, and by hand."""

from __future__ import annotations

import tracemalloc
from itertools import combinations
from math import floor, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import auc, average_precision_score, precision_recall_curve

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.metrics import (
    PUBLISHED_THETAS,
    AllPairLevels,
    GoldPairs,
    ListedPairLevels,
    Units,
    clustering_pair_metrics,
    concept_counts,
    pair_levels,
)
from st_biomed.metrics.pair_levels import STEPS, TOP, ZERO, PairLevels, floor_of

Sets = list[set[int]]


def csr(concepts: Sets) -> CSR:
    rows = np.repeat(np.arange(len(concepts)), [len(of_term) for of_term in concepts])
    return CSR.from_pairs(
        rows, np.array([c for of_term in concepts for c in sorted(of_term)], dtype=int), len(concepts)
    )


def similarities(vectors: np.ndarray) -> dict[tuple[int, int], int]:
    """Level of every pair: Python's whole numbers, one pair at a time."""
    rows = []
    for vector in np.asarray(vectors, dtype=np.float64):
        length = sqrt(sum(float(x) ** 2 for x in vector)) or 1.0
        rows.append([round(float(x) / length * 2**24) for x in vector])
    levels = {}
    for i, j in combinations(range(len(rows)), 2):
        product = sum(a * b for a, b in zip(rows[i], rows[j]))  # in steps of 2^-48
        levels[i, j] = ZERO + min(max(floor((2 * product + 2**28) / 2**29), -STEPS), STEPS)
    return levels


def best_by_loop(levels: dict[tuple[int, int], int], gold: set[tuple[int, int]], n_gold: int) -> tuple[float, int]:
    """The best F1 over every threshold there could be, and the fewest pairs that reach it."""
    best = 0.0, 0
    for cut in sorted(set(levels.values()), reverse=True):
        predicted = {pair for pair, level in levels.items() if level >= cut}
        f1 = 2 * len(predicted & gold) / (len(predicted) + n_gold)
        if f1 > best[0]:
            best = f1, len(predicted)
    return best


def areas_by_sklearn(levels: dict[tuple[int, int], int], gold: set[tuple[int, int]]) -> tuple[float, float]:
    label = [pair in gold for pair in levels]
    score = list(levels.values())
    precision, recall, _ = precision_recall_curve(label, score)
    return float(auc(recall, precision)), float(average_precision_score(label, score))


def small_chunks(patch: pytest.MonkeyPatch, rows: int, columns: int, kept: int) -> None:
    for name, value in {"_ROWS": rows, "_COLUMNS": columns, "_PAIRS": 3, "_KEPT_LEAST": 0, "_KEPT_MOST": kept}.items():
        patch.setattr(pair_levels, name, value)


# Vectors on a coarse grid: repeated, opposite and zero vectors, and ties between gold and other pairs, are the rule.
coarse = st.lists(st.tuples(*[st.integers(-1, 2)] * 3), min_size=2, max_size=12)
some_concepts = st.sets(st.integers(0, 4), min_size=1, max_size=3)


@pytest.mark.long
@settings(max_examples=25)
@given(st.data(), coarse, st.integers(2, 7), st.integers(2, 7), st.integers(0, 9))
def test_all_figures_are_those_of_loops_over_all_pairs_whatever_the_chunks(data, vectors, rows, columns, kept):
    """Would catch a pair counted twice or with itself, ties split, an optimum missed, and kept pairs that got lost."""
    concepts = [data.draw(some_concepts) for _ in vectors]
    matrix = np.array(vectors, dtype=np.float32)
    levels = similarities(matrix)
    gold = {(i, j) for i, j in levels if concepts[i] & concepts[j]}
    of_terms = csr(concepts)
    pairs = GoldPairs.of(of_terms)
    assert list(zip(pairs.left, pairs.right)) == sorted(gold)
    if not gold:
        return
    with pytest.MonkeyPatch.context() as patch:
        small_chunks(patch, rows, columns, kept)
        found = AllPairLevels(matrix, pairs)
        np.testing.assert_array_equal(found.counts, np.bincount(list(levels.values()), minlength=TOP + 1))
        assert found.gold.tolist() == [levels[pair] for pair in sorted(gold)]
        metrics = clustering_pair_metrics(found)
        for cut in {0, *levels.values()}:
            degrees = [sum(level > cut and i in pair for pair, level in levels.items()) for i in range(len(vectors))]
            assert found.degrees(cut).tolist() == degrees
        counts = concept_counts(found, pairs, of_terms, metrics["theta"])
    assert (metrics["f1"], metrics["n_predicted"]) == best_by_loop(levels, gold, len(gold))
    assert (metrics["pr_auc"], metrics["average_precision"]) == pytest.approx(
        areas_by_sklearn(levels, gold), abs=1e-12
    )
    predicted = {pair for pair, level in levels.items() if (level - ZERO) / STEPS > metrics["theta"]}
    assert metrics["precision"] == len(predicted & gold) / len(predicted)
    assert metrics["recall"] == len(predicted & gold) / len(gold)
    assert (metrics["n_terms"], metrics["n_gold_pairs"], metrics["recall_ceiling"]) == (len(vectors), len(gold), 1)
    np.testing.assert_allclose(counts, shares_by_loop(predicted, gold, concepts, len(counts)), atol=1e-12)
    assert Units("concept", counts, "f1").value == pytest.approx(metrics["f1"])


def shares_by_loop(predicted: set, gold: set, concepts: Sets, n_concepts: int) -> np.ndarray:
    """True positives, predicted and gold pairs of each concept, pair by pair."""
    rows = np.zeros((n_concepts, 3))
    for i, j in gold:
        for c in (shared := concepts[i] & concepts[j]):
            rows[c] += np.array([(i, j) in predicted, (i, j) in predicted, 1]) / len(shared)
    for pair in predicted - gold:
        for end in pair:
            for c in concepts[end]:
                rows[c, 1] += 0.5 / len(concepts[end])
    np.testing.assert_allclose(rows.sum(0), [len(predicted & gold), len(predicted), len(gold)])
    return rows


@pytest.mark.long
@settings(max_examples=25)
@given(st.data(), coarse, st.integers(1, 3))
def test_listed_pairs_count_once_if_either_lists_the_other(data, vectors, k):
    """Would catch one-sided lists left out, both sides counted, a term beside itself, and recall over listed gold alone."""
    n = len(vectors)
    concepts = [data.draw(some_concepts) for _ in vectors]
    neighbors = np.array([data.draw(st.lists(st.integers(-1, n - 1), min_size=k, max_size=k)) for _ in vectors])
    every = similarities(np.array(vectors))
    levels = {(i, j): level for (i, j), level in every.items() if j in neighbors[i] or i in neighbors[j]}
    gold = {(i, j) for i, j in every if concepts[i] & concepts[j]}
    if not gold:
        return
    of_terms = csr(concepts)
    pairs = GoldPairs.of(of_terms)
    found = ListedPairLevels(np.array(vectors), pairs, neighbors)
    metrics = clustering_pair_metrics(found)
    assert found.gold.tolist() == [levels.get(pair, 0) for pair in sorted(gold)]
    assert found.counts.sum() == len(levels)
    assert (metrics["f1"], metrics["n_predicted"]) == best_by_loop(levels, gold, len(gold))
    assert metrics["recall_ceiling"] == len(gold & set(levels)) / len(gold)
    if gold & set(levels):
        ap = areas_by_sklearn(levels, gold)[1] * metrics["recall_ceiling"]
        assert metrics["average_precision"] == pytest.approx(ap, abs=1e-12)
    counts = concept_counts(found, pairs, of_terms, metrics["theta"])
    predicted = {pair for pair, level in levels.items() if level > floor_of(metrics["theta"])}
    np.testing.assert_allclose(counts, shares_by_loop(predicted, gold, concepts, len(counts)), atol=1e-12)


@pytest.mark.long
def test_a_similarity_is_the_same_alone_and_in_any_chunk_and_is_the_cosine():
    """A float32 product would give equal pairs other last bits in other chunks; would catch counts made of that noise."""
    rng = np.random.default_rng(0)
    few = rng.normal(size=(40, 77)).astype(np.float32)
    vectors = few[rng.integers(40, size=160)] * rng.uniform(0.1, 9, size=(160, 1)).astype(np.float32)
    pairs = GoldPairs.of(csr([{0}] * 160))  # every pair is gold, so that `gold` holds every pair on its own
    unit = vectors.astype(np.float64) / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    cosines = (unit @ unit.T)[pairs.left, pairs.right]
    for rows, columns in ((1024, 4096), (7, 64), (64, 7), (160, 1)):
        with pytest.MonkeyPatch.context() as patch:
            small_chunks(patch, rows, columns, 1000)
            found = AllPairLevels(vectors, pairs)
        np.testing.assert_array_equal(found.counts, np.bincount(found.gold, minlength=TOP + 1))
        np.testing.assert_allclose((found.gold - ZERO) / STEPS, cosines, atol=0.5 / STEPS + 1e-7)
    assert (found.gold == TOP).sum() == (cosines > 1 - 1e-6).sum() > 100


# ---------------------------------------------------------------------- by hand


def at_angles(*degrees: float) -> np.ndarray:
    return np.stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], axis=1)


def measure(vectors: np.ndarray, concepts: Sets, thetas=None) -> tuple[dict[str, float], PairLevels]:
    levels = AllPairLevels(vectors, GoldPairs.of(csr(concepts)))
    return clustering_pair_metrics(levels, thetas), levels


def test_five_terms_by_hand():
    """Terms at 0, 10, 40, 60 and 90 degrees; concepts A A B B B. Pairs by angle, gold ones named: 10 A, 20 B, 30, 30 B,
    40, 50 B, 50, 60, 80, 90. The best are the four up to 30 degrees, three of which are gold."""
    metrics, _ = measure(at_angles(0, 10, 40, 60, 90), [{0}, {0}, {1}, {1}, {1}])
    assert (metrics["n_predicted"], metrics["n_gold_pairs"]) == (4, 4)
    assert (metrics["f1"], metrics["precision"], metrics["recall"]) == (0.75, 0.75, 0.75)
    assert metrics["theta"] == pytest.approx(np.cos(np.radians(30)), abs=2 / STEPS)
    assert metrics["theta"] < np.cos(np.radians(30)) - 0.4 / STEPS
    assert metrics["average_precision"] == pytest.approx((1 + 1 + 3 / 4 + 4 / 7) / 4)
    assert metrics["pr_auc"] == pytest.approx((1 + 1 + (1 + 3 / 4) / 2 + (3 / 5 + 4 / 7) / 2) / 4)


def test_of_equally_good_thresholds_the_highest_stands():
    """The pair at 3 degrees alone, or both gold pairs among the four up to 10: F1 2/3. Would catch the lower threshold."""
    concepts: Sets = [{0}, {0}, {1}, {1}, {2}]
    metrics, levels = measure(at_angles(0, 3, 90, 100, 95), concepts)
    assert (metrics["f1"], metrics["n_predicted"]) == (2 / 3, 1)
    assert clustering_pair_metrics(levels, [0.98])["f1"] == clustering_pair_metrics(levels, [0.998])["f1"] == 2 / 3
    assert clustering_pair_metrics(levels, [0.98, 0.998, 0.7])["theta"] == 0.998


@pytest.mark.parametrize("vectors", [at_angles(0, 180, 90), at_angles(0, 0, 0), at_angles(0, 120, 250), np.eye(3)])
def test_the_threshold_found_gives_the_same_figures_when_it_is_fixed(vectors):
    """Opposite, equal and other vectors; would catch a threshold that the pair it stands for does not exceed."""
    metrics, levels = measure(vectors, [{0}, {0}, {1}])
    assert clustering_pair_metrics(levels, [metrics["theta"]]) == metrics
    assert metrics["recall"] == 1


def test_a_collapsed_model_predicts_all_pairs_or_none():
    """Rounded to the grid, 768 equal numbers are a vector longer than 1; would catch a level above the highest."""
    metrics, levels = measure(np.ones((4, 768)), [{0}, {0}, {1}, {2}])
    assert (metrics["f1"], metrics["n_predicted"], metrics["theta"]) == (2 / 7, 6, 1 - 1 / STEPS)
    assert levels.degrees(floor_of(1.0)).tolist() == [0, 0, 0, 0]
    assert clustering_pair_metrics(levels, [1.0])["precision"] == 0


def test_the_grid_is_searched_at_its_thresholds_alone_and_a_pair_has_to_exceed_one():
    """Would catch >= for >, a threshold rounded to the grid, an ascending grid in which a tie goes to the lowest, the optimum
    reported for the grid, and a ceiling that depends on the threshold."""
    assert PUBLISHED_THETAS == (0.98, 0.96, 0.94, 0.92, 0.9, 0.88, 0.86, 0.84, 0.82, 0.8, 0.78, 0.76, 0.74, 0.72, 0.7,
                                0.68, 0.66, 0.64, 0.62, 0.6)  # fmt: skip
    vectors = np.array([[1, 0], [0.75, 0.4375**0.5], [-0.25, -(0.9375**0.5)]])  # cosine of the first two: 3 / 4
    for thetas, f1, theta in (
        (PUBLISHED_THETAS, 1, 0.74),
        ([0.5, 0.75], 1, 0.5),
        ([0.75], 0, 0.75),
        ([0.75 - 1 / STEPS], 1, 0.75 - 1 / STEPS),
        ([0.75 - 0.3 / STEPS], 1, 0.75 - 0.3 / STEPS),
        ([0.9, 0.8], 0, 0.9),
    ):
        metrics, _ = measure(vectors, [{0}, {0}, {1}], thetas)
        assert (metrics["f1"], metrics["theta"], metrics["recall_ceiling"]) == (f1, theta, 1)


def test_no_listed_gold_pair_is_an_f1_of_zero_at_the_highest_threshold():
    gold = GoldPairs.of(csr([{0}, {0}, {1}]))
    metrics = clustering_pair_metrics(ListedPairLevels(np.eye(3), gold, np.array([[2], [2], [0]])))
    assert (metrics["f1"], metrics["theta"], metrics["precision"], metrics["recall_ceiling"]) == (0, 1, 0, 0)
    assert metrics["pr_auc"] == metrics["average_precision"] == 0


def test_a_pair_of_two_shared_concepts_is_one_pair_and_half_of_each():
    """Would catch it counted twice, in the gold pairs or in the units."""
    concepts = csr([{0, 1}, {0, 1, 2}, {2, 3}])
    gold = GoldPairs.of(concepts)
    assert list(zip(gold.left, gold.right)) == [(0, 1), (1, 2)]
    levels = AllPairLevels(at_angles(0, 10, 20), gold)
    rows = concept_counts(levels, gold, concepts, theta=0.5)  # all three pairs, 0-2 a false one
    assert rows[:, 0].tolist() == rows[:, 2].tolist() == [0.5, 0.5, 1, 0]
    assert (rows[:, 1] - rows[:, 0]).tolist() == [0.25, 0.25, 0.25, 0.25]


def test_memory_is_that_of_a_chunk_and_the_grid():
    """6,000 terms: 144 MB of float32 cosines; would catch a matrix of all pairs or a list of them."""
    gold = GoldPairs.of(csr([{i // 2} for i in range(6_000)]))
    vectors = np.random.default_rng(0).normal(size=(6_000, 4)).astype(np.float32)
    tracemalloc.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_levels, "_ROWS", 512)
        patch.setattr(pair_levels, "_COLUMNS", 1024)
        found = AllPairLevels(vectors, gold)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.counts.sum() == 6_000 * 5_999 // 2
    assert peak < 80e6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: AllPairLevels(np.array([[1.0, np.nan], [0, 1]]), GoldPairs.of(csr([{0}, {0}]))), "NaN or infinity"),
        (lambda: measure(np.eye(2), [{0}, {1}]), "no two terms share a concept"),
        (lambda: measure(np.eye(1), [{0}]), "no two terms share a concept"),
        (lambda: measure(np.eye(2), [{0}, {0}], [1.5]), "theta must lie between -1 and 1, found 1.5"),
        (lambda: measure(np.eye(2), [{0}, {0}], [float("nan")]), "found nan"),
        (lambda: measure(np.eye(2), [{0}, {0}], []), "at least one threshold"),
        (
            lambda: ListedPairLevels(np.eye(2), GoldPairs.of(csr([{0}, {0}])), np.array([[2], [0]])),
            "those of 2 terms, below 2, found 2 lists up to 2",
        ),
        (lambda: ListedPairLevels(np.eye(2), GoldPairs.of(csr([{0}, {0}])), np.array([[1]])), "found 1 lists"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(call, message):
    with pytest.raises(InputError, match=message) as error:
        call()
    assert "\n" not in str(error.value)
