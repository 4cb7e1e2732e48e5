"""Which share of a trained encoder is released: the rule, on figures of dev."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from st_biomed.errors import InputError

GRID = tuple(i / 10 for i in range(11))
"""Shares of the trained encoder that are tried."""


def choose_weight(shares: Mapping[float, Mapping[str, float]], tolerance: float = 0.0) -> float:
    """The share with the largest mean gain over the base model, among those at which no benchmark loses.

    A benchmark loses where it is below the base model by more than the tolerance. Of shares with equal gains the smallest is
    taken, which is 0, the base model, where no other gains anything.

    Args:
        shares: Share of the trained encoder, 0 among them, to benchmark to figure; each figure as a share of the largest value that
            it can have, so that their differences can be averaged.
        tolerance: What may be lost.

    Raises:
        InputError: No figures at 0, or no benchmark.
    """
    base = shares.get(0.0)
    if not base:
        raise InputError("shares: figures of the base model, at 0, are needed")
    chosen, best = 0.0, 0.0
    for weight, figures in sorted(shares.items()):
        gains = [figures[name] - base[name] for name in base]
        if all(gain >= -tolerance for gain in gains) and fmean(gains) > best:
            chosen, best = weight, fmean(gains)
    return chosen
