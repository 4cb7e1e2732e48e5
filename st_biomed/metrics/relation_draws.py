"""Resampling of the mean AUC of several relations: pairs within each relation, and relations if there are many."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from st_biomed.errors import InputError
from st_biomed.metrics.ranking import roc_auc

MANY_RELATIONS = 20
"""From this number of relations on, relations are also drawn.

Few groups are a poor estimate of the variance between groups. The nominal 95 % percentile interval of a mean of R
normal figures covers 92.9 % at R = 20 and 86.6 % at R = 6 (``|t| < 1.96 sqrt((R - 1) / R)``, R - 1 degrees of
freedom), and a single figure has no variance. Cameron, Gelbach and Miller (2008) report the same for bootstraps over
few clusters, "five to thirty".
"""

EVERY = -1
"""The relation number of unrelated pairs that are shared by all relations."""


def resampling(n_relations: int) -> str:
    """The units that intervals and tests draw: ``pairs``, or ``relations and pairs`` from :data:`MANY_RELATIONS` on."""
    return "pairs" if n_relations < MANY_RELATIONS else "relations and pairs"


class _Relation(NamedTuple):
    """Rows of the related pairs ``[P]``, and of the unrelated ones where they are its own ``[N]``."""

    related: np.ndarray
    unrelated: np.ndarray | None


class RelationScores:
    """Scores of related and unrelated pairs, and their resampling.

    Below :data:`MANY_RELATIONS` the figure describes exactly these relations: pairs are drawn within each relation,
    and unrelated pairs among themselves. From there on it describes relations like these: first the relations are
    drawn with replacement, then the pairs within each drawn relation, independently each time. This is the two-stage
    bootstrap for hierarchical data (Davison and Hinkley 1997, section 3.8, with replacement at both stages; Field and
    Welsh 2007). Its intervals are too wide by at most the share of the pairs in the variance.

    Args:
        rows: Score, number of the relation from 0 on, and 1 for a related or 0 for an unrelated pair, ``[N, 3]``; unrelated
            pairs of all relations have the number :data:`EVERY`.

    Raises:
        InputError: Wrong columns, or a relation without related or unrelated pairs.
    """

    exchangeable = True

    def __init__(self, rows: np.ndarray) -> None:
        if rows.ndim != 2 or rows.shape[1] != 3:
            raise InputError(f"expected rows of score, relation and related, found shape {rows.shape}")
        self.scores, relation_numbers, is_related = rows[:, 0], rows[:, 1].astype(np.int64), rows[:, 2] > 0
        (self.shared,) = np.nonzero((relation_numbers == EVERY) & ~is_related)
        self.relations: list[_Relation] = []
        for relation in range(int(relation_numbers.max()) + 1):
            (related,), (own,) = (
                np.nonzero((relation_numbers == relation) & is_related),
                np.nonzero((relation_numbers == relation) & ~is_related),
            )
            if not len(related):
                raise InputError(f"relation {relation} has no related pairs")
            if not len(own) and not len(self.shared):
                raise InputError(f"relation {relation} has {len(related)} related pairs and no unrelated ones")
            self.relations.append(_Relation(related, own if len(own) else None))
        if not self.relations:
            raise InputError("expected pairs of at least one relation, found none")

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def are_many(self) -> bool:
        """Whether relations are also drawn."""
        return len(self.relations) >= MANY_RELATIONS

    @cached_property
    def aucs(self) -> np.ndarray:
        """Area under the ROC curve of each relation, ``[R]``."""
        found = [
            roc_auc(self.scores[relation.related], self.scores[self._unrelated(relation)])
            for relation in self.relations
        ]
        return np.array(found)

    @property
    def value(self) -> float:
        """The unweighted mean of the areas."""
        return float(self.aucs.mean())

    def resampled(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """The mean AUC of n draws with replacement, ``[n]``; the draw of the pairs does not depend on their scores."""
        number = len(self.relations)
        times = np.ones((n, number), dtype=np.int64)
        if self.are_many:
            times = np.stack(
                [np.bincount(indices, minlength=number) for indices in rng.integers(number, size=(n, number))]
            )
        of_all = self._drawn(self.shared, rng, n) if len(self.shared) else None
        total = np.zeros(n)
        for relation, drawn_times in zip(self.relations, times.T):
            draw = np.repeat(np.arange(n), drawn_times)  # of each copy of the relation
            if not len(draw):
                continue
            if relation.unrelated is None:
                assert of_all is not None
                (values, wins), row = of_all, draw
            else:
                (values, wins), row = self._drawn(relation.unrelated, rng, len(draw)), np.arange(len(draw))
            place = _places(values, self.scores[relation.related])
            size = len(place)
            place = place[rng.integers(size, size=(len(draw), size))]
            won = np.take(wins, row[:, None] * wins.shape[1] + place)
            total += np.bincount(draw, won.mean(axis=1) / (2 * len(self._unrelated(relation))), minlength=n)
        return total / number

    def exchanged(self, other: RelationScores, rng: np.random.Generator, n: int) -> np.ndarray:
        """Differences of the mean AUC between two models after random exchanges of their scores, ``[n]``.

        Each pair is exchanged with probability one half, with its scores as ranks among all pairs of the model
        (Bandos, Rockette and Gur 2005). With many relations, each relation is exchanged as a whole, because the test
        is then whether the models differ on relations like these.

        Args:
            other: Scores of the other model for the same pairs in the same order.
        """
        if self.are_many:
            signs = 1.0 - 2.0 * rng.integers(2, size=(n, len(self.relations)))
            return signs @ (self.aucs - other.aucs) / len(self.relations)
        ranks = np.stack([rankdata(self.scores), rankdata(other.scores)])
        of_all = _exchanged_unrelated(ranks[:, self.shared], rng, n) if len(self.shared) else None
        total = np.zeros(n)
        for relation in self.relations:
            if relation.unrelated is None:
                assert of_all is not None
                values, wins = of_all
            else:
                values, wins = _exchanged_unrelated(ranks[:, relation.unrelated], rng, n)
            places = _places(values, ranks[:, relation.related])
            swap = rng.integers(2, size=(n, places.shape[1]), dtype=np.int8).astype(bool)
            sums = [
                np.take_along_axis(wins[side], np.where(swap, places[1 - side], places[side]), axis=1).sum(axis=1)
                for side in (0, 1)
            ]
            total += (sums[0] - sums[1]) / (2 * places.shape[1] * len(self._unrelated(relation)))
        return total / len(self.relations)

    def _unrelated(self, relation: _Relation) -> np.ndarray:
        return self.shared if relation.unrelated is None else relation.unrelated

    def _drawn(self, rows: np.ndarray, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Distinct scores of unrelated pairs ``[D]`` and the wins of n draws of them ``[n, 2 D + 1]``."""
        values, of_row = np.unique(self.scores[rows], return_inverse=True)
        return values, _wins(of_row[rng.integers(len(rows), size=(n, len(rows)))], len(values))


