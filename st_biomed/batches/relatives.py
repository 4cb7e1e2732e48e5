"""Drawing the concepts at one level of a hierarchy from some concepts, without listing them."""

from __future__ import annotations

import numpy as np

from st_biomed.csr import CSR
from st_biomed.hierarchy import Hierarchy


class Relatives:
    """The candidates of one level, numbered for each concept; any number is looked up in a binary search.

    A concept's candidates are all (key, concept with that key) pairs of ``Hierarchy.partner_tables``: the concept
    itself and nearer ones may be among them, and one that is related in two ways is there twice.

    Args:
        hierarchy: Where the levels come from.
        level: From 1 to ``max_distance - 1``.
    """

    def __init__(self, hierarchy: Hierarchy, level: int) -> None:
        self._ways: list[tuple[CSR, CSR, np.ndarray]] = []
        for keys, members in hierarchy.partner_tables(level):
            before = np.zeros(len(keys.indices) + 1, dtype=np.int64)
            np.cumsum(members.counts[keys.indices], out=before[1:])
            self._ways.append((keys, members, before))

    def draw(self, rng: np.random.Generator, concepts: np.ndarray, k: int) -> np.ndarray:
        """Draw ``k`` candidates of each concept, evenly and with repeats.

        Args:
            rng: Where the randomness comes from.
            concepts: Concept indices, ``[N]``.
            k: How many.

        Returns:
            Concept indices ``[N, k]``; -1 throughout where there are none.
        """
        sizes = [before[keys.indptr[concepts + 1]] - before[keys.indptr[concepts]] for keys, _, before in self._ways]
        number = (rng.random((len(concepts), k)) * sum(sizes)[:, None]).astype(np.int64)
        drawn = np.full(number.shape, -1, dtype=np.int64)
        for (keys, members, before), size in zip(self._ways, sizes):
            row, column = np.nonzero((number >= 0) & (number < size[:, None]))
            at = before[keys.indptr[concepts[row]]] + number[row, column]
            entry = np.searchsorted(before, at, side="right") - 1
            drawn[row, column] = members.indices[members.indptr[keys.indices[entry]] + at - before[entry]]
            number -= size[:, None]
        return drawn
