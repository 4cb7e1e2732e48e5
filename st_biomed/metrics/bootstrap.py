"""How sure a mean over mentions is, and whether two models really differ on the same mentions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from st_biomed.errors import InputError
from st_biomed.metrics.scores import checked

_DRAWS = 1 << 22  # random numbers at once: 32 MB


class Interval(NamedTuple):
    """A mean and the interval around it."""

    mean: float
    low: float
    high: float


class PairedTest(NamedTuple):
    """Two models on the same mentions.

    Attributes:
        difference: Mean of the first minus mean of the second.
        low, high: Percentile bootstrap interval of the difference.
        p_value: Two-sided, of the randomization test.
        n: Number of mentions.
    """

    difference: float
    low: float
    high: float
    p_value: float
    n: int


def bootstrap_interval(
    values: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """Percentile bootstrap interval of a mean (Efron and Tibshirani 1993, section 13.3).

    Args:
        values: One number per mention, ``[N]``.
        clusters: What is drawn with all its mentions, e.g. the document of each, ``[N]``: mentions of one document
            are not independent, and an interval over mentions is then too narrow. ``None`` draws mentions.
        level: Share of the resampled means inside the interval.
        n_resamples: Number of resamples.
        seed: Of the draws; the same seed draws the same mentions of any model.

    Raises:
        InputError: No values, NaN, other lengths, a level outside (0, 1), or fewer than one resample.
    """
    values = checked(values, "values")
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, found {level}")
    sums, sizes = _per_cluster(values, clusters)
    rng = np.random.default_rng(seed)
    means = np.empty(_at_least_one(n_resamples))
    step = max(1, _DRAWS // len(sums))
    for start in range(0, n_resamples, step):
        drawn = rng.integers(len(sums), size=(min(step, n_resamples - start), len(sums)))
        means[start : start + step] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(values.mean()), float(low), float(high))


def paired_test(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike | None = None,
    *,
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> PairedTest:
    """Approximate randomization test of the difference between two means over the same mentions, with an interval.

    If the models were the same, which of the two got a mention right would be a matter of chance: the sign of each
    difference is drawn anew, and p is the share of draws, the observed one among them, whose mean is at least as far
    from zero (Noreen 1989; Yeh 2000 for figures of language processing). Unlike a bootstrap of the difference it
    samples under the null hypothesis, and it asks for no distribution.

    Args:
        first, second: One number per mention of each model, ``[N]``.
        clusters: What keeps its signs together, e.g. the document of each mention, ``[N]``.
        level: Of the interval, see :func:`bootstrap_interval`.
        n_resamples: Draws of signs, and resamples of the interval; p is never below ``1 / (n_resamples + 1)``.
        seed: Of the draws.

    Raises:
        InputError: Other lengths, or what :func:`bootstrap_interval` refuses.
    """
    first, second = checked(first, "first"), checked(second, "second")
    if len(first) != len(second):
        raise InputError(f"a paired test needs the same mentions, found {len(first):,} and {len(second):,} numbers")
    difference = first - second
    interval = bootstrap_interval(difference, clusters, level=level, n_resamples=n_resamples, seed=seed)
    sums, _ = _per_cluster(difference, clusters)
    sums = sums[sums != 0]  # their sign changes nothing
    observed = abs(sums.sum()) - 1e-9 * np.abs(sums).sum()  # sums of the same numbers in another order still count
    rng = np.random.default_rng(seed)
    as_far = 1
    step = max(1, _DRAWS // max(1, len(sums)))
    for start in range(0, n_resamples, step):
        signs = rng.integers(2, size=(min(step, n_resamples - start), len(sums)), dtype=np.int8) * 2 - 1
        as_far += int((np.abs(signs @ sums) >= observed).sum())
    return PairedTest(interval.mean, interval.low, interval.high, as_far / (n_resamples + 1), len(difference))


def _at_least_one(n_resamples: int) -> int:
    if n_resamples < 1:
        raise InputError(f"n_resamples must be at least 1, found {n_resamples}")
    return n_resamples


def _per_cluster(values: np.ndarray, clusters: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Sum and number of the values of each cluster, in the order of the clusters' names."""
    if clusters is None:
        return values, np.ones(len(values))
    clusters = np.asarray(clusters)
    if clusters.shape != values.shape:
        raise InputError(f"clusters: expected one for each of {len(values):,} values, found shape {clusters.shape}")
    of = np.unique(clusters, return_inverse=True)[1]
    return np.bincount(of, weights=values), np.bincount(of).astype(np.float64)
