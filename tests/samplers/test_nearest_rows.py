"""The nearest rows of prototypes, and the table that keeps them."""

from __future__ import annotations

import numpy as np
import pytest

import st_biomed.samplers.batch_factories
import st_biomed.samplers.neighbor_table
from st_biomed.errors import InputError
from st_biomed.samplers.neighbor_table import NeighborTable, nearest_rows
from tests.contracts.batch_contract import batches
from tests.samplers.prototype_batches import TOY, sampler


class TestNearestRows:
    def test_a_naive_search_finds_the_same(self, monkeypatch):
        """Catches a row that is its own neighbor, and parts of the prototypes put together in another order."""
        monkeypatch.setattr(st_biomed.samplers.neighbor_table, "_QUERIES", 3)
        vectors = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
        prototypes = np.array([3, 7, 8, 20, 21, 22, 39])
        scores = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
        np.fill_diagonal(scores, -np.inf)
        found = nearest_rows(vectors, prototypes, 6)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, np.argsort(-scores[prototypes], axis=1)[:, :6])

    def test_equal_vectors_come_in_their_order_and_never_the_row_itself(self):
        """Catches a row too few where so many equal ones come first that the row itself was not found."""
        vectors = np.ones((9, 2), dtype=np.float32)
        assert nearest_rows(vectors, np.array([0, 8]), 3).tolist() == [[1, 2, 3], [0, 1, 2]]

    def test_more_than_there_are_is_all_there_are(self):
        assert nearest_rows(np.eye(3, dtype=np.float32), np.array([1]), 9).tolist() == [[0, 2]]


class TestTable:
    def test_it_is_saved_and_mapped(self, tmp_path):
        made = sampler(TOY)
        table = NeighborTable(made.table.rows, made.rows_digest, "w", 7, 2)
        again = NeighborTable.load(table.save(tmp_path / "table"))
        assert isinstance(again.rows, np.memmap)
        assert (again.rows_digest, again.model_digest, again.step, again.epoch) == (made.rows_digest, "w", 7, 2)
        before = batches(made, 1)
        made.use(again)
        assert batches(made, 1) == before

    def test_neighbors_of_other_rows_are_refused(self):
        """Catches a stale table, whose row numbers are valid but mean other rows."""
        made = sampler(TOY)
        with pytest.raises(InputError, match="were found among other rows or for other prototypes"):
            made.use(sampler(TOY, seed=1).table)
        with pytest.raises(InputError, match=r"neighbors must have shape \[\d+, 23\], found \[2, 3\]"):
            made.use(NeighborTable(np.zeros((2, 3), np.int32), made.rows_digest, "w"))

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "no neighbors.json in it; expected a folder written by"),
            ("{", r"neighbors.json: damaged \(JSONDecodeError\); remove the folder"),
            ('{"rows_digest": "x"}', "neighbors.json: is of format unknown, this version reads"),
        ],
    )
    def test_what_is_no_table_is_named(self, tmp_path, content, message):
        if content is not None:
            (tmp_path / "neighbors.json").write_text(content, "utf-8")
            np.save(tmp_path / "neighbors.npy", np.zeros((1, 1)))
        with pytest.raises(InputError, match=message):
            NeighborTable.load(tmp_path)
