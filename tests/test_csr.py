"""Ragged rows: grouping, gathering, composing, and the join of keys that every distance rests on."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch

from st_biomed.csr import CSR, DeviceTables, expand, position_in_row, shares_key


def random_table(rng: np.random.Generator, n_rows: int, n_keys: int, nnz: int) -> CSR:
    return CSR.from_pairs(rng.integers(0, n_rows, nnz), rng.integers(0, n_keys, nnz), n_rows)


def test_rows_are_sorted_and_repeats_are_kept_once():
    table = CSR.from_pairs(np.array([2, 0, 2, 2]), np.array([5, 1, 3, 5]), 4)
    assert [table.row(i).tolist() for i in range(4)] == [[1], [], [3, 5], []]
    assert table.counts.tolist() == [1, 0, 2, 0]


def test_take_gathers_rows_in_the_order_asked_for_empty_ones_too():
    table = CSR.from_pairs(np.array([2, 0, 2]), np.array([5, 1, 3]), 4)
    position, value = table.take(np.array([2, 1, 0, 2]))
    assert list(zip(position.tolist(), value.tolist())) == [(0, 3), (0, 5), (2, 1), (3, 3), (3, 5)]


def test_compose_follows_two_tables():
    rng = np.random.default_rng(0)
    first, second = random_table(rng, 20, 30, 60), random_table(rng, 30, 10, 50)
    both = first.compose(second)
    for i in range(20):
        assert both.row(i).tolist() == sorted({int(k) for j in first.row(i) for k in second.row(int(j))})


def test_expand_agrees_with_take():
    table = random_table(np.random.default_rng(1), 20, 30, 60)
    keys = np.array([3, 3, 0, 19])
    tables = DeviceTables(p=table.indptr, x=table.indices).on(torch.device("cpu"))
    rows, values = expand(tables["p"], tables["x"], torch.tensor([7, 8, 9, 4]), torch.from_numpy(keys))
    position, expected = table.take(keys)
    assert rows.tolist() == np.array([7, 8, 9, 4])[position].tolist()
    assert values.tolist() == expected.tolist()


@pytest.mark.parametrize("n_keys", [2, 50], ids=["common keys: matrix product", "rare keys: join"])
def test_shares_key_equals_intersecting_sets(n_keys: int):
    """Would catch a join that loses matches where a key repeats, and a product that takes an unknown key for a known."""
    rng = np.random.default_rng(n_keys)
    for _ in range(20):
        rows_a, keys_a = rng.integers(0, 6, 15), rng.integers(0, n_keys, 15)
        rows_b, keys_b = rng.integers(0, 4, 15), rng.integers(1, n_keys + 2, 15)
        found = shares_key(*(torch.from_numpy(x) for x in (rows_a, keys_a, rows_b, keys_b)), (6, 4))
        for i in range(6):
            for j in range(4):
                assert bool(found[i, j]) == bool(set(keys_a[rows_a == i]) & set(keys_b[rows_b == j]))


def test_shares_key_of_nothing_is_nothing():
    empty = torch.empty(0, dtype=torch.int64)
    assert not shares_key(empty, empty, torch.tensor([0]), torch.tensor([1]), (2, 1)).any()


def test_device_tables_pickle_their_arrays_alone():
    tables = DeviceTables(x=np.arange(3))
    tables.on(torch.device("cpu"))
    again = pickle.loads(pickle.dumps(tables))
    assert again.on(torch.device("cpu"))["x"].tolist() == [0, 1, 2]


def test_positions_in_rows_are_those_of_a_loop():
    """Catches positions in the whole array, and rows without entries that are counted."""
    for rows in (np.array([], dtype=np.int64), np.sort(np.random.default_rng(0).integers(0, 9, 40)) * 2):
        expected = [rows[:i].tolist().count(row) for i, row in enumerate(rows.tolist())]
        assert position_in_row(rows).tolist() == expected
