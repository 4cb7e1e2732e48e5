"""Sparse numbers of units: every figure is that of the same numbers in a dense array."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from st_biomed.errors import InputError
from st_biomed.metrics import Units, load_units, save_units

N, GROUPS = 60, 9


def numbers(seed):
    """Value and count of each unit in one or two of the groups, ``[N, 2 * GROUPS]``; a value may be 0."""
    rng = np.random.default_rng(seed)
    of_groups = np.random.default_rng(0)  # the groups of a unit are those of any model
    rows = np.zeros((N, GROUPS, 2))
    for i in range(N):
        for group in of_groups.choice(GROUPS, size=1 + i % 2, replace=False):
            rows[i, group] = rng.integers(4), 1
    return rows.reshape(N, -1)


def units(rows, clusters=None, *, sparse=False):
    return Units("concept", csr_array(rows) if sparse else rows, "macro_mean", clusters)


@pytest.mark.parametrize("clusters", [None, np.arange(N) // 7])
def test_sparse_numbers_are_drawn_and_exchanged_as_dense_ones(clusters):
    ours, theirs = numbers(1), numbers(2)
    dense, sparse = units(ours, clusters), units(ours, clusters, sparse=True)
    assert len(sparse) == N
    assert sparse.value == pytest.approx(dense.value, abs=1e-12) and dense.value > 0.5
    assert sparse.interval(n_resamples=200) == pytest.approx(dense.interval(n_resamples=200), abs=1e-12)
    expected = dense.compare(units(theirs, clusters), n_resamples=200)
    assert 0.01 < expected.p_value < 1
    for first, second in ((True, True), (True, False), (False, True)):  # results of an older version are dense
        test = units(ours, clusters, sparse=first).compare(units(theirs, clusters, sparse=second), n_resamples=200)
        assert test == pytest.approx(expected, abs=1e-12)


def test_sparse_numbers_survive_a_file(tmp_path):
    written = {"mcsm": units(numbers(1), np.arange(N) // 7, sparse=True)}
    save_units(tmp_path / "units.npz", written)
    found = load_units(tmp_path / "units.npz")["mcsm"]
    assert found.rows.shape == (N, 2 * GROUPS)
    assert found.interval(n_resamples=50) == written["mcsm"].interval(n_resamples=50)


def test_bad_sparse_numbers_are_refused():
    rows = numbers(1)
    with pytest.raises(InputError, match="concepts: a sparse array is for mean, macro_mean, f1, found spearman"):
        Units("concept", csr_array(rows[:, :2]), "spearman")
    rows[3, np.flatnonzero(rows[3])] = np.nan
    rows[8, np.flatnonzero(rows[8])] = np.inf
    with pytest.raises(InputError, match="concepts: 2 hold NaN or infinity"):
        units(rows, sparse=True)
    with pytest.raises(InputError, match="clusters: expected one for each of 60 concepts"):
        units(numbers(1), np.zeros(4), sparse=True)
    for statistic, n in (("f1", 2), ("mean", 3), ("macro_mean", 3), ("macro_mean", 0), ("spearman", 3), ("f1", 1)):
        with pytest.raises(InputError, match=f"concepts: {statistic} is not of rows with {n} columns"):
            Units("concept", np.ones((4, n)), statistic)
    with pytest.raises(InputError, match="seed must not be negative, found -1"):
        Units("concept", np.ones(4)).interval(seed=-1)
    with pytest.raises(InputError, match="18 and 16 columns"):
        units(numbers(1), sparse=True).compare(units(numbers(1)[:, :16], sparse=True))


@pytest.mark.parametrize("form", [np.array, csr_array])
def test_a_unit_of_a_mean_counts(form):
    """Catches an interval that is NaN because some draws are of units without a count alone."""
    assert Units("pair", form([[1.0, 1], [0, 2]])).value == pytest.approx(1 / 3)
    for count in (0, -1):
        with pytest.raises(InputError, match="^pairs: 1 have a count of 0 or below, expected counts above 0$"):
            Units("pair", form([[1.0, 1], [0, count]]))
    assert Units("pair", form([[1.0, 1], [0, 0]]), "macro_mean").interval(n_resamples=20).low == 0


def test_damaged_files_are_refused(tmp_path):
    """Catches places outside the array, at which native code reads the memory of others, and errors of zip files."""
    save_units(tmp_path / "u.npz", {"mcsm": units(numbers(1), sparse=True)})
    with np.load(tmp_path / "u.npz") as file:
        arrays = dict(file)
    for name, place, wrong in (("indices", 3, 200_000_000), ("indices", 0, -5), ("indptr", 2, 10**6)):
        forged = {key: array.copy() for key, array in arrays.items()}
        forged[f"mcsm/{name}"][place] = wrong
        np.savez(tmp_path / "forged.npz", **forged)
        with pytest.raises(InputError, match="forged.npz: cannot be read as the units of a benchmark"):
            load_units(tmp_path / "forged.npz")
    np.savez_compressed(tmp_path / "c.npz", **arrays)
    one_word, no_dimension = arrays | {"mcsm/kind": arrays["mcsm/kind"][:1]}, arrays | {"mcsm/shape": np.array(3)}
    for forged in (one_word, no_dimension, arrays | {"mcsm/kind": np.array("mean")}):
        np.savez(tmp_path / "forged.npz", **forged)
        with pytest.raises(InputError, match="forged.npz: cannot be read as the units of a benchmark"):
            load_units(tmp_path / "forged.npz")
    np.save(tmp_path / "array.npy", np.zeros(3))
    with pytest.raises(InputError, match="array.npy: cannot be read as the units of a benchmark"):
        load_units(tmp_path / "array.npy")
    whole, refused = (tmp_path / "c.npz").read_bytes(), 0
    for at in range(0, len(whole), max(1, len(whole) // 200)):
        (tmp_path / "c.npz").write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
        try:
            load_units(tmp_path / "c.npz")
        except InputError:
            refused += 1
    assert refused > 100
