"""Measure models on benchmarks, keep what was measured, and go on where a run stopped."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Unpack

from st_biomed.errors import InputError
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluatorOptions
from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.leaderboard.models import MeasuredModel, OpenModel
from st_biomed.leaderboard.progress import Progress
from st_biomed.leaderboard.provenance import definition_of, now, versions
from st_biomed.leaderboard.results import Result, ResultsFolder, result_key

logger = logging.getLogger(__name__)


@dataclass
class Measured:
    """What a run has to say.

    Attributes:
        results: Of every model on every benchmark that could be measured, model by model.
        missing: Benchmark to the files it lacks.
        failed: Model and benchmark to the one line that says why.
    """

    results: list[Result] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)


def measure(
    models: Sequence[MeasuredModel],
    benchmarks: Sequence[Benchmark],
    folder: ResultsFolder,
    *,
    as_published: bool = False,
    device: str | None = None,
    trust_remote_code: bool = False,
    progress: Callable[[str], None] = lambda line: None,
    signs_of_life: bool = False,
    **options: Unpack[EvaluatorOptions],
) -> Measured:
    """Measure every model on every benchmark whose data are there.

    A result that ``folder`` has with its units, of the same model with the same settings, is not measured again. A model
    that cannot be loaded or a benchmark that a model cannot be measured on is in what is returned and stops nothing else.

    Args:
        models: What is measured.
        benchmarks: On what.
        folder: Where results and units are kept.
        as_published: Score as the papers' scripts do where that differs.
        device: Where to compute; ``None`` for the best there is.
        trust_remote_code: Whether models may run code of somebody else, see :func:`~st_biomed.encoder.load_model`.
        progress: Takes a line whenever something was measured.
        signs_of_life: Whether it also takes one now and then about what is being measured, as a log without bars needs.
        **options: For all evaluators.
    """
    found = Measured(missing={one.name: files for one in benchmarks if (files := one.missing())})
    there = [one for one in benchmarks if one.name not in found.missing]

    long = Progress(progress if signs_of_life else None)

    @cache
    def evaluators(i: int) -> Sequence[EmbeddingEvaluator]:
        with long.of(f"{there[i].name}: reading its data"):
            return there[i].evaluator_settings().evaluators(as_published=as_published, **options)

    for measured in models:
        try:
            with long.of(f"{measured.name}: loading the model"):
                model = OpenModel(measured, device, trust_remote_code=trust_remote_code)
        except InputError as error:
            found.failed[measured.name, ""] = str(error)
            continue
        for i, benchmark in enumerate(there):
            try:
                for result in _results(model, benchmark, evaluators(i), folder, as_published, progress, long):
                    found.results.append(result)
            except InputError as error:
                found.failed[measured.name, benchmark.name] = str(error)
    return found


def _results(
    model: OpenModel,
    benchmark: Benchmark,
    evaluators: Sequence[EmbeddingEvaluator],
    folder: ResultsFolder,
    as_published: bool,
    progress: Callable[[str], None],
    long: Progress,
) -> Iterator[Result]:
    for evaluator in evaluators:
        settings = {**evaluator.get_config_dict(), "as_published": as_published}
        headline = evaluator.headline
        kept = folder.find(result_key(evaluator.name, model.digest, settings))
        if kept is not None and _has_units(kept, folder):
            progress(f"{model.measured.name}, {evaluator.name}: kept from an earlier run")
            yield folder.add(replace(kept, model=model.measured.name, headline=headline))
            continue
        started = time.perf_counter()
        with long.of(f"{model.measured.name}, {evaluator.name}", model.encoder, evaluator.n_texts):
            metrics = model.measure(evaluator)
        result = Result(
            benchmark=benchmark.name,
            evaluator=evaluator.name,
            model=model.measured.name,
            model_digest=model.digest,
            settings=settings,
            metrics=metrics,
            primary=evaluator.primary_metric,
            headline=headline,
            units={f"{evaluator.name}_{metric}": [len(one), one.unit] for metric, one in evaluator.units.items()},
            seconds=round(time.perf_counter() - started, 1),
            versions=versions(),
            definition=definition_of(benchmark),
            encoder=model.description,
            computation={"batch_size": evaluator.batch_size, "device": model.device, "bf16": evaluator.bf16},
            measured_at=now(),
        )
        progress(
            f"{model.measured.name}, {evaluator.name}: {evaluator.primary_metric} {metrics[evaluator.primary_metric]:.4f} "
            f"in {result.seconds:.0f} s"
        )
        yield folder.add(result, evaluator.units)


def _has_units(result: Result, folder: ResultsFolder) -> bool:
    try:
        folder.units(result)
    except InputError as error:
        logger.warning("%s, %s is measured again: %s", result.model, result.evaluator, error)
        return False
    return True
