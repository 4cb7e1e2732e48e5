"""The outcomes of an experiment whose seeds ran as separate commands."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError, shown
from st_biomed.few_shot.outcomes import FewShotRun, Outcomes
from st_biomed.few_shot.paired_tests import DrawTest
from st_biomed.settings.declared_types import fits, in_words

OWN = ("seeds", "release_seed", "output_dir", "cache_dir", "overwrite")
"""Arguments that may differ between the commands of one experiment."""


def merged_outcomes(paths: Sequence[str | Path]) -> Outcomes:
    """The outcomes of several ``results.json`` as those of one experiment; p values are adjusted over all of its draws.

    Args:
        paths: Files of :meth:`Outcomes.save`, with the same settings and other seeds.

    Raises:
        InputError: No files, no such file or another kind of file, other settings, benchmarks or figures of the base, or a
            draw that occurs twice.
    """
    if not paths:
        raise InputError("results: expected at least one results.json, found none")
    contents = [_read(Path(path)) for path in paths]
    (first, shared, _), *_ = contents
    runs: dict[tuple[str, int, int], FewShotRun] = {}
    for path, (outcomes, settings, its_runs) in zip(paths, contents):
        if unequal := _unequal_base(first, outcomes):
            raise InputError(f"{path}: differs from {paths[0]} in the base figure of {unequal}")
        if different := sorted(key for key in {**shared, **settings} if settings.get(key) != shared.get(key)):
            raise InputError(f"{path}: differs from {paths[0]} in {', '.join(different)}")
        for run in its_runs:
            if (run.name, run.shots, run.seed) in runs:
                raise InputError(f"{path}: {run.name}, {run.shots} names, seed {run.seed} is in two files")
            runs[run.name, run.shots, run.seed] = run
    ordered = sorted(runs.values(), key=lambda run: (run.shots, run.seed))
    return Outcomes(first.base, first.metrics, first.labels, ordered)


def _unequal_base(first: Outcomes, other: Outcomes) -> str:
    """The first metric of the base that two files of one experiment do not share; empty if there is none."""
    for evaluator, metric in first.metrics.items():
        if not math.isclose(first.base[evaluator][metric], other.base[evaluator][metric], abs_tol=1e-4):
            return f"{evaluator}_{metric}"
    return ""


def _read(path: Path) -> tuple[Outcomes, dict[str, Any], list[FewShotRun]]:
    """The outcomes without runs, the settings, and the runs of a file."""
    try:
        content = json.loads(path.read_text("utf-8"))
        outcomes = Outcomes(content["base"], content["metrics"], content["labels"])
        runs = [_run(saved) for saved in content["runs"]]
        _check(outcomes, runs)
        return outcomes, _settings(content), runs
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as the results of a few-shot experiment ({error!r})") from error


def _settings(content: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the recipe and of the trainer and the benchmarks that the files of one experiment share."""
    arguments = {key: value for key, value in content["configuration"].items() if key not in OWN}
    return {**arguments, "metrics": content["metrics"], "labels": content["labels"]}


def _run(saved: dict[str, Any]) -> FewShotRun:
    fields = {key: value for key, value in saved.items() if key != "name"}
    tests = {
        name: DrawTest(**{key: value for key, value in test.items() if key != "p_holm"})
        for name, test in saved["tests"].items()
    }
    pair = saved["prototype_accuracies"]
    return FewShotRun(
        **{**fields, "sets": tuple(saved["sets"]), "prototype_accuracies": (pair[0], pair[1]), "tests": tests}
    )


def _check(outcomes: Outcomes, runs: Sequence[FewShotRun]) -> None:
    """Look up all that tables look up.

    Raises:
        LookupError, TypeError: Something is missing, or of another type.
    """
    for evaluator, metric in outcomes.metrics.items():
        numbers = [outcomes.base[evaluator][metric]]
        numbers += [run.results[evaluator][metric] for run in runs if evaluator in run.results]
        _check_types(numbers, float)
        _check_types([outcomes.labels[evaluator]], str)
    if not runs:
        raise LookupError("no run")
    for test in (test for run in runs for test in run.tests.values()):
        _check_types([test.difference, test.low, test.high, test.p], float)
        _check_types([test.n], int)
        _check_types([test.unit], str)
    for run in runs:
        _check_types([run.shots, run.seed], int)
        _check_types(run.sets, str)
        _check_types(run.prototype_accuracies, float)


def _check_types(values: Sequence[object], kind: type) -> None:
    for value in values:
        if not fits(value, kind):
            raise TypeError(f"expected {in_words(kind)}, found {shown(value)}")
