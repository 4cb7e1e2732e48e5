"""Rank statistics: separation of two classes by scores, and rank correlation. Ties count half."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from st_biomed.errors import InputError
from st_biomed.metrics.scores import checked, counts_at_thresholds


def roc_auc(positive: ArrayLike, negative: ArrayLike) -> float:
    """Probability that a positive scores above a negative, with ties counted half: the area under the ROC curve.

    It is the Mann-Whitney statistic, counted by binary search in ``O((P + N) log N)`` with exact integers.

    Args:
        positive: Scores of the positives, ``[P]``.
        negative: Scores of the negatives, ``[N]``.

    Raises:
        InputError: An empty class, or NaN.

    Example:
        >>> roc_auc([0.9, 0.8], [0.8, 0.1])
        0.875
    """
    positive, negative = checked(positive, "positive scores"), np.sort(checked(negative, "negative scores"))
    below = np.searchsorted(negative, positive, side="left").sum()
    below_or_tied = np.searchsorted(negative, positive, side="right").sum()
    return float((below + below_or_tied) / (2 * len(positive) * len(negative)))


def roc_curve(positive: ArrayLike, negative: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """False and true positive rate at every distinct score in descending order, ``[K + 1]`` both, starting at (0, 0).

    The arguments and errors are those of :func:`roc_auc`.
    """
    hits, false = counts_at_thresholds(positive, negative)
    return np.r_[0.0, false / false[-1]], np.r_[0.0, hits / hits[-1]]


def spearman(a: ArrayLike, b: ArrayLike) -> float:
    """Spearman's rank correlation with average ranks for ties.

    If one side is constant, the correlation is 0, in line with an AUC of 0.5. It is not NaN, which would break the
    choice of the best checkpoint.

    Args:
        a, b: Paired numbers, ``[N]`` each.

    Raises:
        InputError: Different lengths, no numbers, or NaN.
    """
    a, b = checked(a, "first side"), checked(b, "second side")
    if len(a) != len(b):
        raise InputError(f"spearman needs pairs, found {len(a):,} and {len(b):,} numbers")
    return float(spearman_of_rows(a, b))


def spearman_of_rows(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """:func:`spearman` of each row.

    Args:
        a, b: Paired finite numbers, ``[..., N]`` and ``[..., N]``; the leading sizes are broadcast.

    Returns:
        ``[...]``.
    """
    middle = (a.shape[-1] + 1) / 2
    ranks_a, ranks_b = rankdata(a, axis=-1) - middle, rankdata(b, axis=-1) - middle
    scale = np.sqrt(np.square(ranks_a).sum(axis=-1) * np.square(ranks_b).sum(axis=-1))
    return np.divide((ranks_a * ranks_b).sum(axis=-1), scale, out=np.zeros_like(scale), where=scale > 0)


def pearson(a: np.ndarray, b: np.ndarray) -> float:
    """Product-moment correlation; 0 where a side is constant."""
    a, b = a.astype(np.float64) - a.mean(dtype=np.float64), b - b.mean()
    scale = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / scale) if scale > 0 else 0.0
