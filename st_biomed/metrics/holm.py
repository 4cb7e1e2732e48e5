"""Many tests at once: Holm's adjustment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from st_biomed.errors import InputError


def holm(p_values: Sequence[float]) -> list[float]:
    """P values adjusted for their number, which hold whatever depends on what (Holm 1979, A simple sequentially rejective procedure).

    The smallest of m is multiplied by m, the next by m - 1, and so on; none becomes smaller than the one before, and none
    larger than 1. Where all that are adjusted to less than a level are called different, the chance that any one of them is
    not is below that level.

    Args:
        p_values: Of m tests, in any order.

    Returns:
        The m adjusted ones, in the same order.

    Raises:
        InputError: One that is no number from 0 to 1.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    found = np.asarray(p_values, dtype=np.float64)
    if not ((found >= 0) & (found <= 1)).all():
        raise InputError(f"p_values lie between 0 and 1, found {[float(p_value) for p_value in found]}")
    order = np.argsort(found, kind="stable")
    factors = np.arange(len(found), 0, -1)
    adjusted = np.empty_like(found)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(found[order] * factors))
    return [float(p_value) for p_value in adjusted]
