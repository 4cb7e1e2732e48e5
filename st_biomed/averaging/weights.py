"""The shares of an average."""

from __future__ import annotations

from collections.abc import Sequence

from st_biomed.errors import InputError

_ROUNDING = 1e-6
"""Tolerance of the sum of user-defined shares."""


def check_weights(weights: Sequence[float], n: int) -> None:
    """Reject invalid weights.

    Raises:
        InputError: No weights or not ``n`` of them, a negative one, or a sum other than 1.
    """
    shown = ", ".join(f"{weight:g}" for weight in weights)
    if len(weights) != n or not n:
        raise InputError(f"weights: expected one for each of {n} models, found {len(weights)} ({shown or 'none'})")
    if not all(weight >= 0 for weight in weights):
        raise InputError(f"weights must be at least 0, found {shown}")
    if not abs(sum(weights) - 1) <= _ROUNDING:
        raise InputError(f"weights must add up to 1, found {shown} with the sum {sum(weights):g}")