def _exchanged_unrelated(ranks: np.ndarray, rng: np.random.Generator, n: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Distinct ranks of two models' unrelated pairs ``[2, N]``, and the wins of either side of n exchanges."""
    values, of_rank = np.unique(ranks, return_inverse=True)
    first, second = of_rank.reshape(ranks.shape)
    swap = rng.integers(2, size=(n, len(first)), dtype=np.int8).astype(bool)
    sides = (np.where(swap, second, first), np.where(swap, first, second))
    return values, [_wins(side, len(values)) for side in sides]


def _places(values: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Where scores lie among D distinct values: ``2 i`` between two of them, ``2 i + 1`` on the i-th."""
    return np.searchsorted(values, scores, side="left") + np.searchsorted(values, scores, side="right")


def _wins(drawn: np.ndarray, n_values: int) -> np.ndarray:
    """Twice what a score at each place wins against drawn values, a tie counting half: whole numbers.

    Args:
        drawn: Numbers of the values that were drawn, ``[n, N]``.
        n_values: How many there are, D.

    Returns:
        ``[n, 2 D + 1]``.
    """
    n = len(drawn)
    flat = (drawn + n_values * np.arange(n)[:, None]).ravel()
    below = np.zeros((n, n_values + 1))
    np.cumsum(np.bincount(flat, minlength=n * n_values).reshape(n, n_values), axis=1, out=below[:, 1:])
    wins = np.empty((n, 2 * n_values + 1))
    wins[:, ::2] = 2 * below
    wins[:, 1::2] = below[:, :-1] + below[:, 1:]
    return wins
