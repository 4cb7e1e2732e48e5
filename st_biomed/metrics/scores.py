"""Shared functions of metrics on scores: the check of the input, and the counts of the curves."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from st_biomed.errors import InputError


def checked(values: ArrayLike, name: str) -> np.ndarray:
    """The values as float64 ``[N]``.

    Args:
        values: Scores, one per item.
        name: Name of the scores in the error message.

    Raises:
        InputError: Not one-dimensional, empty, or NaN among them.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"{name}: expected one row of numbers, found shape {array.shape}")
    if array.size == 0:
        raise InputError(f"{name}: expected at least one number, found none")
    if n := int(np.isnan(array).sum()):
        raise InputError(f"{name}: {n:,} of {array.size:,} numbers are NaN")
    return array


def counts_at_thresholds(positive: ArrayLike, negative: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of positives and negatives with at least each distinct score, in descending order, ``[K]`` both.

    Args:
        positive: Scores of the positives, ``[P]``.
        negative: Scores of the negatives, ``[N]``.

    Raises:
        InputError: An empty class, or NaN.
    """
    sides = checked(positive, "positive scores"), checked(negative, "negative scores")
    thresholds = np.unique(np.concatenate(sides))[::-1]
    hits, false = (len(side) - np.searchsorted(np.sort(side), thresholds) for side in sides)
    return hits, false
