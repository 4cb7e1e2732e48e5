"""The rule that selects the share of a trained encoder by figures of dev."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from st_biomed.errors import InputError


def candidate_shares(steps: int) -> list[float]:
    """The shares of the trained encoder that are measured, in equal steps from 0 to 1.

    Args:
        steps: Number of steps, at least 1.

    Raises:
        InputError: Fewer steps.
    """
    if steps < 1:
        raise InputError(f"steps must be at least 1, found {steps}")
    return [i / steps for i in range(steps + 1)]


def choose_weight(shares: Mapping[float, Mapping[str, float]], tolerance: float = 0.0) -> float:
    """The share with the largest mean gain over the base model, among the shares at which no benchmark loses.

    A benchmark loses if it is below the base model by more than the tolerance. The smallest of shares with equal gains
    is chosen. It is 0, the base model, if no other share has a gain.

    Args:
        shares: Share of the trained encoder, including 0, to benchmark to figure. Each figure is divided by its
            largest possible value, so that differences can be averaged.
        tolerance: The allowed loss.

    Raises:
        InputError: No figures at 0, or no benchmark.
    """
    base = shares.get(0.0)
    if not base:
        raise InputError("shares: expected figures of the base model, at 0")
    chosen, best = 0.0, 0.0
    for weight, figures in sorted(shares.items()):
        gains = [figures[name] - base[name] for name in base]
        if all(gain >= -tolerance for gain in gains) and fmean(gains) > best:
            chosen, best = weight, fmean(gains)
    return chosen
