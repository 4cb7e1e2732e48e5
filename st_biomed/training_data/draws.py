"""Draws without replacement for many rows at once."""

from __future__ import annotations

import numpy as np


def draw_distinct(rng: np.random.Generator, sizes: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """For each row, up to ``k`` distinct integers below its size, with equal probability for every set.

    This is Floyd's algorithm (Bentley and Floyd, "A sample of brilliance", 1987), with one step for all rows together.
    A row of size at most ``k`` returns all its integers.

    Args:
        sizes: Number of integers of each row, ``[N]``.

    Returns:
        ``(row, value)``, both ``[M]``, sorted by row: ``value[m]`` was drawn for ``row[m]`` (int32).
    """
    sizes = np.asarray(sizes, dtype=np.int64)
    counts = np.minimum(sizes, k)
    row = np.repeat(np.arange(len(sizes), dtype=np.int32), counts)
    value = np.arange(len(row))
    value -= np.repeat(np.cumsum(counts) - counts, counts)
    large = sizes > k
    top = sizes[large] - k
    if len(top):
        drawn = np.empty((len(top), k), dtype=np.int64)
        for step in range(k):
            candidate = rng.integers(0, top + step + 1)
            taken = (drawn[:, :step] == candidate[:, None]).any(axis=1)
            drawn[:, step] = np.where(taken, top + step, candidate)
        value[large[row]] = drawn.reshape(-1)
    return row, value


def pair_of(number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs ``i < j`` with the given numbers in the order (0, 1), (0, 2), (1, 2), (0, 3), ..."""
    j = ((1 + np.sqrt(1 + 8 * number)) // 2).astype(np.int64)
    return number - j * (j - 1) // 2, j
