"""A dictionary of token sequences: every prefix of every term by its hash, in one open-addressed table."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from st_biomed.corpus.tokens import followed_by

ABSENT, INNER = -2, -1
"""No term begins with the path; a term continues from the path, but none ends there."""


class PathTable:
    """The prefixes of terms.

    A walk over text looks up the hash of one token, then of two, and so on while a term begins with them. The table
    replaces a trie, and every position of a block takes its next step at the same time.

    Args:
        hashes: Hashes of the tokens of each term, concatenated, uint64 ``[M]``.
        counts: Tokens of each term, at least one, int64 ``[N]``.

    Attributes:
        term_ends: The number of the path at which each term ends, int64 ``[N]``; equal terms end at the same.
        n_ends: Number of such paths.
        nbytes: Size of the table in memory.
    """

    def __init__(self, hashes: np.ndarray, counts: np.ndarray) -> None:
        paths, ends = _all_paths(hashes, counts)
        end_hashes, self.term_ends = np.unique(ends, return_inverse=True)
        self.n_ends = len(end_hashes)
        paths.sort()
        paths = paths[np.append(True, paths[1:] != paths[:-1])]
        values = np.full(len(paths), INNER, dtype=np.int32)
        values[np.searchsorted(paths, end_hashes)] = np.arange(self.n_ends)
        bits = max(4, int(2 * len(paths)).bit_length())
        self._shift = np.uint64(64 - bits)
        self._last = np.int64((1 << bits) - 1)
        self._keys = np.zeros(1 << bits, dtype=np.uint64)
        self._values = np.full(1 << bits, ABSENT, dtype=np.int32)
        self._fill(paths[paths != 0], values[paths != 0])

    @property
    def nbytes(self) -> int:
        return self._keys.nbytes + self._values.nbytes

    def _fill(self, paths: np.ndarray, values: np.ndarray) -> None:
        slots = self._slots(paths)
        while len(paths):
            taken, first = np.unique(slots, return_index=True)
            first = first[self._keys[taken] == 0]
            self._keys[slots[first]], self._values[slots[first]] = paths[first], values[first]
            left = np.ones(len(paths), dtype=bool)
            left[first] = False
            paths, values, slots = paths[left], values[left], (slots[left] + 1) & self._last

    def _slots(self, paths: np.ndarray) -> np.ndarray:
        return (paths >> self._shift).astype(np.int64)

    def find(self, paths: np.ndarray) -> np.ndarray:
        """The value of each path: ``ABSENT``, ``INNER`` or the number of an end; int32 ``[N]``."""
        slots = self._slots(paths)
        keys = self._keys[slots]
        values = np.where(keys == paths, self._values[slots], np.int32(ABSENT))
        open_ = np.flatnonzero((keys != paths) & (keys != 0))
        while len(open_):
            slots[open_] = (slots[open_] + 1) & self._last
            keys = self._keys[slots[open_]]
            equal = keys == paths[open_]
            values[open_[equal]] = self._values[slots[open_[equal]]]
            open_ = open_[~equal & (keys != 0)]
        return values

    def walk(self, hashes: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """All positions of terms.

        Args:
            hashes: The tokens of a text, uint64 ``[N]``.

        Yields:
            Number of tokens, the first token of each match ``[M]`` and its end ``[M]``; shortest first.
        """
        places = np.arange(len(hashes))
        path, length = hashes, 1
        while len(places):
            reached = self.find(path)
            ended = reached >= 0
            if ended.any():
                yield length, places[ended], reached[ended]
            known = (reached != ABSENT) & (places + length < len(hashes))
            places = places[known]
            path = followed_by(path[known], hashes[places + length])
            length += 1


def _all_paths(hashes: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The hash of each prefix of each term, uint64 ``[M]``, and of each whole term, ``[N]``."""
    starts = np.cumsum(counts) - counts
    paths = hashes.copy()
    ends = hashes[starts]
    active, length = np.flatnonzero(counts > 1), 1
    while len(active):
        places = starts[active] + length
        paths[places] = ends[active] = followed_by(paths[places - 1], hashes[places])
        length += 1
        active = active[counts[active] > length]
    return paths, ends
