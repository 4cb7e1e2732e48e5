"""Paired tests of models on the same units."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from st_biomed.errors import InputError
from st_biomed.leaderboard.results import Result, ResultsFolder
from st_biomed.metrics.significance import PairedTest

logger = logging.getLogger(__name__)


def compare(
    results: Sequence[Result], reference: str, folder: ResultsFolder, *, n_resamples: int = 1000, seed: int = 0
) -> dict[str, dict[str, PairedTest]]:
    """Every model compared with one of them, on the primary metric of every evaluator.

    Args:
        reference: Name of the model that is subtracted.
        folder: The folder of the units and of earlier tests, which are not repeated for the same units.
        n_resamples, seed: Parameters of the tests, see :meth:`st_biomed.metrics.Units.compare`.

    Returns:
        Primary metric to model to test. Pairs with different units cannot be compared; they are left out and logged.

    Raises:
        InputError: The reference was not measured.
    """
    if reference not in {result.model for result in results}:
        measured = ", ".join(dict.fromkeys(result.model for result in results)) or "none"
        raise InputError(f"reference {reference!r} was not measured; measured were {measured}")
    kept, new = folder.tests(), {}
    tests: dict[str, dict[str, PairedTest]] = {}
    references = {result.evaluator: result for result in results if result.model == reference}
    for result in results:
        base = references.get(result.evaluator)
        if base is None or result.model == reference:
            continue
        of_units = f"{result.units_checksum} {base.units_checksum}"  # a result that is measured again has other units
        name = f"{result.key} {base.key} {result.metric} {n_resamples} {seed} {of_units}"
        if name not in kept:
            try:
                units, others = (folder.units(result_)[result.metric] for result_ in (result, base))
                new[name] = kept[name] = units.compare(others, n_resamples=n_resamples, seed=seed)
            except InputError as error:
                logger.warning("%s, %s and %s: %s", result.evaluator, result.model, reference, error)
                continue
        tests.setdefault(result.primary, {})[result.model] = kept[name]
    if new:
        folder.add_tests(new)
    return tests
