"""What a figure is counted over: the numbers of each unit, from which it is drawn anew and compared between two models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from scipy.stats import rankdata

from st_biomed.errors import InputError, unknown_name
from st_biomed.metrics.discrimination import mean_auc
from st_biomed.metrics.ranking import spearman

_CELLS = 1 << 22  # numbers drawn at once: 32 MB


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

OF_RANKS: dict[str, Callable[[np.ndarray], float]] = {
    "spearman": lambda rows: spearman(rows[:, 0], rows[:, 1]),
    "mean_auc": lambda rows: mean_auc(rows[:, 0], rows[:, 1]),
}
"""Statistics of (score of the model, given number), ``[N, 2]``, that depend on the order of the scores alone."""


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
        p_value: Two-sided, of the randomization test.
        n: Number of units.
    """

    difference: float
    low: float
    high: float
    p_value: float
    n: int


@dataclass(frozen=True, eq=False)
class Units:
    """A figure as a statistic of what a model got on each unit of a benchmark.

    Args:
        unit: What is drawn: mention, pair, concept, relation, triple.
        rows: Numbers of each unit, ``[N, C]``; ``[N]`` for a plain mean.
        statistic: One of :data:`OF_SUMS` or :data:`OF_RANKS`.
        clusters: What is drawn with all its units, e.g. the document of each mention, ``[N]``.

    Raises:
        InputError: No unit, NaN, an unknown statistic, clusters of another length or with a statistic of ranks.

    Example:
        >>> ours, theirs = Units("mention", np.array([1, 1, 0, 1, 0])), Units("mention", np.array([1, 0, 0, 0, 0]))
        >>> ours.value, ours.interval()
        (0.6, Interval(value=0.6, low=0.2, high=1.0))
        >>> round(ours.compare(theirs).p_value, 1)
        0.5
    """

    unit: str
    rows: np.ndarray
    statistic: str = "mean"
    clusters: np.ndarray | None = None

    def __post_init__(self) -> None:
        rows = np.asarray(self.rows, dtype=np.float64)
        if rows.ndim == 1 and self.statistic == "mean":
            rows = np.stack([rows, np.ones_like(rows)], axis=1)
        if self.statistic not in {*OF_SUMS, *OF_RANKS}:
            raise unknown_name("statistic", self.statistic, [*OF_SUMS, *OF_RANKS])
        if rows.ndim != 2 or not len(rows):
            raise InputError(f"{self.unit}s: expected [N, C] numbers of at least one {self.unit}, found {rows.shape}")
        if not np.isfinite(rows).all():
            raise InputError(f"{self.unit}s: {int((~np.isfinite(rows)).any(axis=1).sum()):,} hold NaN or infinity")
        if self.clusters is not None:
            if self.statistic in OF_RANKS:
                raise InputError(f"clusters: {self.statistic} is drawn over single {self.unit}s")
            if np.shape(self.clusters) != (len(rows),):
                raise InputError(f"clusters: expected one for each of {len(rows):,} {self.unit}s")
        object.__setattr__(self, "rows", rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def value(self) -> float:
        """The figure itself."""
        return float(self._of(self.rows[None])[0])

    def interval(self, *, level: float = 0.95, n_resamples: int = 1000, seed: int = 0) -> Interval:
        """Percentile bootstrap interval over the units, or over their clusters (Efron and Tibshirani 1993, 13.3).

        Args:
            level: Share of the resampled figures inside the interval.
            n_resamples: Number of resamples.
            seed: Of the draws; the same seed draws the same units of any model.

        Raises:
            InputError: A level outside (0, 1), or fewer than one resample.
        """
        if not 0 < level < 1:
            raise InputError(f"level must lie between 0 and 1, found {level}")
        rows = self._drawn_rows
        drawn = _in_steps(n_resamples, len(rows), seed, lambda rng, n: self._of_draws(rows, rng, n))
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        return Interval(self.value, float(low), float(high))

    def compare(self, other: Units, *, level: float = 0.95, n_resamples: int = 10_000, seed: int = 0) -> PairedTest:
        """Is this figure above that of another model on the same units?

        An approximate randomization test (Noreen 1989; Yeh 2000): if the models were the same, what each got on a unit
        could as well have been got by the other, so the two are exchanged for half of the units at random, and p is the
        share of draws, the observed one among them, whose difference is at least as far from zero. Scores, whose
        scale is a model's own, are exchanged as ranks. The interval of the difference is the bootstrap's.

        Args:
            other: Of the other model, from the same benchmark.
            level: Of the interval.
            n_resamples: Draws of each kind; p is never below ``1 / (n_resamples + 1)``.
            seed: Of the draws.

        Raises:
            InputError: Other units or another statistic.
        """
        if (self.unit, self.statistic, self.rows.shape) != (other.unit, other.statistic, other.rows.shape):
            raise InputError(
                f"a paired test needs the same units, found {len(self):,} {self.unit}s ({self.statistic}) and "
                f"{len(other):,} {other.unit}s ({other.statistic})"
            )
        if self.statistic in OF_RANKS and not np.array_equal(self.rows[:, 1], other.rows[:, 1]):
            raise InputError(f"a paired test needs the same units, found {self.unit}s with other given numbers")
        both = np.stack([self._drawn_rows, other._drawn_rows])
        if self.statistic in OF_RANKS:
            both[:, :, 0] = rankdata(both[:, :, 0], axis=1)
        difference = self.value - other.value

        def resampled(rng: np.random.Generator, n: int) -> np.ndarray:
            state = rng.bit_generator.state
            first = self._of_draws(both[0], rng, n)
            rng.bit_generator.state = state  # the same units of both
            return first - self._of_draws(both[1], rng, n)

        def exchanged(rng: np.random.Generator, n: int) -> np.ndarray:
            swap = rng.integers(2, size=(n, both.shape[1]), dtype=np.int8).astype(bool)
            if self.statistic in OF_SUMS:
                total, moved = both.sum(axis=1), swap @ (both[1] - both[0])
                return OF_SUMS[self.statistic](total[0] + moved) - OF_SUMS[self.statistic](total[1] - moved)
            pairs = [np.where(one[:, None], both[::-1], both) for one in swap]
            return np.array([self._of(pair[:1])[0] - self._of(pair[1:])[0] for pair in pairs])

        low, high = np.quantile(
            _in_steps(n_resamples, both.shape[1], seed, resampled), [(1 - level) / 2, (1 + level) / 2]
        )
        null = _in_steps(n_resamples, both.shape[1], seed, exchanged)
        as_far = int((np.abs(null) >= abs(difference) - 1e-9).sum())
        p_value = (as_far + 1) / (n_resamples + 1)
        return PairedTest(difference, float(low), float(high), p_value, len(self))

    @property
    def _drawn_rows(self) -> np.ndarray:
        """Rows of what is drawn, ``[M, C]``: the units, or the sums of each cluster in the order of their names."""
        if self.clusters is None:
            return self.rows
        of = np.unique(self.clusters, return_inverse=True)[1]
        sums = np.zeros((int(of.max()) + 1, self.rows.shape[1]))
        np.add.at(sums, of, self.rows)
        return sums

    def _of(self, draws: np.ndarray) -> np.ndarray:
        """The statistic of each of S draws, ``[S, N, C]`` to ``[S]``."""
        if self.statistic in OF_SUMS:
            return OF_SUMS[self.statistic](draws.sum(axis=1))
        return np.array([OF_RANKS[self.statistic](rows) for rows in draws])

    def _of_draws(self, rows: np.ndarray, rng: np.random.Generator, n: int) -> np.ndarray:
        """The statistic of n draws with replacement."""
        drawn = rng.integers(len(rows), size=(n, len(rows)))
        if self.statistic in OF_SUMS:
            times = np.stack([np.bincount(one, minlength=len(rows)) for one in drawn])
            return OF_SUMS[self.statistic](times.astype(np.float64) @ rows)
        return np.array([OF_RANKS[self.statistic](rows[one]) for one in drawn])


def save_units(path: str | Path, units: Mapping[str, Units]) -> None:
    """Write what :func:`load_units` reads: an uncompressed ``.npz``."""
    arrays: dict[str, np.ndarray] = {}
    for metric, one in units.items():
        arrays[f"{metric}/rows"] = one.rows
        arrays[f"{metric}/kind"] = np.array([one.unit, one.statistic])
        if one.clusters is not None:
            arrays[f"{metric}/clusters"] = np.asarray(one.clusters, dtype=str)
    with Path(path).open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def load_units(path: str | Path) -> dict[str, Units]:
    """Units by metric, as :func:`save_units` wrote them.

    Raises:
        InputError: No such file, or one of another kind.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            metrics = [name.removesuffix("/kind") for name in arrays if name.endswith("/kind")]
            return {
                metric: Units(
                    str(arrays[f"{metric}/kind"][0]),
                    arrays[f"{metric}/rows"],
                    str(arrays[f"{metric}/kind"][1]),
                    arrays.get(f"{metric}/clusters"),
                )
                for metric in metrics
            }
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise InputError(f"{path}: cannot be read as the units of a benchmark ({error})") from error


def _in_steps(
    n_resamples: int, n_units: int, seed: int, draw: Callable[[np.random.Generator, int], np.ndarray]
) -> np.ndarray:
    """``n_resamples`` draws, few enough at a time that their random numbers fit in memory."""
    if n_resamples < 1:
        raise InputError(f"n_resamples must be at least 1, found {n_resamples}")
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // n_units)
    return np.concatenate([draw(rng, min(step, n_resamples - start)) for start in range(0, n_resamples, step)])
