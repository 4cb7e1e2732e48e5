"""Uniform draws from the members that share a key with a row (concepts at one level, texts of one source)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from st_biomed.csr import CSR


class SharedKeyMembers:
    """The candidates of each row, which are not listed: a candidate is found from its number by binary search.

    A row's candidates are all its (key, member with that key) pairs. The row itself may be among them, and a member
    related in two ways occurs twice.

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
        """Draw ``k`` candidates of each row, uniformly with replacement.

        Args:
            rows: Rows of the tables, ``[N]``.

        Returns:
            Members ``[N, k]``; -1 for a row without candidates.
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
