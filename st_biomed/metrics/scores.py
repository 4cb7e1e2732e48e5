"""The one check every metric makes of the scores it is given."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from st_biomed.errors import InputError


def checked(values: ArrayLike, name: str) -> np.ndarray:
    """The values as float64 ``[N]``.

    Args:
        values: Scores, one per item.
        name: What the error message calls them.

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
