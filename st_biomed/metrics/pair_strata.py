"""Random numbers of pairs that belong to several relations: one for a pair, whichever relation it is drawn for."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from st_biomed.csr import position_in_row


class PairSet(NamedTuple):
    """The related or the unrelated pairs of a relation.

    Attributes:
        rows: Their rows ``[P]``, a block for each stratum, with its pairs in one order on every side.
        strata: Stratum of each block.
        starts: Where the block of each row starts, ``[P]``.
    """

    rows: np.ndarray
    strata: list[int]
    starts: np.ndarray


class StratumDraws(dict[int, np.ndarray]):
    """Random numbers of the pairs of each stratum, drawn when a side first needs them and then kept.

    Args:
        strata: The strata.
        draw: Number of pairs, S, to random numbers ``[n, S]``.
    """

    def __init__(self, strata: PairStrata, draw: Callable[[int], np.ndarray]) -> None:
        super().__init__()
        self.strata, self.draw = strata, draw

    def __missing__(self, stratum: int) -> np.ndarray:
        self[stratum] = self.draw(int(self.strata.sizes[stratum]))
        return self[stratum]

    def of(self, side: PairSet) -> np.ndarray:
        """The random numbers of the rows of a side, ``[n, P]``."""
        return np.concatenate([self[stratum] for stratum in side.strata], axis=1)


class PairStrata:
    """Strata of pairs: the pairs with rows on the same sides, equally often.

    Every side has a fixed number of pairs of each stratum, so drawing within strata keeps the size of every side. If no
    pair is on two sides, the strata are the sides. A stratum of one pair does not vary.

    Args:
        pair: Number of the pair of each row, from 0 without gaps in the order of the rows, ``[N]``.
        side: Number of the side of each row from 0, e.g. the related pairs of one relation, ``[N]``.

    Attributes:
        sizes: Number of pairs of each stratum.
    """

    def __init__(self, pair: np.ndarray, side: np.ndarray) -> None:
        self._pair = pair
        order = np.lexsort((side, pair))
        nth_row = position_in_row(pair[order])
        stratum = np.zeros(int(pair.max()) + 1, dtype=np.int64)
        for n in range(int(nth_row.max()) + 1):
            rows = order[nth_row == n]
            nth_side = np.zeros_like(stratum)
            nth_side[pair[rows]] = side[rows] + 1
            stratum = np.unique(stratum * (int(side.max()) + 2) + nth_side, return_inverse=True)[1]
        self._stratum = stratum
        self.sizes = np.bincount(stratum)

    def side(self, rows: np.ndarray) -> PairSet:
        """All rows of one side in blocks; a stratum with each pair several times among them has as many blocks.

        Args:
            rows: The rows, sorted, ``[P]``.
        """
        rows = rows[np.argsort(self._pair[rows], kind="stable")]
        nth_time, stratum = position_in_row(self._pair[rows]), self._stratum[self._pair[rows]]
        in_blocks = np.lexsort((self._pair[rows], nth_time, stratum))
        strata, places = [], 0
        while places < len(rows):
            strata.append(int(stratum[in_blocks[places]]))
            places += int(self.sizes[strata[-1]])
        sizes = self.sizes[strata] if strata else np.empty(0, dtype=np.int64)
        return PairSet(rows[in_blocks], strata, np.repeat(np.cumsum(sizes) - sizes, sizes))
