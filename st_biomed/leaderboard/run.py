"""Measures models on benchmarks, stores the results, and continues interrupted runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Unpack

from st_biomed.errors import InputError
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluatorOptions
from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.leaderboard.models import LoadedModel, ModelSpec
from st_biomed.leaderboard.progress import ProgressLines
from st_biomed.leaderboard.provenance import definition_of, now, versions
from st_biomed.leaderboard.results import Result, ResultsFolder, result_key

logger = logging.getLogger(__name__)


@dataclass
class MeasuringReport:
    """The report of a run.

    Attributes:
        results: Results of every model on every available benchmark, model by model.
        missing: Benchmark to its missing files.
        failed: Model and benchmark to the error message.
    """

    results: list[Result] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)


def measure(
    models: Sequence[ModelSpec],
    benchmarks: Sequence[Benchmark],
    folder: ResultsFolder,
    *,
    as_published: bool = False,
    device: str | None = None,
    trust_remote_code: bool = False,
    progress: Callable[[str], None] = lambda line: None,
    signs_of_life: bool = False,
    **options: Unpack[EvaluatorOptions],
) -> MeasuringReport:
    """Measure every model on every benchmark whose data exist.

    Results in ``folder`` with their units, for the same model and settings, are not measured again; the names and
    descriptions of their model and benchmark become those of this request. A model that cannot be loaded or measured
    on a benchmark is reported in the return value, and the others are still measured.

    Args:
        as_published: Whether to score like the papers' scripts where these differ, and to cut names as they do.
        device: The device; ``None`` for the best available.
        trust_remote_code: Whether models may run their own code, see :func:`~st_biomed.encoder.load_model`.
        progress: Function that receives a line after each measurement.
        signs_of_life: Whether it also receives lines during slow steps, for logs without progress bars.
        **options: Options of all evaluators.
    """
    measurements = MeasuringReport(
        missing={benchmark_.name: files for benchmark_ in benchmarks if (files := benchmark_.missing())}
    )
    available = [benchmark_ for benchmark_ in benchmarks if benchmark_.name not in measurements.missing]

    long = ProgressLines(progress if signs_of_life else None)

    @cache
    def evaluators(i: int) -> Sequence[EmbeddingEvaluator]:
        with long.of(f"{available[i].name}: reading its data"):
            return available[i].evaluator_settings().evaluators(as_published=as_published, **options)

    for measured in models:
        try:
            with long.of(f"{measured.name}: loading the model"):
                model = LoadedModel(measured, device, trust_remote_code=trust_remote_code, as_published=as_published)
        except InputError as error:
            measurements.failed[measured.name, ""] = str(error)
            continue
        for i, benchmark in enumerate(available):
            try:
                for result in _results(model, benchmark, evaluators(i), folder, as_published, progress, long):
                    measurements.results.append(result)
            except InputError as error:
                measurements.failed[measured.name, benchmark.name] = str(error)
    return measurements


def _results(
    model: LoadedModel,
    benchmark: Benchmark,
    evaluators: Sequence[EmbeddingEvaluator],
    folder: ResultsFolder,
    as_published: bool,
    progress: Callable[[str], None],
    long: ProgressLines,
) -> Iterator[Result]:
    for evaluator in evaluators:
        settings = {**evaluator.get_config_dict(), **model.settings_of(evaluator), "as_published": as_published}
        described: dict[str, Any] = {
            "benchmark": benchmark.name,
            "model": model.measured.name,
            "headline": evaluator.headline,
            "definition": definition_of(benchmark),
            "encoder": model.description,
        }
        kept = folder.find(result_key(evaluator.name, model.digest, settings))
        if kept is not None and _has_units(kept, folder):
            progress(f"{model.measured.name}, {evaluator.name}: kept from an earlier run")
            yield folder.add(replace(kept, **described))
            continue
        started = time.perf_counter()
        with long.of(f"{model.measured.name}, {evaluator.name}", model.encoder, evaluator.n_texts):
            metrics = model.measure(evaluator)
        result = Result(
            evaluator=evaluator.name,
            model_digest=model.digest,
            settings=settings,
            metrics=metrics,
            primary=evaluator.primary_metric,
            units={
                f"{evaluator.name}_{metric}": [len(values), values.unit] for metric, values in evaluator.units.items()
            },
            seconds=round(time.perf_counter() - started, 1),
            versions=versions(),
            computation={"batch_size": evaluator.batch_size, "device": model.device, "bf16": evaluator.bf16},
            measured_at=now(),
            **described,
        )
        progress(
            f"{model.measured.name}, {evaluator.name}: {evaluator.primary_metric} "
            f"{metrics[evaluator.primary_metric]:.4f} in {result.seconds:.0f} s"
        )
        yield folder.add(result, evaluator.units)


def _has_units(result: Result, folder: ResultsFolder) -> bool:
    try:
        folder.units(result)
    except InputError as error:
        logger.warning("%s, %s is measured again: %s", result.model, result.evaluator, error)
        return False
    return True
