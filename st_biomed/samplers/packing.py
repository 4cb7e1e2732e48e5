"""Deal groups to batches of one size, so that no batch has two groups of one owner."""

from __future__ import annotations

import numpy as np


def max_batches(groups: np.ndarray, size: int) -> int:
    """The number of batches that can be filled with groups of different owners.

    ``n`` batches can be filled if ``sum(min(groups, n)) >= n * size``. The left side is concave in n, so every number
    up to the largest is possible.

    Args:
        groups: Number of groups of each owner, ``[N]``.
        size: Groups of every batch.
    """
    low, high = 0, int(groups.sum()) // size
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(groups, middle).sum()) >= middle * size:
            low = middle
        else:
            high = middle - 1
    return low


def fill_batches(rng: np.random.Generator, owners: np.ndarray, n_batches: int, size: int) -> np.ndarray:
    """Deal groups in rounds. Each round gives every batch one group, in its own order.

    The groups of an owner are consecutive, so the groups of one round go to different batches. If the groups of an
    owner lie in two rounds, the second round deals them to batches that got none of them in the first.

    Args:
        owners: Owner of each group, with the groups of one owner together, ``[G]``. Of an owner with more than
            ``n_batches`` groups, the first ``n_batches`` are dealt; of the remaining groups, the first
            ``n_batches * size``.
        n_batches: Number of batches, at most the number from :func:`max_batches`; at least one.
        size: Groups of every batch.

    Returns:
        Indices of groups, ``[n_batches, size]``.
    """
    begins = np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))
    place = np.arange(len(owners)) - np.repeat(begins, np.diff(np.append(begins, len(owners))))
    groups = np.flatnonzero(place < n_batches)[: n_batches * size].reshape(size, n_batches)
    batches = np.empty((n_batches, size), dtype=groups.dtype)
    before = np.empty(0, dtype=np.int64)
    for turn in range(size):
        owner = owners[groups[turn]]
        n_same = int((owner == owners[groups[turn - 1, -1]]).sum()) if turn else 0
        to = _permutation(rng, n_batches, n_same, before)
        batches[to, turn] = groups[turn]
        before = to[owner == owner[-1]]
    return batches


def _permutation(rng: np.random.Generator, n: int, k: int, avoided: np.ndarray) -> np.ndarray:
    """A random permutation of the integers below ``n`` whose first ``k`` avoid some of them."""
    shuffled = rng.permutation(n)
    if not k:
        return shuffled
    free = np.ones(n, dtype=bool)
    free[avoided] = False
    head = shuffled[free[shuffled]][:k]
    rest = np.ones(n, dtype=bool)
    rest[head] = False
    return np.concatenate([head, shuffled[rest[shuffled]]])
