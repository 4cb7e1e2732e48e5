"""Training, validation and test triples; validation and test contain only entities and relations seen in training."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from st_biomed.errors import InputError, check_integer, shown
from st_biomed.settings.declared_types import fits

SHARES = (0.9, 0.04, 0.06)
"""Shares of train, valid and test: "We then use 90%/6%/4% training/test/validation split ratio" (Italian paper, 3.1)."""


def split_triples(
    triples: np.ndarray, shares: Sequence[float] = SHARES, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hold out random triples whose entities and relation all remain in another training triple.

    "Data is split in such a way that the test and validation sets contain only entities and relations already seen in
    the training set" (Italian paper, 3.1). A tree has few triples that can be held out, because a leaf has only one.
    The shares are then smaller than requested, with valid and test in their ratio.

    Args:
        triples: (head, relation, tail), integers ``[T, 3]``, without repeats and without equal ends.
        shares: Shares of train, valid and test, which add up to 1.
        seed: Random seed, from 0 on.

    Returns:
        Train, valid and test, int64 ``[., 3]`` each, in the order of ``triples``.

    Raises:
        InputError: Not three valid shares, no share for training, or a seed below 0.
    """
    check_integer("seed", seed, 0)
    if isinstance(shares, str) or not fits(shares, Sequence[float]):
        raise InputError(f"shares: expected three numbers, found {shown(shares)}")
    if len(shares) != 3 or min(shares) < 0 or shares[0] <= 0 or not math.isclose(sum(shares), 1):
        raise InputError(
            f"shares: expected those of train, valid and test, which add up to 1, found {', '.join(map(str, shares))}"
        )
    triples = np.asarray(triples, dtype=np.int64).reshape(-1, 3)
    order = np.random.default_rng(seed).permutation(len(triples))
    wanted = round(len(triples) * shares[1]) + round(len(triples) * shares[2])
    held_out = np.array(_removable(triples, order, wanted), dtype=np.int64)
    n_valid = round(len(held_out) * shares[1] / (shares[1] + shares[2])) if len(held_out) else 0
    part = np.zeros(len(triples), dtype=np.int8)
    part[held_out[:n_valid]], part[held_out[n_valid:]] = 1, 2
    return triples[part == 0], triples[part == 1], triples[part == 2]


def _removable(triples: np.ndarray, order: np.ndarray, wanted: int) -> list[int]:
    """Rows, in their order, without which every entity and relation still has a triple; at most ``wanted``."""
    if not wanted:
        return []
    of_entity = np.bincount(triples[:, [0, 2]].ravel()).tolist()
    of_relation = np.bincount(triples[:, 1]).tolist()
    free = []
    for row, (head, relation, tail) in zip(order.tolist(), triples[order].tolist()):
        if of_entity[head] > 1 and of_entity[tail] > 1 and of_relation[relation] > 1:
            free.append(row)
            if len(free) == wanted:
                break
            of_entity[head] -= 1
            of_entity[tail] -= 1
            of_relation[relation] -= 1
    return free
