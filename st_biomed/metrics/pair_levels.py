"""Similarities of all pairs of terms, or of listed pairs, counted on a grid: exact, in chunks, without an N x N
matrix.

The similarity of two terms is their cosine on a grid of steps of 2^-20, about 1e-6. The computation itself has no
rounding: the unit vectors are rounded to multiples of 2^-24, so products of two numbers are multiples of 2^-48, and by
the Cauchy-Schwarz inequality no sum of them exceeds 2. float64 represents all of these exactly. A pair therefore has
the same similarity in any chunk and in any order of summation, and equal vectors tie. The rounding of the vectors
changes a cosine by about 1e-8, and by at most ``2^-24 sqrt(D)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.metrics.cosine import unit_rows

STEPS = 1 << 20
"""Steps of the grid between cosine 0 and cosine 1."""

ZERO = STEPS + 1
"""Level of cosine 0: cosine -1 has level 1, and level 0 is for pairs that are not examined."""

TOP = ZERO + STEPS
"""Level of cosine 1."""

_ROWS, _COLUMNS = 1024, 4096  # terms compared at once: 34 MB of float64 and as much of levels
_PAIRS = 1024  # listed pairs compared at once, so that they stay in the cache
_KEPT_LEAST, _KEPT_MOST = 1 << 16, 1 << 24  # of the most similar pairs, while all are counted: 200 MB


class GoldPairs(NamedTuple):
    """The unordered pairs of terms that share a concept.

    Attributes:
        left, right: The terms, left < right, sorted and without repeats, int64 ``[G]``.
        pair, concept: The shared concepts: ``pair[e]`` shares ``concept[e]``, int64 ``[E]``.
    """

    left: np.ndarray
    right: np.ndarray
    pair: np.ndarray
    concept: np.ndarray

    @classmethod
    def of(cls, concepts: CSR) -> GoldPairs:
        """The pairs of N terms from the concepts of each."""
        n = concepts.n_rows
        term = np.repeat(np.arange(n), concepts.counts)
        terms = CSR.from_pairs(concepts.indices.astype(np.int64), term, int(concepts.indices.max(initial=-1)) + 1)
        after = np.repeat(terms.indptr[1:], terms.counts) - np.arange(len(term)) - 1
        first = np.repeat(np.arange(len(term)), after)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(after) - after, after)
        keys, pair = np.unique(terms.indices[first] * n + terms.indices[second], return_inverse=True)
        return cls(*np.divmod(keys, max(n, 1)), pair, np.repeat(np.arange(terms.n_rows), terms.counts)[first])


class PairLevels:
    """Levels of the examined pairs on the grid, from 1 (cosine -1) to the top (cosine 1).

    Attributes:
        n_terms: N.
        counts: Pairs at each level, int64 ``[L]``.
        gold: Level of each gold pair, 0 if it is not examined, int64 ``[G]``.
        kept: Left term, right term and level of each pair, ``[3, M]``.
    """

    def __init__(self, n_terms: int, counts: np.ndarray, gold: np.ndarray, kept: np.ndarray) -> None:
        self.n_terms, self.counts, self.gold, self.kept = n_terms, counts, gold, kept

    def degrees(self, floor: int) -> np.ndarray:
        """Number of pairs above a level for each term, int64 ``[N]``."""
        ends = self.kept[:2, self.kept[2] > floor]
        return np.bincount(ends.ravel(), minlength=self.n_terms)


class AllPairLevels(PairLevels):
    """Levels of all pairs of terms; ``kept`` are the most similar pairs. Takes about 150 MB in addition to a copy of
    the vectors.

    Args:
        vectors: ``[N, D]``, of any length; a zero vector has cosine 0 with all others.

    Raises:
        InputError: NaN or infinity among the vectors.
    """

    def __init__(self, vectors: np.ndarray, gold: GoldPairs) -> None:
        self._rows = _grid_rows(vectors)
        counts = np.zeros(TOP + 1, dtype=np.int64)
        room = min(_KEPT_LEAST + 8 * len(gold.left), _KEPT_MOST)  # F1 above 0.4 takes at most 4 pairs a gold pair
        kept, n_kept = [np.empty((3, 0), dtype=np.int32)], 0
        self._floor = 0  # all pairs above are kept
        for first, second, block in _blocks(self._rows):
            levels = block.ravel()
            counts += np.bincount(levels, minlength=len(counts))
            found = np.flatnonzero(levels > self._floor)
            if n_kept + len(found) > room:
                self._floor = TOP - int(np.searchsorted(np.cumsum(counts[::-1]), room // 2, side="right"))
                pairs = np.concatenate(kept, axis=1)
                kept = [pairs[:, pairs[2] > self._floor]]
                n_kept = kept[0].shape[1]
                found = found[levels[found] > self._floor]
            row, column = np.divmod(found, block.shape[1])
            kept.append(np.stack([first + row, second + column, levels[found]]).astype(np.int32))
            n_kept += len(found)
        counts[0] = 0
        gold_levels = _pair_levels(self._rows, gold.left, gold.right)
        super().__init__(len(vectors), counts, gold_levels, np.concatenate(kept, axis=1))

    def degrees(self, floor: int) -> np.ndarray:
        """In how many pairs above a level each term is, int64 ``[N]``; compares anew where too many are above it."""
        if floor >= self._floor:
            return super().degrees(floor)
        degrees = np.zeros(self.n_terms, dtype=np.int64)
        for first, second, levels in _blocks(self._rows):
            above = levels > floor
            degrees[first : first + len(above)] += above.sum(axis=1)
            degrees[second : second + above.shape[1]] += above.sum(axis=0)
        return degrees


class ListedPairLevels(PairLevels):
    """Levels of the pairs in which either term lists the other among its neighbors.

    Args:
        vectors: ``[N, D]``.
        neighbors: Terms that each term lists, -1 for none, ``[N, K]``; a term that lists itself is ignored.

    Raises:
        InputError: Different numbers of lists and vectors, an unknown neighbor, or NaN or infinity among the vectors.
    """

    def __init__(self, vectors: np.ndarray, gold: GoldPairs, neighbors: np.ndarray) -> None:
        n = len(vectors)
        other = np.asarray(neighbors, dtype=np.int64)
        if len(other) != n or other.max(initial=-1) >= n:
            raise InputError(
                f"neighbors: expected those of {n:,} terms, below {n:,}, found {len(other):,} lists up to "
                f"{other.max(initial=-1):,}"
            )
        row = np.broadcast_to(np.arange(n)[:, None], other.shape)
        listed = (other >= 0) & (other != row)
        a, b = row[listed], other[listed]
        keys = np.unique(np.minimum(a, b) * n + np.maximum(a, b))
        left, right = np.divmod(keys, n)
        levels = _pair_levels(_grid_rows(vectors), left, right)
        wanted = gold.left * n + gold.right
        place = np.searchsorted(keys, wanted)
        found = np.append(keys, -1)[place] == wanted
        super().__init__(
            n,
            np.bincount(levels, minlength=TOP + 1),
            np.where(found, np.append(levels, 0)[place], 0),
            np.stack([left, right, levels]),
        )


def floor_of(theta: float) -> int:
    """The level above which cosines exceed a threshold.

    Raises:
        InputError: Not between -1 (minus one step of the grid, a level below all pairs) and 1.
    """
    if not -1 - 1 / STEPS <= theta <= 1:
        raise InputError(f"theta must lie between -1 and 1, found {theta}")
    return ZERO + int(np.floor(theta * STEPS))


def _grid_rows(vectors: np.ndarray) -> np.ndarray:
    """Unit vectors of multiples of 2^-24, float32 ``[N, D]``, which holds such numbers up to 1."""
    rows = np.empty(np.shape(vectors), dtype=np.float32)
    for start in range(0, len(rows), _PAIRS):
        part = slice(start, start + _PAIRS)
        if not np.isfinite(vectors[part]).all():
            raise InputError("vectors: NaN or infinity among the numbers")
        rows[part] = np.rint(unit_rows(vectors[part]) * 2.0**24) / 2.0**24
    return rows


def _blocks(rows: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """All pairs once: first row, first column, and levels ``[R, C]`` (0 on and below the diagonal).

    The next block overwrites the levels.
    """
    products, levels = np.empty(_ROWS * _COLUMNS), np.empty(_ROWS * _COLUMNS, dtype=np.int64)
    for first in tqdm(range(0, len(rows), _ROWS), desc="pairs", unit=" rows", delay=2, disable=None, leave=False):
        left = rows[first : first + _ROWS].astype(np.float64)
        for second in range(first, len(rows), _COLUMNS):
            right = rows[second : second + _COLUMNS].astype(np.float64)
            shape = (len(left), len(right))
            product, level = (whole[: len(left) * len(right)].reshape(shape) for whole in (products, levels))
            _to_levels(np.matmul(left, right.T, out=product), level)
            if second < first + len(left):
                level[np.tri(*shape, k=first - second, dtype=bool)] = 0
            yield first, second, level


def _pair_levels(rows: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Level of each listed pair, int64 ``[M]``."""
    levels = np.empty(len(left), dtype=np.int64)
    for start in range(0, len(left), _PAIRS):
        part = slice(start, start + _PAIRS)
        a, b = rows[left[part]].astype(np.float64), rows[right[part]].astype(np.float64)
        _to_levels(np.einsum("ij,ij->i", a, b), levels[part])
    return levels


def _to_levels(cosines: np.ndarray, levels: np.ndarray) -> None:
    """Round cosines, which are used up, half up to the grid; rounded vectors may be longer than 1, hence the clip."""
    cosines *= STEPS
    cosines += ZERO + 0.5
    np.clip(cosines, 1, TOP, out=cosines)
    np.copyto(levels, cosines, casting="unsafe")
