"""The metrics against scikit-learn and scipy, with ties, and against the identity that links them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_auc_score
from sklearn.metrics import roc_curve as sklearn_roc_curve

from st_biomed import metrics
from st_biomed.errors import InputError
from st_biomed.metrics import (
    average_precision,
    cosine_of_pairs,
    discrimination,
    mean_auc,
    pr_auc,
    roc_auc,
    spearman,
    unit_rows,
)

# A coarse grid of scores, so that ties within and between the classes are the rule.
scores = st.lists(st.integers(-3, 3).map(lambda tenths: tenths / 10), min_size=1, max_size=30)


def labeled(positive: list[float], negative: list[float]) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat([1, 0], [len(positive), len(negative)]), np.array([*positive, *negative])


@settings(deadline=None, max_examples=60)
@given(scores, scores)
def test_areas_equal_those_of_scikit_learn_with_any_ties(positive, negative):
    """Would catch ties counted as wins, a PR curve without its first point, and AP that splits ties."""
    label, score = labeled(positive, negative)
    precision, recall, _ = precision_recall_curve(label, score)
    assert roc_auc(positive, negative) == pytest.approx(roc_auc_score(label, score), abs=1e-12)
    assert pr_auc(positive, negative) == pytest.approx(auc(recall, precision), abs=1e-12)
    assert average_precision(positive, negative) == pytest.approx(average_precision_score(label, score), abs=1e-12)


@settings(deadline=None, max_examples=30)
@given(scores, scores)
def test_curves_are_those_of_scikit_learn(positive, negative):
    """Would catch a point missing at an end, and rates that are exchanged."""
    label, score = labeled(positive, negative)
    false, true, _ = sklearn_roc_curve(label, score, drop_intermediate=False)
    np.testing.assert_allclose(metrics.roc_curve(positive, negative), (false, true), atol=1e-12)
    precision, recall, _ = precision_recall_curve(label, score)
    np.testing.assert_allclose(
        metrics.precision_recall_curve(positive, negative), (recall[::-1], precision[::-1]), atol=1e-12
    )


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=40))
def test_spearman_equals_scipy_with_average_ties(pairs):
    a, b = np.array(pairs, dtype=float).T
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        assert spearman(a, b) == 0.0
    else:
        assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)


def test_spearman_with_a_binary_label_follows_from_the_auc():
    """rho = (2 AUC - 1) sqrt(3 P N / (n^2 - 1)) where scores have no ties; would catch either one drifting."""
    rng = np.random.default_rng(0)
    positive, negative = rng.normal(0.4, 1, 30), rng.normal(0, 1, 70)
    label, score = labeled(positive, negative)
    identity = (2 * roc_auc(positive, negative) - 1) * np.sqrt(3 * 30 * 70 / (100**2 - 1))
    assert spearman(label, score) == pytest.approx(identity, abs=1e-12)


def test_auc_counts_of_a_large_set_stay_exact():
    """P N beyond 2^32 pairs; would catch 32-bit counts or a quadratic table."""
    n = 200_000
    assert roc_auc(np.arange(n) + n, np.arange(n)) == 1.0
    assert roc_auc(np.arange(n), np.arange(n)) == 0.5


@pytest.mark.parametrize("metric", [roc_auc, pr_auc, average_precision, spearman])
def test_an_empty_class_and_nan_are_refused_in_one_line(metric):
    with pytest.raises(InputError, match="found none"):
        metric([], [0.5])
    with pytest.raises(InputError, match=r"1 of 2 numbers are NaN"):
        metric([0.5, float("nan")], [0.5, 0.1])
    with pytest.raises(InputError, match=r"shape \(1, 2\)"):
        metric([[0.5, 0.1]], [0.5])


def test_spearman_refuses_sides_of_different_length():
    with pytest.raises(InputError, match="found 2 and 3 numbers"):
        spearman([1, 2], [1, 2, 3])


def test_cosines_are_those_of_the_listed_pairs_across_chunks(monkeypatch):
    """Would catch a chunk written to the wrong place, and a zero vector that turns into NaN."""
    monkeypatch.setattr("st_biomed.metrics.cosine._CHUNK", 3)
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(6, 4)).astype(np.float32)
    matrix[5] = 0
    left, right = rng.integers(6, size=11), rng.integers(6, size=11)
    unit = unit_rows(matrix)
    np.testing.assert_allclose(cosine_of_pairs(matrix, left, right), (unit @ unit.T)[left, right], atol=1e-7)


def test_nan_is_no_vector_without_a_direction():
    """Catches a diverged model whose pairs have a similarity of 0."""
    found = unit_rows(np.array([[np.nan, 1], [0, 0], [3, 4]]))
    assert np.isnan(found[0]).all() and found[1:].tolist() == [[0, 0], [0.6, 0.8]]


def test_equal_pairs_tie_exactly():
    """A collapsed model scores chance, not rounding noise: would catch cosines left in full precision."""
    vector = np.random.default_rng(2).normal(size=(1, 37))
    collapsed = vector * np.linspace(0.1, 9, 50)[:, None]
    cosines = cosine_of_pairs(collapsed, np.arange(49), np.arange(1, 50))
    assert len(np.unique(cosines)) == 1


def test_cosines_of_vectors_in_half_precision_have_full_precision():
    """Catches products in the precision of the vectors, whose cosines are off by a thousandth: many pairs would tie."""
    vectors = np.random.default_rng(5).normal(size=(2, 64)).astype(np.float16)
    a, b = vectors.astype(float).tolist()
    product, squares = sum(x * y for x, y in zip(a, b)), [sum(x * x for x in row) for row in (a, b)]
    found = cosine_of_pairs(vectors, np.array([0]), np.array([1]))
    assert found[0] == pytest.approx(product / (squares[0] * squares[1]) ** 0.5, abs=1e-7)


@pytest.mark.parametrize(("n_distances", "n_aucs"), [(2, 1), (4, 6), (5, 10)])
def test_every_two_distances_are_compared(n_distances, n_aucs):
    rng = np.random.default_rng(3)
    distances = np.repeat(np.arange(n_distances), 9)
    cosines = rng.normal(size=len(distances)) - 0.3 * distances
    metrics = discrimination(cosines, distances)
    aucs = [value for key, value in metrics.items() if key.startswith("auc_")]
    assert len(aucs) == n_aucs
    assert metrics["mean_auc"] == pytest.approx(np.mean(aucs))
    assert metrics["spearman_global"] == pytest.approx(spearmanr(-distances, cosines).statistic)


def test_the_nearer_distance_is_the_positive_class():
    """Would catch labels the wrong way round, which turn every area of a good model into that of a bad one."""
    rng = np.random.default_rng(4)
    distances = np.repeat([0, 2], [5, 20]).astype(np.uint8)
    cosines = rng.normal(size=25) + (distances == 0)
    label = distances == 0
    precision, recall, _ = precision_recall_curve(label, cosines)
    metrics = discrimination(cosines, distances)
    assert metrics["auc_0v2"] == pytest.approx(roc_auc_score(label, cosines))
    assert metrics["pr_auc_0v2"] == pytest.approx(auc(recall, precision))
    assert metrics["ap_0v2"] == pytest.approx(average_precision_score(label, cosines))
    assert metrics["spearman_0v2"] == pytest.approx(spearmanr(label, cosines).statistic)
    assert metrics["spearman_global"] == pytest.approx(metrics["spearman_0v2"])


def test_a_single_distance_has_nothing_to_tell_apart():
    """Catches a mean of no area that is 0, the figure of a model that is always wrong."""
    assert discrimination(np.array([0.1, 0.2]), np.array([1, 1])) == {}
    assert mean_auc(np.array([0.1, 0.2]), np.array([1, 1])) == 0.5
