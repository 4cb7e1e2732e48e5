"""The mean AUC of distances: draws of pairs and of sub-trees, against plain loops, enumeration and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from st_biomed.errors import InputError
from st_biomed.metrics import Units
from st_biomed.metrics.distance_resampler import DistanceAUCResampler, units_of_trees
from st_biomed.metrics.random_draws import MANY_CLUSTERS


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
    found = DistanceAUCResampler(rows).bootstrap(np.random.default_rng(3), 40)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("rows", [drawn_rows()[:, :2], drawn_rows(n_subtrees=MANY_CLUSTERS - 1)])
def test_pairs_are_drawn_where_sub_trees_are_few_or_not_known(rows):
    draws = np.random.default_rng(5).integers(len(rows), size=(20, len(rows)))
    expected = [weighted_mean_auc(rows, np.bincount(draw, minlength=len(rows))) for draw in draws]
    np.testing.assert_allclose(
        DistanceAUCResampler(rows).bootstrap(np.random.default_rng(5), 20), expected, atol=1e-12
    )


def test_sub_trees_are_drawn_from_as_many_on_as_relations_are():
    numbers = np.arange(MANY_CLUSTERS)
    assert units_of_trees(np.stack([numbers, numbers], axis=1)) == "sub-trees"
    assert units_of_trees(np.stack([numbers, numbers], axis=1)[1:]) == units_of_trees(None) == "pairs"


def test_numbers_of_sub_trees_may_have_gaps():
    """Held-out sub-trees have few of all numbers. Catches draws of the numbers in between, which have no pair."""
    rows = drawn_rows()
    gaps = rows.copy()
    gaps[:, 2:] = 7 * rows[:, 2:] + 3
    found, expected = (DistanceAUCResampler(part).bootstrap(np.random.default_rng(3), 20) for part in (gaps, rows))
    assert found.tolist() == expected.tolist()


def test_the_sub_trees_of_both_names_count():
    """Ten sub-trees of first names and ten others of second names are twenty. Catches those of one side alone."""
    numbers = np.arange(MANY_CLUSTERS).reshape(2, -1).T
    assert units_of_trees(numbers) == "sub-trees" and units_of_trees(numbers[1:]) == "pairs"


def test_the_test_of_sub_trees_is_that_of_the_drawn_differences(monkeypatch):
    """Would catch other sub-trees for each model, differences that are not centered, and a second draw of the same."""
    rows, other = drawn_rows(seed=1), drawn_rows(seed=1)
    other[:, 0] = np.round(np.random.default_rng(2).normal(size=len(other)), 1)
    first, second = DistanceAUCResampler(rows), DistanceAUCResampler(other)
    ours, theirs = (scores.bootstrap(np.random.default_rng(4), 30) for scores in (first, second))
    observed = first.value - second.value
    calls = []
    bootstrap = DistanceAUCResampler.bootstrap
    monkeypatch.setattr(DistanceAUCResampler, "bootstrap", lambda *draw: calls.append(draw) or bootstrap(*draw))
    test = Units("pair", rows, "mean_auc").compare(Units("pair", other, "mean_auc"), n_resamples=30, seed=4)
    as_far = np.abs(ours - theirs - observed) >= abs(observed)
    assert test.p_value == (1 + as_far.sum()) / 31 and 0 < as_far.sum() < 30
    assert (test.low, test.high) == pytest.approx(tuple(np.quantile(ours - theirs, [0.025, 0.975])))
    assert len(calls) == 2


@pytest.mark.long
def test_single_pairs_are_exchanged_as_in_a_plain_loop():
    """Would catch ranks taken after the exchange, and differences of the other sign."""
    rows, other = drawn_rows(seed=1)[:, :2], drawn_rows(seed=1)[:, :2]
    other[:, 0] = np.round(np.random.default_rng(2).normal(size=len(other)), 1)
    ours, theirs = rankdata(rows[:, 0]), rankdata(other[:, 0])
    expected = []
    for swapped in np.random.default_rng(4).integers(2, size=(30, len(rows)), dtype=np.int8).astype(bool):
        sides = np.where(swapped, theirs, ours), np.where(swapped, ours, theirs)
        first, second = (weighted_mean_auc(rows_of(side, rows[:, 1]), np.ones(len(rows))) for side in sides)
        expected.append(first - second)
    found = DistanceAUCResampler(rows).permute(DistanceAUCResampler(other), np.random.default_rng(4), 30)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(("near", "far"), [(1.0, 0.0), (0.0, 1.0), (0.3, -0.3)])
def test_equal_models_differ_as_often_as_the_level_says(near, far):
    """Scores share effects of the sub-trees, also between two sub-trees: would catch a test that counts pairs, or pairs
    between sub-trees, as independent."""
    rng, n_tests, n = np.random.default_rng(0), 100, 30
    inside = np.repeat(np.arange(n), 10)
    count = np.arange(n * 10)
    ends = np.stack([count % n, (count * 7 + count // n + 1) % n], axis=1)
    first, second = np.r_[inside, ends[:, 0]], np.r_[inside, ends[:, 1]]
    distances = np.repeat([0, 1], n * 10)
    found = {"pairs": 0, "sub-trees": 0}
    for _ in range(n_tests):
        models = []
        for effect in rng.normal(size=(2, n)):
            mean = np.where(distances == 0, near * effect[first], far * (effect[first] + effect[second]))
            models.append(rows_of(rng.normal(size=len(mean)) + mean, distances, first, second))
        for drawn, n_columns in (("pairs", 2), ("sub-trees", 4)):
            ours, theirs = (Units("pair", rows[:, :n_columns], "mean_auc") for rows in models)
            found[drawn] += ours.compare(theirs, n_resamples=99).p_value < 0.05
    assert found["sub-trees"] / n_tests < 0.12 < 0.25 < found["pairs"] / n_tests, found


def test_a_draw_without_a_distance_leaves_the_others():
    rows = rows_of(np.array([3.0, 2, 1]), np.array([0, 1, 2]))
    drawn = DistanceAUCResampler(rows).bootstrap(np.random.default_rng(0), 200)
    assert set(drawn) == {0.5, 1.0}  # no two distances, or those that were drawn


def test_other_columns_are_rejected():
    with pytest.raises(InputError, match=r"score, distance and the two sub-trees, found shape \(4, 3\)"):
        Units("pair", np.zeros((4, 3)), "mean_auc")
