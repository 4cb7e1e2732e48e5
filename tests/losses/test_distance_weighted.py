"""Negatives by distance: both distributions by hand, in loops and by a statistical test of what is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from st_biomed.losses.distance_weighted import DISTRIBUTIONS, draw_negatives, inverse_distance, wu2017

COSINES = np.array([[0.9, 0.5, -0.5, 1.0]])


def probabilities(log_weights: np.ndarray) -> np.ndarray:
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def test_inverse_distance_by_hand():
    """1/.1, 1/.5, 1/1.5 and, for equal vectors, 1e9; catches similarities for distances."""
    np.testing.assert_allclose(np.exp(inverse_distance(COSINES, 7)), [[10, 2, 2 / 3, 1e9]], rtol=1e-9)


@pytest.mark.parametrize("width", [3, 5, 20])
def test_wu2017_by_hand(width):
    """q itself, in few dimensions; catches exponents that are one off, and D^2 for D."""
    weights = []
    for cosine in COSINES[0]:
        distance = max(math.sqrt(2 - 2 * cosine), 0.5)
        density = distance ** (width - 2) * (1 - distance**2 / 4) ** ((width - 3) / 2)
        weights.append(min(1 / density, 1 / (0.5 ** (width - 2) * (1 - 1 / 16) ** ((width - 3) / 2))))
    np.testing.assert_allclose(np.exp(wu2017(COSINES, width)), [weights], rtol=1e-9)


def test_wu2017_clips_where_it_is_told():
    """lambda bounds the weights from above, the cut-off the distance from below."""
    free = wu2017(COSINES, 20, cutoff=1e-3)
    assert free[0, 3] > free[0, 0] > free[0, 1]
    clipped = wu2017(COSINES, 20, cutoff=1e-3, log_limit=1.5)
    np.testing.assert_array_equal(clipped, np.minimum(free, 1.5))
    near = wu2017(np.array([[0.88, 0.9, 1.0, 0.8]]), 20)
    assert near[0, 0] == near[0, 1] == near[0, 2] > near[0, 3]


@pytest.mark.parametrize("width", [2, 384, 4096])
def test_many_dimensions_do_not_overflow(width):
    """q of 4096 dimensions leaves the range of a double; opposite vectors have q = 0."""
    cosines = np.array([[1.0, 0.9999999, 0.3, 0.0, -0.3, -1.0]])
    for distribution in DISTRIBUTIONS.values():
        found = probabilities(distribution(cosines, width))
        assert np.isfinite(found).all() and found.sum() == pytest.approx(1)


def test_weights_beyond_a_double_are_drawn_all_the_same():
    """Near names alone, whose weights are e^2000 and more; catches inf / inf, which gives the first column always."""
    rng = np.random.default_rng(0)
    center = rng.normal(size=4096)
    names = center + 0.5 * rng.normal(size=(5, 4096))
    drawn = draw_negatives(np.tile(center, (200, 1)), names, np.ones((200, 5), dtype=bool), rng, "wu2017")
    assert wu2017(np.array([[0.9]]), 4096)[0, 0] > 2000 and set(drawn) == set(range(5))


@pytest.mark.parametrize("distribution", list(DISTRIBUTIONS))
def test_what_is_drawn_has_the_distribution(distribution):
    """Chi-squared of 20,000 draws; the same test refuses even draws, and those of the other distribution."""
    rng = np.random.default_rng(3)
    names = rng.normal(size=(9, 4)) * rng.uniform(0.1, 9, size=(9, 1))
    anchor = rng.normal(size=4)
    allowed = np.array([True, True, False, True, True, False, True, True, False])
    weights = []
    for name in names:
        cosine = anchor @ name / np.linalg.norm(anchor) / np.linalg.norm(name)
        weights.append(DISTRIBUTIONS[distribution](np.array([[cosine]]), 4)[0, 0])
    expected = probabilities(np.array([weights])[:, allowed])[0]
    n = 20_000
    drawn = draw_negatives(np.tile(anchor, (n, 1)), names, np.tile(allowed, (n, 1)), rng, distribution)
    counts = np.bincount(drawn, minlength=9)
    assert not counts[~allowed].any()
    assert chisquare(counts[allowed], expected * n).pvalue > 0.01
    assert chisquare(counts[allowed]).pvalue < 1e-9
    (other,) = set(DISTRIBUTIONS) - {distribution}
    assert chisquare(drawn_counts(anchor, names, allowed, rng, other), expected * n).pvalue < 1e-9


def drawn_counts(anchor, names, allowed, rng, distribution) -> np.ndarray:
    n = 20_000
    drawn = draw_negatives(np.tile(anchor, (n, 1)), names, np.tile(allowed, (n, 1)), rng, distribution)
    return np.bincount(drawn, minlength=len(names))[allowed]


@pytest.mark.long
def test_wu2017_draws_all_distances_alike():
    """Of points spread evenly over the sphere, whose distances crowd around 1.4 in 16 dimensions: what it is for."""
    rng = np.random.default_rng(0)
    names, anchors = rng.normal(size=(5_000, 16)), rng.normal(size=(2_000, 16))
    allowed = np.ones((2_000, 5_000), dtype=bool)

    def spread(columns: np.ndarray) -> float:
        unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (anchors, names[columns])]
        counts = np.histogram(np.linalg.norm(unit[0] - unit[1], axis=1), bins=[0.9, 1.1, 1.3, 1.5, 1.7])[0]
        return counts.max() / counts.min()

    assert spread(draw_negatives(anchors, names, allowed, rng, "wu2017")) < 1.3
    assert spread(rng.integers(0, 5_000, 2_000)) > 5


def test_a_column_is_where_the_chance_falls():
    """Chances 0 and just below 1 stay within what is allowed; catches a first or last column that never comes."""
    names = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    anchors = np.tile([1.0, 1.0], (2, 1))

    class Chances:
        def random(self, n: int) -> np.ndarray:
            return np.array([0.0, 1 - 2**-53])

    allowed = np.array([[False, True, True, False]] * 2)
    assert draw_negatives(anchors, names, allowed, Chances()).tolist() == [1, 2]


def test_blocks_of_anchors_do_not_show(monkeypatch):
    rng = np.random.default_rng(0)
    anchors, names = rng.normal(size=(11, 3)), rng.normal(size=(6, 3))
    allowed = np.ones((11, 6), dtype=bool)
    whole = draw_negatives(anchors, names, allowed, np.random.default_rng(1))
    monkeypatch.setattr("st_biomed.losses.distance_weighted._ROWS", 4)
    np.testing.assert_array_equal(draw_negatives(anchors, names, allowed, np.random.default_rng(1)), whole)


def test_zero_vectors_are_drawn_as_unrelated():
    """A name without a known word: no NaN."""
    drawn = draw_negatives(np.zeros((3, 4)), np.zeros((5, 4)), np.ones((3, 5), dtype=bool), np.random.default_rng(0))
    assert ((drawn >= 0) & (drawn < 5)).all()
