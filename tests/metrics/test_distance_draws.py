"""The mean AUC of distances: draws of pairs and of sub-trees, against plain loops, enumeration and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from st_biomed.errors import InputError
from st_biomed.metrics import Units
from st_biomed.metrics.distance_draws import MANY_SUBTREES, DistanceScores, resampling


def rows_of(scores: np.ndarray, distances: np.ndarray, *subtrees: np.ndarray) -> np.ndarray:
    return np.stack([scores, distances, *subtrees], axis=1).astype(float)


def drawn_rows(n: int = 200, n_subtrees: int = 25, seed: int = 0) -> np.ndarray:
    """Pairs at three distances with tied scores; those at distance 2 lie between two sub-trees."""
    rng = np.random.default_rng(seed)
    distances = rng.integers(3, size=n)
    first = np.r_[np.arange(n_subtrees), rng.integers(n_subtrees, size=n - n_subtrees)]
    second = np.where(distances == 2, rng.integers(n_subtrees, size=n), first)
    return rows_of(np.round(rng.normal(size=n) - distances / 3, 1), distances, first, second)


def weighted_mean_auc(rows: np.ndarray, times: np.ndarray) -> float:
    """scikit-learn with sample weights."""
    areas = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        at = (rows[:, 1] == i) | (rows[:, 1] == j)
        areas.append(roc_auc_score(rows[at, 1] == i, rows[at, 0], sample_weight=times[at]))
    return float(np.mean(areas))


def test_a_drawn_sub_tree_counts_with_all_its_pairs():
    """Would catch pairs that are drawn one by one, and a pair of two sub-trees that counts for one of them alone."""
    rows = drawn_rows()
    expected = []
    for draw in np.random.default_rng(3).integers(25, size=(40, 25)):
        of = np.bincount(draw, minlength=25)
        first, second = rows[:, 2:].astype(int).T
        expected.append(weighted_mean_auc(rows, np.where(first == second, of[first], of[first] * of[second])))
    found = DistanceScores(rows).resampled(np.random.default_rng(3), 40)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("rows", [drawn_rows()[:, :2], drawn_rows(n_subtrees=MANY_SUBTREES - 1)])
def test_pairs_are_drawn_where_sub_trees_are_few_or_not_known(rows):
    draws = np.random.default_rng(5).integers(len(rows), size=(20, len(rows)))
    expected = [weighted_mean_auc(rows, np.bincount(draw, minlength=len(rows))) for draw in draws]
    np.testing.assert_allclose(DistanceScores(rows).resampled(np.random.default_rng(5), 20), expected, atol=1e-12)


def test_sub_trees_are_drawn_from_as_many_on_as_relations_are():
    numbers = np.arange(MANY_SUBTREES)
    assert resampling(np.stack([numbers, numbers], axis=1)) == "sub-trees"
    assert resampling(np.stack([numbers, numbers], axis=1)[1:]) == resampling(None) == "pairs"


def test_all_pairs_of_a_sub_tree_are_exchanged_together():
    """Would catch pairs exchanged one by one, ranks taken after the exchange, and differences of the other sign."""
    rows, other = drawn_rows(seed=1), drawn_rows(seed=1)
    other[:, 0] = np.round(np.random.default_rng(2).normal(size=len(other)), 1)
    rng = np.random.default_rng(4)
    coins = rng.integers(2, size=(30, 25), dtype=np.int8).astype(bool)
    ends = rng.integers(2, size=(30, len(rows)), dtype=np.int8).astype(bool)
    ours, theirs = (
        np.array([(scores < x).sum() + ((scores == x).sum() + 1) / 2 for x in scores])
        for scores in (rows[:, 0], other[:, 0])
    )
    expected = []
    for coin, end in zip(coins, ends):
        swapped = coin[np.where(end, rows[:, 2], rows[:, 3]).astype(int)]
        sides = np.where(swapped, theirs, ours), np.where(swapped, ours, theirs)
        first, second = (weighted_mean_auc(rows_of(side, rows[:, 1]), np.ones(len(rows))) for side in sides)
        expected.append(first - second)
    found = DistanceScores(rows).exchanged(DistanceScores(other), np.random.default_rng(4), 30)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_equal_models_differ_as_often_as_the_level_says():
    """Two models whose scores share an effect of the sub-tree: would catch p values that count pairs as independent."""
    rng, n_tests = np.random.default_rng(0), 200
    distances = np.tile([0, 0, 0, 1, 1, 1], 30)
    subtree = np.repeat(np.arange(30), 6)
    found = {"pairs": 0, "sub-trees": 0}
    for _ in range(n_tests):
        effects = rng.normal(size=(2, 30))  # of each model on how far apart the distances of a sub-tree are
        models = [
            rows_of(
                rng.normal(size=180) / 2 + np.where(distances == 0, effect[subtree], 0), distances, subtree, subtree
            )
            for effect in effects
        ]
        for drawn, n_columns in (("pairs", 2), ("sub-trees", 4)):
            first, second = (Units("pair", rows[:, :n_columns], "mean_auc") for rows in models)
            found[drawn] += first.compare(second, n_resamples=99).p_value < 0.05
    assert found["sub-trees"] / n_tests < 0.1 < 0.2 < found["pairs"] / n_tests


def test_a_draw_without_a_distance_leaves_the_others():
    rows = rows_of(np.array([3.0, 2, 1]), np.array([0, 1, 2]))
    drawn = DistanceScores(rows).resampled(np.random.default_rng(0), 200)
    assert set(drawn) == {0.5, 1.0}  # no two distances, or those that were drawn


def test_other_columns_are_rejected():
    with pytest.raises(InputError, match=r"score, distance and the two sub-trees, found shape \(4, 3\)"):
        Units("pair", np.zeros((4, 3)), "mean_auc")
