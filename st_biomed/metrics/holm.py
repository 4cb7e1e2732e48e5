"""Many tests at once: Holm's adjustment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from st_biomed.errors import InputError


def holm(p_values: Sequence[float]) -> list[float]:
    """P values adjusted for multiple tests, valid under any dependence.

    The smallest of m is multiplied by m, the next by m - 1, and so on; the result is monotone and at most 1. If all tests
    with an adjusted p below a level are rejected, the probability of any false rejection is at most that level.

    The source is Holm 1979, *A simple sequentially rejective multiple test procedure*.

    Args:
        p_values: Of m tests, in any order.

    Returns:
        The m adjusted p values, in the same order.

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
