"""The units of a figure: the numbers of each unit, for resampling and for paired comparisons of two models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from st_biomed.errors import InputError, check_name
from st_biomed.metrics.resamplers import OF_GROUPS, OF_SUMS, STATISTICS, Resampler, resampler_of

_CELLS = 1 << 22  # numbers drawn at once: 32 MB

_COLUMNS: dict[str, Callable[[int], bool]] = {
    "mean": lambda n: n == 2,
    "macro_mean": lambda n: n > 0 and n % 2 == 0,
    "f1": lambda n: n == 3,
    "spearman": lambda n: n == 2,
    **dict.fromkeys(OF_GROUPS, lambda n: n > 1),  # whose resamplers check them
}
"""Whether rows of a statistic may have so many columns."""


class Interval(NamedTuple):
    """A figure and the interval around it."""

    value: float
    low: float
    high: float


class PairedTest(NamedTuple):
    """Two models on the same units.

    Attributes:
        difference: Figure of the first minus that of the second.
        low, high: Percentile bootstrap interval of the difference.
        p_value: Two-sided p value of the randomization test.
        n: Number of units.
    """

    difference: float
    low: float
    high: float
    p_value: float
    n: int


@dataclass(frozen=True, eq=False)
class Units:
    """A figure as a statistic of a model's numbers on each unit of a benchmark.

    Args:
        unit: The unit to draw: mention, pair, concept, relation, triple.
        rows: Numbers of each unit, ``[N, C]``; ``[N]`` for a plain mean. A sparse array for a statistic of sums, whose groups
            may be many.
        statistic: One of :data:`~st_biomed.metrics.resamplers.STATISTICS`.
        clusters: Clusters that are drawn with all their units, e.g. the document of each mention, ``[N]``.

    Raises:
        InputError: No unit, NaN, an unknown statistic, other columns than it has, a unit of a mean whose count is not
            above 0, or clusters of another length or with a statistic of scores.

    Example:
        >>> ours, theirs = Units("mention", np.array([1, 1, 0, 1, 0])), Units("mention", np.array([1, 0, 0, 0, 0]))
        >>> ours.value, ours.interval()
        (0.6, Interval(value=0.6, low=0.2, high=1.0))
        >>> round(ours.compare(theirs).p_value, 1)
        0.5
    """

    unit: str
    rows: np.ndarray | csr_array
    statistic: str = "mean"
    clusters: np.ndarray | None = None

    def __post_init__(self) -> None:
        sparse = issparse(self.rows)
        rows = csr_array(self.rows, dtype=np.float64) if sparse else np.asarray(self.rows, dtype=np.float64)
        if rows.ndim == 1 and self.statistic == "mean":
            rows = np.stack([rows, np.ones_like(rows)], axis=1)
        check_name("statistic", self.statistic, STATISTICS)
        if sparse and self.statistic not in OF_SUMS:
            raise InputError(f"{self.unit}s: a sparse array is for {', '.join(OF_SUMS)}, found {self.statistic}")
        if rows.ndim != 2 or not rows.shape[0]:
            raise InputError(f"{self.unit}s: expected [N, C] numbers of at least one {self.unit}, found {rows.shape}")
        n_columns = rows.shape[1]
        if not _COLUMNS[self.statistic](n_columns):
            raise InputError(f"{self.unit}s: {self.statistic} is not of rows with {n_columns} columns")
        finite = np.isfinite(abs(rows).sum(axis=1))
        if not finite.all():
            raise InputError(f"{self.unit}s: {int((~finite).sum()):,} hold NaN or infinity")
        if self.statistic == "mean" and (none := rows.shape[0] - int((rows[:, [1]] > 0).sum())):
            raise InputError(f"{self.unit}s: {none:,} have a count of 0 or below, expected counts above 0")
        if self.clusters is not None:
            if self.statistic not in OF_SUMS:
                raise InputError(f"clusters: {self.statistic} is drawn over single {self.unit}s")
            if np.shape(self.clusters) != rows.shape[:1]:
                raise InputError(f"clusters: expected one for each of {rows.shape[0]:,} {self.unit}s")
        object.__setattr__(self, "rows", rows)
        if self.statistic in OF_GROUPS:
            resampler_of(rows, self.statistic)  # rejects other columns, and a relation without pairs

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def value(self) -> float:
        """The figure itself."""
        return self.draws.value

    def interval(self, *, level: float = 0.95, n_resamples: int = 1000, seed: int = 0) -> Interval:
        """Percentile bootstrap interval over the units, or over their clusters (Efron and Tibshirani 1993, 13.3).

        Pairs of relations are drawn within their relation, once for all relations that share them; relations are drawn
        if there are many, together with those that share their pairs, see
        :class:`~st_biomed.metrics.relation_resampler.RelationAUCResampler`.

        Args:
            level: Share of the resampled figures inside the interval.
            seed: Seed of the draws; the same seed draws the same units for any model.

        Raises:
            InputError: A level outside (0, 1), or fewer than one resample.
        """
        ends = _ends(level)
        drawn = _in_steps(n_resamples, len(self.draws), seed, self.draws.bootstrap)
        low, high = np.quantile(drawn, ends)
        return Interval(self.value, float(low), float(high))

    def compare(self, other: Units, *, level: float = 0.95, n_resamples: int = 10_000, seed: int = 0) -> PairedTest:
        """Compare this figure with that of another model on the same units.

        The test is an approximate randomization test (Noreen 1989; Yeh 2000). If the models are equivalent, their
        numbers on a unit are exchangeable. They are therefore exchanged at random with probability one half for each
        unit, and p is the share of draws, including the observed one, whose difference is at least as far from zero.
        Scores, whose scale differs between models, are exchanged as ranks; with many relations, each is exchanged as a
        whole, together with those that share its pairs, and unrelated pairs of all relations one by one. With many held-out sub-trees, p is that of the drawn differences, see
        :class:`~st_biomed.metrics.distance_resampler.DistanceAUCResampler`. The interval of the difference is a bootstrap interval.

        Args:
            other: Units of the other model, from the same benchmark.
            n_resamples: Number of draws of each kind; p is never below ``1 / (n_resamples + 1)``.

        Raises:
            InputError: Other units, clusters or statistic, or numbers out of range as in :meth:`interval`.
        """
        return compare_means([self], [other], level=level, n_resamples=n_resamples, seed=seed)

    def check_same(self, other: Units) -> None:
        """Raise InputError unless both have the figures of the same units."""
        if (self.unit, self.statistic, len(self)) != (other.unit, other.statistic, len(other)):
            raise InputError(
                f"a paired test needs the same units, found {len(self):,} {self.unit}s ({self.statistic}) and "
                f"{len(other):,} {other.unit}s ({other.statistic})"
            )
        if (columns := self.rows.shape[1]) != other.rows.shape[1]:
            raise InputError(
                f"a paired test needs the same units, found {self.unit}s with {columns} and {other.rows.shape[1]} columns"
            )
        if self.statistic not in OF_SUMS and not np.array_equal(self.rows[:, 1:], other.rows[:, 1:]):
            raise InputError(f"a paired test needs the same units, found {self.unit}s with other given numbers")
        if (self.clusters is None) != (other.clusters is None):
            raise InputError(
                f"a paired test needs the same units, found {self.unit}s one by one and {self.unit}s in clusters; measure "
                "both in one way"
            )
        if not np.array_equal(np.asarray(self.clusters, dtype=str), np.asarray(other.clusters, dtype=str)):
            raise InputError(f"a paired test needs the same units, found {self.unit}s in other clusters")

    @cached_property
    def draws(self) -> Resampler:
        """What is drawn from the units."""
        return resampler_of(self.rows, self.statistic, self.clusters)


def compare_means(
    ours: Sequence[Units], others: Sequence[Units], *, level: float = 0.95, n_resamples: int = 10_000, seed: int = 0
) -> PairedTest:
    """Compare the mean figure of several models, the seeds of a training, with that of as many others.

    The models are pairs, ``ours[i]`` and ``others[i]``. The test is that of :meth:`Units.compare`: a unit is drawn, or exchanged,
    for all pairs at once. Test and interval are therefore over the units of a benchmark for these very models; what other
    seeds would change is in the interval of :func:`~st_biomed.metrics.seed_interval.seed_interval`.

    Args:
        ours, others: Units of each model, all from one benchmark.
        level, n_resamples, seed: As for :meth:`Units.compare`.

    Raises:
        InputError: Numbers of models that differ, or none; otherwise as :meth:`Units.compare`.
    """
    if not ours or len(ours) != len(others):
        raise InputError(f"expected as many models as others, at least one, found {len(ours)} and {len(others)}")
    for units in [*ours[1:], *others]:
        ours[0].check_same(units)
    ends = _ends(level)
    pairs = [(one.draws, other.draws) for one, other in zip(ours, others)]
    first = ours[0].draws
    difference = float(np.mean([one.value - other.value for one, other in pairs]))

    def of_pairs(draw: Callable[[Resampler, Resampler, np.random.Generator, int], np.ndarray]) -> np.ndarray:
        """The mean over the pairs of what is drawn with the same random numbers for each."""

        def drawn(rng: np.random.Generator, n: int) -> np.ndarray:
            state = rng.bit_generator.state
            found = []
            for one, other in pairs:
                rng.bit_generator.state = state
                found.append(draw(one, other, rng, n))
            return np.mean(found, axis=0)

        return _in_steps(n_resamples, len(first), seed, drawn)

    def bootstrap(one: Resampler, other: Resampler, rng: np.random.Generator, n: int) -> np.ndarray:
        state = rng.bit_generator.state
        drawn = one.bootstrap(rng, n)
        rng.bit_generator.state = state  # the same units of both
        return drawn - other.bootstrap(rng, n)

    differences = of_pairs(bootstrap)
    low, high = np.quantile(differences, ends)
    null = differences - difference  # the centered bootstrap (Hall and Wilson 1991)
    if first.exchangeable:
        null = of_pairs(lambda one, other, rng, n: one.permute(other, rng, n))
    as_far = int((np.abs(null) >= abs(difference) - 1e-9).sum())
    return PairedTest(difference, float(low), float(high), (as_far + 1) / (n_resamples + 1), len(ours[0]))


def _ends(level: float) -> list[float]:
    """The quantiles at both ends of an interval."""
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, found {level}")
    return [(1 - level) / 2, (1 + level) / 2]


def _in_steps(
    n_resamples: int, n_units: int, seed: int, draw: Callable[[np.random.Generator, int], np.ndarray]
) -> np.ndarray:
    """``n_resamples`` draws, few enough at a time that their random numbers fit in memory."""
    if n_resamples < 1:
        raise InputError(f"n_resamples must be at least 1, found {n_resamples}")
    if seed < 0:
        raise InputError(f"seed must not be negative, found {seed}")
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // n_units)
    return np.concatenate([draw(rng, min(step, n_resamples - start)) for start in range(0, n_resamples, step)])
