"""The shares of an average."""

from __future__ import annotations

from collections.abc import Sequence

from st_biomed.errors import InputError

_ROUNDING = 1e-6
"""How far a sum of shares that a person writes may be from 1."""


def check_weights(weights: Sequence[float], n: int) -> None:
    """Refuse weights that make no average.

    Raises:
        InputError: Another number of them than ``n`` or none, one below 0, or a sum that is not 1.
    """
    shown = ", ".join(f"{weight:g}" for weight in weights)
    if len(weights) != n or not n:
        raise InputError(f"weights: one for each of {n} models is needed, found {len(weights)} ({shown or 'none'})")
    if not all(weight >= 0 for weight in weights):
        raise InputError(f"weights must be at least 0, found {shown}")
    if not abs(sum(weights) - 1) <= _ROUNDING:
        raise InputError(f"weights must add up to 1, found {shown}, which make {sum(weights):g}")
