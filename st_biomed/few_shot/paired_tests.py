"""Paired tests of an encoder against the input encoder, over the units of every benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.metrics.significance import Units

RESAMPLES = 1000
"""Draws of each test; p is never below 1 / 1001."""


@dataclass(frozen=True)
class DrawTest:
    """One run beside the input on the same units, by the primary metric of an evaluator.

    Attributes:
        difference: Figure of the run minus that of the input.
        low, high: 95% bootstrap interval of the difference over the units, at this draw of names.
        p: Two-sided p value of the approximate randomization test, not adjusted.
        n: Number of units.
        unit: The unit, e.g. ``"pair"``.
    """

    difference: float
    low: float
    high: float
    p: float
    n: int
    unit: str


def primary_units(suite: EvaluatorSuite) -> dict[str, Units]:
    """Evaluator to the units of its primary metric in the last measurement; evaluators without units are left out."""
    return {test.name: next(iter(test.units.values())) for test in suite.tests if test.units}


def compared_with_input(
    before: Mapping[str, Units], after: Mapping[str, Units], *, n_resamples: int = RESAMPLES
) -> dict[str, DrawTest]:
    """Compare a run with the input on each evaluator that measured it, see :meth:`st_biomed.metrics.Units.compare`.

    Args:
        before: Units of the input, from :func:`primary_units`.
        after: Units of the run; its evaluators are among those of the input.
        n_resamples: Draws of each test and interval; 0 for no tests.

    Raises:
        InputError: Other units than those of the input.
    """
    if not n_resamples:
        return {}
    found = {}
    for name, units in after.items():
        test = units.compare(before[name], n_resamples=n_resamples)
        found[name] = DrawTest(test.difference, test.low, test.high, test.p_value, test.n, units.unit)
    return found
