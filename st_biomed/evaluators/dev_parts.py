"""The dev parts of benchmarks: what settings may be chosen on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Unpack

from st_biomed.errors import InputError
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluatorOptions
from st_biomed.evaluators.benchmark import Benchmark, chosen_benchmarks


def with_dev_parts(names: Iterable[str | Path]) -> list[Benchmark]:
    """Benchmarks whose dev parts can be measured here.

    Args:
        names: Files, or names in ``evaluation/benchmarks``.

    Raises:
        InputError: As :func:`~st_biomed.evaluators.benchmark.chosen_benchmarks`, or a benchmark that has no dev part: relatedness,
            MCSM and their like, whole terminologies and data sets in folds have none.
    """
    chosen = chosen_benchmarks(names)
    for benchmark in chosen:
        if not getattr(benchmark.evaluator_settings(), "has_dev", False):
            raise InputError(f"{benchmark.name}: has no dev part ({benchmark.evaluator}), nothing may be chosen on it")
    return chosen


def dev_evaluators(names: Iterable[str | Path], **options: Unpack[EvaluatorOptions]) -> list[EmbeddingEvaluator]:
    """The evaluators of the dev parts of benchmarks, called ``<benchmark>_dev``.

    Args:
        names: As of :func:`with_dev_parts`.
        **options: For all, ``name`` apart.

    Raises:
        InputError: As :func:`with_dev_parts`, or whatever is wrong with the files.
    """
    found: list[EmbeddingEvaluator] = []
    for benchmark in with_dev_parts(names):
        settings: Any = benchmark.evaluator_settings()
        found += settings.dev_evaluators(**options)
    return found
