"""Resampling of the mean AUC of several relations: pairs, and groups of relations if there are many."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from st_biomed.errors import InputError
from st_biomed.metrics.pair_strata import PairSet, PairStrata, StratumDraws
from st_biomed.metrics.random_draws import MANY_CLUSTERS, random_swaps
from st_biomed.metrics.ranking import roc_auc
from st_biomed.metrics.relation_groups import in_order_of_first, relation_groups

EVERY = -1
"""The relation number of unrelated pairs that are shared by all relations."""


def units_of_relations(n_groups: int) -> str:
    """The units that intervals and tests draw: ``pairs``, or ``relations and pairs`` from :data:`~st_biomed.metrics.random_draws.MANY_CLUSTERS` on.

    Args:
        n_groups: Number of groups of relations, see :func:`~st_biomed.metrics.relation_groups.relation_groups`.
    """
    return "pairs" if n_groups < MANY_CLUSTERS else "relations and pairs"


class _Relation(NamedTuple):
    """The related pairs, and the unrelated ones where they are its own."""

    related: PairSet
    unrelated: PairSet | None


class RelationAUCResampler:
    """Scores of related and unrelated pairs, and their resampling.

    A pair may have several relations: cosines have no direction, so a relation and its inverse have the same pairs.
    Relations that share at least half of the pairs of the smaller one form a group, see
    :func:`~st_biomed.metrics.relation_groups.relation_groups`.

    With fewer than :data:`~st_biomed.metrics.random_draws.MANY_CLUSTERS` groups the figure describes exactly these relations: pairs are drawn, a pair
    equally often in every relation it has. They are drawn in strata, the pairs of the same relations, so that each
    relation keeps its number of pairs; without shared pairs, a stratum is a relation. The unrelated pairs are drawn in
    the same way; they make no groups.

    With as many groups or more the figure describes relations like these: first the groups are drawn with replacement,
    with all their relations, then the pairs within each drawn group as above, independently each time. This is the
    two-stage bootstrap for hierarchical data (Davison and Hinkley 1997, section 3.8, with replacement at both stages;
    Field and Welsh 2007). Its intervals are too wide by at most the share of the pairs in the variance.

    Args:
        rows: Score, number of the relation from 0 on, 1 for a related or 0 for an unrelated pair, and number of the pair,
            the same in either direction and in every relation, ``[N, 4]``. Unrelated pairs of all relations have the
            relation :data:`EVERY`. Without the last column, ``[N, 3]``, no pair is shared.

    Attributes:
        groups: Number of the group of each relation, ``[R]``.

    Raises:
        InputError: Wrong columns, or a relation without related or unrelated pairs.
    """

    exchangeable = True

    def __init__(self, rows: np.ndarray) -> None:
        if rows.ndim != 2 or rows.shape[1] not in (3, 4):
            raise InputError(
                f"expected rows of score, relation and related, and of the pair, found shape {rows.shape}"
            )
        self.scores, relation_numbers, is_related = rows[:, 0], rows[:, 1].astype(np.int64), rows[:, 2] > 0
        pair = np.unique(rows[:, 3], return_inverse=True)[1] if rows.shape[1] == 4 else np.arange(len(rows))
        self._one_row = np.unique(pair, return_index=True)[1]
        n_relations = int(relation_numbers.max()) + 1
        every = relation_numbers == EVERY
        related = [np.flatnonzero((relation_numbers == relation) & is_related) for relation in range(n_relations)]
        own = [np.flatnonzero((relation_numbers == relation) & ~is_related) for relation in range(n_relations)]
        for relation in range(n_relations):
            if not len(related[relation]):
                raise InputError(f"relation {relation} has no related pairs")
            if not len(own[relation]) and not (every & ~is_related).any():
                raise InputError(
                    f"relation {relation} has {len(related[relation])} related pairs and no unrelated ones"
                )
        if not n_relations:
            raise InputError("expected pairs of at least one relation, found none")
        self.groups = relation_groups([pair[of_relation] for of_relation in related])
        scope = self.groups if self.are_many else np.zeros_like(self.groups)  # what is drawn together
        scope = np.append(scope, n_relations)[relation_numbers]  # EVERY is the last
        self._strata = PairStrata(
            in_order_of_first(scope * len(rows) + pair),
            2 * np.where(every, n_relations, relation_numbers) + is_related,
        )
        self.shared = self._strata.side(np.flatnonzero(every & ~is_related))
        self.relations = [
            _Relation(self._strata.side(rows_), self._strata.side(own_) if len(own_) else None)
            for rows_, own_ in zip(related, own)
        ]

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def are_many(self) -> bool:
        """Whether groups of relations are also drawn."""
        return int(self.groups.max()) + 1 >= MANY_CLUSTERS

    @cached_property
    def aucs(self) -> np.ndarray:
        """Area under the ROC curve of each relation, ``[R]``."""
        found = [
            roc_auc(self.scores[relation.related.rows], self.scores[self._unrelated(relation).rows])
            for relation in self.relations
        ]
        return np.array(found)

    @property
    def value(self) -> float:
        """The unweighted mean of the areas."""
        return float(self.aucs.mean())

    def bootstrap(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """The mean AUC of n draws with replacement, ``[n]``; the draw of the pairs does not depend on their scores.

        With many groups it is the mean over all relations of the drawn groups.
        """
        drawn_together, times = [np.arange(len(self.relations))], np.ones((n, 1), dtype=np.int64)
        if self.are_many:
            n_groups = int(self.groups.max()) + 1
            drawn_together = [np.flatnonzero(self.groups == group) for group in range(n_groups)]
            times = np.stack(
                [np.bincount(indices, minlength=n_groups) for indices in rng.integers(n_groups, size=(n, n_groups))]
            )
        of_all = self._wins_of_draws(self.shared, self._picks(rng, n)) if len(self.shared.rows) else None
        total = np.zeros(n)
        for members, drawn_times in zip(drawn_together, times.T):
            draw = np.repeat(np.arange(n), drawn_times)  # of each copy of the group
            if not len(draw):
                continue
            picks = self._picks(rng, len(draw))
            for relation in (self.relations[member] for member in members):
                if relation.unrelated is None:
                    assert of_all is not None
                    (values, wins), row = of_all, draw
                else:
                    (values, wins), row = self._wins_of_draws(relation.unrelated, picks), np.arange(len(draw))
                place = _doubled_positions(values, self.scores[relation.related.rows])[
                    picks.of(relation.related) + relation.related.starts
                ]
                won = np.take(wins, row[:, None] * wins.shape[1] + place)
                total += np.bincount(draw, won.mean(axis=1) / (2 * len(self._unrelated(relation).rows)), minlength=n)
        return total / (times @ [len(members) for members in drawn_together])

    def permute(self, other: RelationAUCResampler, rng: np.random.Generator, n: int) -> np.ndarray:
        """Differences of the mean AUC between two models after random exchanges of their scores, ``[n]``.

        Each pair is exchanged with probability one half, in all its relations, with its scores as ranks among the pairs
        of the model (Bandos, Rockette and Gur 2005). With many groups of relations, the pairs of a group are exchanged
        together, because the test is then whether the models differ on relations like these. Unrelated pairs of all
        relations are still exchanged one by one: they belong to no group, and every area has their errors.

        Args:
            other: Scores of the other model for the same pairs in the same order.
        """
        ranks = np.stack([model._ranks for model in (self, other)])

        of_group = random_swaps(rng, n, int(self.groups.max()) + 1) if self.are_many else None
        swaps = StratumDraws(self._strata, lambda size: random_swaps(rng, n, size))

        def wins_after_swaps(side: PairSet) -> tuple[np.ndarray, list[np.ndarray]]:
            return _wins_after_swaps(ranks[:, side.rows], swaps.of(side))

        of_all = wins_after_swaps(self.shared) if len(self.shared.rows) else None
        total = np.zeros(n)
        for i, (relation, group) in enumerate(zip(self.relations, self.groups)):
            if relation.unrelated is not None and of_group is not None:  # all its pairs are exchanged together
                difference = self.aucs[i] - other.aucs[i]
                total += np.where(of_group[:, group], -difference, difference)
                continue
            if relation.unrelated is None:
                assert of_all is not None
                values, wins = of_all
            else:
                values, wins = wins_after_swaps(relation.unrelated)
            places = _doubled_positions(values, ranks[:, relation.related.rows])
            swap = swaps.of(relation.related) if of_group is None else of_group[:, [group]]
            sums = [
                np.take_along_axis(wins[side], np.where(swap, places[1 - side], places[side]), axis=1).sum(axis=1)
                for side in (0, 1)
            ]
            total += (sums[0] - sums[1]) / (2 * places.shape[1] * len(self._unrelated(relation).rows))
        return total / len(self.relations)

    @cached_property
    def _ranks(self) -> np.ndarray:
        """Twice the rank of each score among the scores of the distinct pairs, less one: whole numbers ``[N]``."""
        return _doubled_positions(np.sort(self.scores[self._one_row]), self.scores)

    def _unrelated(self, relation: _Relation) -> PairSet:
        return self.shared if relation.unrelated is None else relation.unrelated

    def _picks(self, rng: np.random.Generator, n: int) -> StratumDraws:
        """Places within each stratum that n draws with replacement pick."""
        return StratumDraws(self._strata, lambda size: rng.integers(size, size=(n, size)))

    def _wins_of_draws(self, side: PairSet, picks: StratumDraws) -> tuple[np.ndarray, np.ndarray]:
        """Distinct scores of unrelated pairs ``[D]`` and the wins of n draws of them ``[n, 2 D + 1]``."""
        values, of_row = np.unique(self.scores[side.rows], return_inverse=True)
        return values, _doubled_wins(of_row[picks.of(side) + side.starts], len(values))


def _wins_after_swaps(ranks: np.ndarray, swap: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Distinct ranks of two models' unrelated pairs ``[2, N]``, and the wins of either side of n exchanges ``[n, N]``."""
    values, of_rank = np.unique(ranks, return_inverse=True)
    first, second = of_rank.reshape(ranks.shape)
    sides = (np.where(swap, second, first), np.where(swap, first, second))
    return values, [_doubled_wins(side, len(values)) for side in sides]


def _doubled_positions(values: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Where scores lie among D distinct values: ``2 i`` between two of them, ``2 i + 1`` on the i-th."""
    return np.searchsorted(values, scores, side="left") + np.searchsorted(values, scores, side="right")


def _doubled_wins(drawn: np.ndarray, n_values: int) -> np.ndarray:
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
