"""The mean of a figure over seeds, with a confidence interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student

from st_biomed.errors import InputError
from st_biomed.metrics.significance import Interval


def seed_interval(values: Sequence[float], *, level: float = 0.95) -> Interval:
    """Mean of a figure over seeds, with Student's interval of the mean, ``mean +- t * s / sqrt(n)`` with n - 1 degrees of freedom.

    It says what another draw of seeds would change, on the same units of the same benchmark; what other units would change is
    in the interval of each seed.

    Raises:
        InputError: Fewer than two values, or a level outside (0, 1).

    Example:
        >>> [round(bound, 3) for bound in seed_interval([0.1, 0.2, 0.3])]
        [0.2, -0.048, 0.448]
    """
    if len(values) < 2:
        raise InputError(f"an interval over seeds needs at least two, found {len(values)}")
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, found {level}")
    mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
    half = float(student.ppf((1 + level) / 2, len(values) - 1)) * deviation / len(values) ** 0.5
    return Interval(mean, mean - half, mean + half)


def shown_over_seeds(values: Sequence[float], form: str = ".3f") -> str:
    """The mean of a figure over seeds, with its interval if there are two seeds: ``"0.200 (-0.048 to 0.448)"``.

    Args:
        form: Format of the numbers; a difference has ``"+.3f"``.
    """
    if len(values) < 2:
        return f"{values[0]:{form}}"
    mean, low, high = seed_interval(values)
    return f"{mean:{form}} ({low:{form}} to {high:{form}})"
