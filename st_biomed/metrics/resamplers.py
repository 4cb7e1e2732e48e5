"""Resampling of the units of a figure, and their exchange between two models, for each kind of statistic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import rankdata

from st_biomed.metrics.distance_resampler import DistanceAUCResampler
from st_biomed.metrics.random_draws import random_swaps
from st_biomed.metrics.ranking import spearman_of_rows
from st_biomed.metrics.relation_resampler import RelationAUCResampler


def _mean(sums: np.ndarray) -> np.ndarray:
    return sums[..., 0] / sums[..., 1]


def _macro_mean(sums: np.ndarray) -> np.ndarray:
    totals, weights = sums[..., ::2], sums[..., 1::2]
    means = np.divide(totals, weights, out=np.zeros_like(totals), where=weights > 0)
    return means.sum(axis=-1) / np.maximum(1, (weights > 0).sum(axis=-1))


def _f1(sums: np.ndarray) -> np.ndarray:
    right, wanted = 2 * sums[..., 0], sums[..., 1] + sums[..., 2]
    return np.divide(right, wanted, out=np.zeros_like(right), where=wanted > 0)


OF_SUMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"mean": _mean, "macro_mean": _macro_mean, "f1": _f1}
"""Statistics of the sums of the columns ``[..., C]``: ``mean`` of (value, 1); ``macro_mean`` of (value, 1) or (0, 0) for
each group, two columns a group; ``f1`` of (true positives, predicted, gold)."""


OF_RANKS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {"spearman": spearman_of_rows}
"""Statistics of the scores of the model ``[n, N]`` and the given numbers ``[n, N]`` or ``[N]`` of n draws; they depend only on
the order of the scores."""

OF_GROUPS: dict[str, Callable[[np.ndarray], RelationAUCResampler | DistanceAUCResampler]] = {
    "macro_auc": RelationAUCResampler,
    "mean_auc": DistanceAUCResampler,
}
"""Statistics of scores whose pairs are drawn within groups or with them: by relation, see
:class:`~st_biomed.metrics.relation_resampler.RelationAUCResampler`, or by sub-tree, see
:class:`~st_biomed.metrics.distance_resampler.DistanceAUCResampler`."""

STATISTICS = (*OF_SUMS, *OF_RANKS, *OF_GROUPS)


class Resampler(Protocol):
    """The units of a model, for drawing."""

    @property
    def exchangeable(self) -> bool:
        """Whether units can be exchanged between models one by one."""
        ...

    def __len__(self) -> int:
        """How many are drawn at once."""
        ...

    @property
    def value(self) -> float:
        """The figure itself."""
        ...

    def bootstrap(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """The figure of n draws with replacement, ``[n]``; the draw does not depend on the figures of the units."""
        ...

    def permute(self, other: Self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Differences of the figure after n random exchanges of units between two models, ``[n]``."""
        ...


class SumResampler:
    """A statistic of sums.

    Args:
        rows: Numbers of each unit ``[N, C]``, dense or sparse.
        statistic: One of :data:`OF_SUMS`.
        clusters: Clusters that are drawn with all their units, ``[N]``; by default single units are drawn.
    """

    exchangeable = True

    def __init__(self, rows: np.ndarray | csr_array, statistic: str, clusters: np.ndarray | None = None) -> None:
        self.of = OF_SUMS[statistic]
        self.rows = rows
        if clusters is not None:
            cluster_numbers = np.unique(clusters, return_inverse=True)[1]
            within = (np.ones(len(cluster_numbers)), (cluster_numbers, np.arange(len(cluster_numbers))))
            self.rows = csr_array(within) @ rows
        self.sums = np.asarray(self.rows.sum(axis=0))
        self._against: tuple[SumResampler, np.ndarray | csr_array] | None = None

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def value(self) -> float:
        return float(self.of(self.sums))

    def bootstrap(self, rng: np.random.Generator, n: int) -> np.ndarray:
        drawn = rng.integers(len(self), size=(n, len(self)))
        times = np.stack([np.bincount(indices, minlength=len(self)) for indices in drawn])
        return self.of(times.astype(np.float64) @ self.rows)

    def permute(self, other: SumResampler, rng: np.random.Generator, n: int) -> np.ndarray:
        if self._against is None or self._against[0] is not other:
            self._against = (other, other.rows - self.rows)  # of all draws, which come a few at a time
        moved = random_swaps(rng, n, len(self)) @ self._against[1]
        return self.of(self.sums + moved) - self.of(other.sums - moved)


class RankResampler:
    """A statistic of ranks, of single units.

    Args:
        rows: Score and given number of each unit ``[N, 2]``.
        statistic: One of :data:`OF_RANKS`.
    """

    exchangeable = True

    def __init__(self, rows: np.ndarray, statistic: str) -> None:
        self.of, self.rows = OF_RANKS[statistic], rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def value(self) -> float:
        return float(self.of(self.rows[None, :, 0], self.rows[:, 1])[0])

    def bootstrap(self, rng: np.random.Generator, n: int) -> np.ndarray:
        drawn = rng.integers(len(self), size=(n, len(self)))
        return self.of(self.rows[:, 0][drawn], self.rows[:, 1][drawn])

    def permute(self, other: RankResampler, rng: np.random.Generator, n: int) -> np.ndarray:
        gold = self.rows[:, 1]
        first, second = rankdata(self.rows[:, 0]), rankdata(other.rows[:, 0])
        swapped = random_swaps(rng, n, len(self))
        return self.of(np.where(swapped, second, first), gold) - self.of(np.where(swapped, first, second), gold)


def resampler_of(rows: np.ndarray | csr_array, statistic: str, clusters: np.ndarray | None = None) -> Resampler:
    """The units for drawing, by one of :data:`STATISTICS`."""
    if statistic in OF_SUMS:
        return SumResampler(rows, statistic, clusters)
    return RankResampler(rows, statistic) if statistic in OF_RANKS else OF_GROUPS[statistic](rows)
