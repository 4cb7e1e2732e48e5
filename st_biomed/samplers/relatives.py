"""Drawing what shares a key with some rows (the concepts at one level, the texts of one source) without listing it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from st_biomed.csr import CSR


class Relatives:
    """The candidates of each row, numbered; any number is looked up in a binary search.

    A row's candidates are all its (key, member with that key) pairs: the row itself may be among them, and what is
    related in two ways is there twice.

    Args:
        ways: Tables (row to keys, key to members), e.g. ``Hierarchy.partner_tables``.
    """

    def __init__(self, ways: Sequence[tuple[CSR, CSR]]) -> None:
        self._ways: list[tuple[CSR, CSR, np.ndarray]] = []
        for keys, members in ways:
            before = np.zeros(len(keys.indices) + 1, dtype=np.int64)
            np.cumsum(members.counts[keys.indices], out=before[1:])
            self._ways.append((keys, members, before))

    def draw(self, rng: np.random.Generator, rows: np.ndarray, k: int) -> np.ndarray:
        """Draw ``k`` candidates of each row, evenly and with repeats.

        Args:
            rng: Where the randomness comes from.
            rows: Rows of the tables, ``[N]``.
            k: How many.

        Returns:
            Members ``[N, k]``; -1 throughout where there are none.
        """
        sizes = [before[keys.indptr[rows + 1]] - before[keys.indptr[rows]] for keys, _, before in self._ways]
        number = (rng.random((len(rows), k)) * sum(sizes)[:, None]).astype(np.int64)
        drawn = np.full(number.shape, -1, dtype=np.int64)
        for (keys, members, before), size in zip(self._ways, sizes):
            row, column = np.nonzero((number >= 0) & (number < size[:, None]))
            at = before[keys.indptr[rows[row]]] + number[row, column]
            entry = np.searchsorted(before, at, side="right") - 1
            drawn[row, column] = members.indices[members.indptr[keys.indices[entry]] + at - before[entry]]
            number -= size[:, None]
        return drawn
