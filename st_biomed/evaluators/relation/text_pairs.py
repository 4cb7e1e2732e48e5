"""Pairs of texts as indices into one list, so every text is embedded once."""

from __future__ import annotations

import numpy as np

from st_biomed.errors import InputError
from st_biomed.evaluators.relation.file import Pairs


class TextPairs:
    """Numbers texts in the order of their first occurrence.

    Attributes:
        n_excluded: Number of pairs that were rejected as unrelated pairs.
    """

    def __init__(self) -> None:
        self._row: dict[str, int] = {}
        self._related = np.empty(0, dtype=np.int64)
        self.n_excluded = 0

    @property
    def texts(self) -> list[str]:
        """The distinct texts."""
        return list(self._row)

    def rows(self, pairs: Pairs, name: str) -> np.ndarray:
        """Indices into ``texts`` of the two texts of each pair, int64 ``[N, 2]``.

        Args:
            pairs: The pairs, two texts each.
            name: Name of the pairs in the error message.

        Raises:
            InputError: A pair that is not two texts.
        """
        for i, pair in enumerate(pairs, 1):
            if len(pair) != 2 or not all(isinstance(text, str) for text in pair):
                raise InputError(f"{name}: pair {i}: expected two texts, found {pair!r}")
        rows = [[self._row.setdefault(text, len(self._row)) for text in pair] for pair in pairs]
        return np.array(rows, dtype=np.int64).reshape(-1, 2)

    def related(self, pairs: Pairs, name: str) -> np.ndarray:
        """The same, but the pairs are remembered, and :meth:`unrelated` leaves them out."""
        rows = self.rows(pairs, name)
        self._related = np.append(self._related, unordered_pairs(rows))
        return rows

    def unrelated(self, pairs: Pairs, name: str) -> np.ndarray:
        """The same, without pairs of identical texts and without pairs that are related in either order; these are
        counted.

        Raises:
            InputError: No pair is left.
        """
        rows = self.rows(pairs, name)
        excluded = (rows[:, 0] == rows[:, 1]) | np.isin(unordered_pairs(rows), self._related)
        if excluded.all():
            raise InputError(f"{name}: expected at least one unrelated pair, found none among {len(rows):,}")
        self.n_excluded += int(excluded.sum())
        return rows[~excluded]


def unordered_pairs(rows: np.ndarray) -> np.ndarray:
    """A number for each pair of places ``[N, 2]``, the same in either order: int64 ``[N]``."""
    return rows.min(axis=1) << 32 | rows.max(axis=1)
