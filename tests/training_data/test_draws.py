"""Drawing without replacement for many rows at once."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from st_biomed.training_data.draws import draw_distinct


def test_values_are_distinct_and_in_range():
    sizes = np.array([0, 1, 4, 5, 6, 1000])
    for seed in range(50):
        row, value = draw_distinct(np.random.default_rng(seed), sizes, 5)
        assert np.bincount(row, minlength=6).tolist() == [0, 1, 4, 5, 5, 5]
        assert (np.diff(row) >= 0).all()
        assert (value >= 0).all() and (value < sizes[row]).all()
        assert len(set(zip(row.tolist(), value.tolist()))) == len(row)


def test_every_set_is_as_likely_as_any_other():
    """Would catch a draw that favors large or small values, such as re-drawing a taken value just once."""
    row, value = draw_distinct(np.random.default_rng(0), np.full(30_000, 6), 3)
    assert np.array_equal(row, np.repeat(np.arange(30_000), 3))
    sets, counts = np.unique(np.sort(value.reshape(-1, 3), axis=1), axis=0, return_counts=True)
    assert sets.tolist() == [list(chosen) for chosen in combinations(range(6), 3)]
    assert ((counts - 1500) ** 2 / 1500).sum() < 44  # chi-square, 19 degrees of freedom, p = .001


def test_no_rows_and_no_draws():
    for sizes, k in (([], 3), ([4, 5], 0)):
        row, value = draw_distinct(np.random.default_rng(0), np.array(sizes, dtype=np.int64), k)
        assert len(row) == len(value) == 0
