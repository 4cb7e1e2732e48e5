"""Every benchmark of a model against its base, counted as gained, kept or lost."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import FAMILIES, OTHER_LANGUAGES, Benchmark
from st_biomed.leaderboard.metric_descriptions import better
from st_biomed.leaderboard.results import Result
from st_biomed.metrics.holm import holm
from st_biomed.metrics.significance import PairedTest
from st_biomed.release.portable import plain
from st_biomed.release.scorecard_data import DifferenceData, ScorecardData

ALPHA = 0.05
"""The significance level: a smaller p of a paired test makes a difference gained or lost."""

Tests = Mapping[str, Mapping[str, PairedTest]]
"""Primary metric to model to its test against the base, from :func:`~st_biomed.leaderboard.comparison.compare`."""


def scorecard(
    model: str,
    base: str,
    results: Sequence[Result],
    tests: Tests,
    benchmarks: Mapping[str, Benchmark],
    *,
    trained_on: Collection[str] | None = None,
    n_resamples: int,
    seed: int,
) -> ScorecardData:
    """The scorecard of one model.

    A benchmark counts once, by the primary metric of its evaluator; the raw form of a linking data set, before the
    steps of the benchmark, does not count. A benchmark is *gained* or *lost* if the two-sided p of the paired test is
    below .05, and *kept* otherwise; the scorecard also has Holm's p, adjusted for all its benchmarks.

    Args:
        results: Results of both; one of each model and evaluator.
        trained_on: Names of the sources that the model was trained on; ``None`` if there is no record.
        n_resamples, seed: Parameters of the tests.

    Raises:
        InputError: The model or the base was not measured, or a terminology of a benchmark cannot be read.
    """
    own = {result.evaluator: result for result in results if result.model == model and not result.is_raw}
    others = {result.evaluator: result for result in results if result.model == base}
    for name, results_of_model in ((model, own), (base, others)):
        if not results_of_model:
            raise InputError(f"scorecard: {name} was not measured on any benchmark")
    rows: list[DifferenceData] = []
    not_compared = []
    for evaluator, result in own.items():
        test = tests.get(result.primary, {}).get(model)
        if test is None:
            not_compared.append(result.benchmark)
            continue
        benchmark = benchmarks[result.benchmark]
        sources = benchmark.source_names() if trained_on else []
        rows.append(
            DifferenceData(
                benchmark=result.benchmark,
                family=benchmark.family,
                language=benchmark.language,
                metric=result.metric,
                outcome=outcome_of(test, better(result.metric)),
                in_domain=sorted(set(sources) & set(trained_on or ())),
                value=result.metrics[result.primary],
                base=others[evaluator].metrics[result.primary],
                difference=test.difference,
                low=test.low,
                high=test.high,
                p=test.p_value,
                p_holm=1.0,
                n=test.n,
                unit=result.units[result.primary][1],
            )
        )
    order = [*FAMILIES, OTHER_LANGUAGES]
    rows.sort(key=lambda row: order.index(row["family"]))  # a stable sort: the order of measurement within a family
    for row, adjusted in zip(rows, holm([row["p"] for row in rows])):
        row["p_holm"] = adjusted
    first, base_result = next(iter(own.values())), next(iter(others.values()))
    return ScorecardData(
        model=model,
        model_digest=first.model_digest,
        base=plain(base_result.encoder.get("model", base)),
        base_digest=base_result.model_digest,
        base_pooling=str(base_result.encoder.get("pooling", "")),
        base_max_length=int(base_result.encoder.get("max_length") or 0),
        alpha=ALPHA,
        draws=n_resamples,
        draws_seed=seed,
        as_published=bool(first.settings.get("as_published")),
        recorded=trained_on is not None,
        benchmarks=rows,
        not_compared=not_compared,
    )


def outcome_of(test: PairedTest, direction: int = 1) -> str:
    """Gained, kept or lost, by a paired test.

    Args:
        direction: -1 if smaller figures are better.
    """
    if test.p_value >= ALPHA:
        return "kept"
    return "gained" if test.difference * direction > 0 else "lost"
