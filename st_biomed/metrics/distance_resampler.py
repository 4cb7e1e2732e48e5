"""Resampling of the mean AUC of distances in a hierarchy: pairs, or sub-trees with their pairs if there are many."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from st_biomed.errors import InputError
from st_biomed.metrics.random_draws import MANY_CLUSTERS, random_swaps
from st_biomed.metrics.tree_auc import mean_auc


def units_of_trees(subtrees: np.ndarray | None) -> str:
    """The units that intervals and tests draw: ``pairs``, or ``sub-trees`` from :data:`~st_biomed.metrics.random_draws.MANY_CLUSTERS` on.

    Args:
        subtrees: Numbers of the sub-trees of both names of each pair, ``[N, 2]``; ``None`` if they are not known.
    """
    return "pairs" if subtrees is None or len(np.unique(subtrees)) < MANY_CLUSTERS else "sub-trees"


class _Duel(NamedTuple):
    """Rows of the pairs at two distances, the farther ones by score, and where the nearer ones lie among them."""

    near: np.ndarray
    far: np.ndarray
    n_below: np.ndarray
    n_below_or_tied: np.ndarray


class DistanceAUCResampler:
    """Scores of pairs of names at several distances, and their resampling.

    Pairs of one sub-tree are not independent: they share names, and a model that orders one of them often orders the
    others. If the sub-trees are known and at least :data:`~st_biomed.metrics.random_draws.MANY_CLUSTERS`, these are drawn with replacement. A pair
    within a sub-tree that is drawn m times counts m times; a pair between sub-trees drawn m and n times counts m n
    times (the pigeonhole bootstrap: Owen 2007). With fewer sub-trees, or without them, pairs are drawn.

    Args:
        rows: Score and distance of each pair, ``[N, 2]``; with the numbers from 0 of the sub-trees of both names,
            ``[N, 4]``.

    Raises:
        InputError: Wrong columns.
    """

    def __init__(self, rows: np.ndarray) -> None:
        if rows.ndim != 2 or rows.shape[1] not in (2, 4):
            raise InputError(f"expected rows of score, distance and the two sub-trees, found shape {rows.shape}")
        self.scores, self.distances = rows[:, 0], rows[:, 1]
        self.subtrees = None
        if rows.shape[1] == 4 and units_of_trees(rows[:, 2:]) == "sub-trees":
            self.subtrees = np.unique(rows[:, 2:], return_inverse=True)[1].reshape(-1, 2)
        self.duels = []
        for i, j in combinations(np.unique(self.distances), 2):
            near, far = np.flatnonzero(self.distances == i), np.flatnonzero(self.distances == j)
            far = far[np.argsort(self.scores[far], kind="stable")]
            below, tied = (
                np.searchsorted(self.scores[far], self.scores[near], side=side) for side in ("left", "right")
            )
            self.duels.append(_Duel(near, far, below, tied))

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def exchangeable(self) -> bool:
        """Whether pairs are drawn: a pair between two sub-trees belongs to both, so these cannot be exchanged."""
        return self.subtrees is None

    @property
    def value(self) -> float:
        return mean_auc(self.scores, self.distances)

    def bootstrap(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """The mean AUC of n draws with replacement, ``[n]``; the draw does not depend on the scores."""
        size = len(self) if self.subtrees is None else int(self.subtrees.max()) + 1
        drawn = rng.integers(size, size=(n, size))
        times = np.stack([np.bincount(indices, minlength=size) for indices in drawn]).astype(np.float64)
        if self.subtrees is not None:
            first, second = self.subtrees.T
            times = times[:, first] * np.where(first == second, 1, times[:, second])
        return self._mean([_weighted_auc(duel, times) for duel in self.duels], n)

    def permute(self, other: DistanceAUCResampler, rng: np.random.Generator, n: int) -> np.ndarray:
        """Differences of the mean AUC between two models after random exchanges of their scores, ``[n]``.

        The scores of single pairs are exchanged, as ranks among all pairs of the model.

        Args:
            other: Scores of the other model for the same pairs in the same order.
        """
        ours, theirs = rankdata(self.scores), rankdata(other.scores)
        swapped = random_swaps(rng, n, len(self))
        sides = np.where(swapped, theirs, ours), np.where(swapped, ours, theirs)
        first, second = (self._mean([_auc(duel, side) for duel in self.duels], n) for side in sides)
        return first - second

    @staticmethod
    def _mean(aucs: list[np.ndarray], n: int) -> np.ndarray:
        """The mean over the two distances that have pairs; 0.5 if there are none."""
        defined = ~np.isnan(np.reshape(aucs, (-1, n)))
        total = np.where(defined, np.reshape(aucs, (-1, n)), 0).sum(axis=0)
        return np.where(defined.any(axis=0), total / np.maximum(1, defined.sum(axis=0)), 0.5)


def _weighted_auc(duel: _Duel, times: np.ndarray) -> np.ndarray:
    """Area under the ROC curve of pairs that count several times, ``[n]``; NaN without a pair at a distance."""
    near, far = times[:, duel.near], times[:, duel.far]
    up_to = np.zeros((len(times), len(duel.far) + 1))
    np.cumsum(far, axis=1, out=up_to[:, 1:])
    wins = (near * (up_to[:, duel.n_below] + up_to[:, duel.n_below_or_tied])).sum(axis=1)
    total = 2 * near.sum(axis=1) * up_to[:, -1]
    return np.divide(wins, total, out=np.full(len(times), np.nan), where=total > 0)


def _auc(duel: _Duel, scores: np.ndarray) -> np.ndarray:
    """Area under the ROC curve of each row of scores, ``[n]``: the Mann-Whitney statistic of their ranks."""
    n_near, n_far = len(duel.near), len(duel.far)
    ranks = rankdata(scores[:, np.concatenate([duel.near, duel.far])], axis=-1)
    return (ranks[:, :n_near].sum(axis=1) - n_near * (n_near + 1) / 2) / (n_near * n_far)
