"""Results side by side, the published figures beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.evaluators.published_figures import PublishedFigure
from st_biomed.leaderboard.metric_descriptions import better, notes_of
from st_biomed.leaderboard.report import Cell, Table
from st_biomed.leaderboard.results import Result
from st_biomed.metrics.significance import PairedTest
from st_biomed.release.scorecard_text import shown_p

_MARKS = {1: "", -1: " (smaller is better)", 0: " (no better direction)"}


def tables_of(
    results: Sequence[Result], benchmarks: Mapping[str, Benchmark], notes: Sequence[str] = ()
) -> list[Table]:
    """A table of the primary metrics, and one of each evaluator's headline with the published figures beside ours.

    Args:
        results: Of any number of models, one of each model and evaluator (see
            :func:`~st_biomed.leaderboard.select_results.one_of_each`); a model that an evaluator did not measure has a dash.
        benchmarks: By name; those of the results, for titles and published figures.
        notes: Sentences below the first table.
    """
    models = list(dict.fromkeys(one.model for one in results))
    by_evaluator: dict[str, dict[str, Result]] = {}
    for one in results:
        by_evaluator.setdefault(one.evaluator, {})[one.model] = one
    overview = []
    for measured in by_evaluator.values():
        first = next(iter(measured.values()))
        overview.append((first.primary, _row(first.primary, 1, [measured.get(model) for model in models])))
    draws = {(one.settings["n_bootstrap"], one.settings["bootstrap_seed"]) for one in results if one.units}
    drawn = [f"In brackets: 95% bootstrap interval, {_drawn(*draw)}." for draw in sorted(draws) if draw[0]]
    tables = [Table("Primary metrics", models, overview, [*drawn, *notes])]
    unknown = _unknown(results, benchmarks)
    for evaluator, measured in by_evaluator.items():
        first = next(iter(measured.values()))
        benchmark = benchmarks.get(first.benchmark)
        tables.append(_details(evaluator, models, measured, benchmark, unknown.pop(first.benchmark, [])))
    return tables


def comparison_table(
    reference: str, tests: Mapping[str, Mapping[str, PairedTest]], *, n_resamples: int, seed: int
) -> Table:
    """Differences from one model, with the interval of the difference and the p of the paired test.

    Args:
        reference: The model that is subtracted.
        tests: Metric to the test of each other model.
        n_resamples, seed: Which draws they were made with.
    """
    models = list(dict.fromkeys(model for of_metric in tests.values() for model in of_metric))
    rows = []
    for metric, of_metric in tests.items():
        cells = [Cell(_difference(of_metric[model]) if model in of_metric else "-") for model in models]
        rows.append((metric, cells))
    notes = [
        "Difference, its 95% bootstrap interval, and p of the approximate randomization test over the same units, "
        f"{_drawn(n_resamples, seed)} each."
    ]
    return Table(f"Difference from {reference}", models, rows, notes)


def _unknown(results: Sequence[Result], benchmarks: Mapping[str, Benchmark]) -> dict[str, list[PublishedFigure]]:
    """Benchmark to the published figures of metrics that none of its evaluators has."""
    measured: dict[str, set[str]] = {}
    for one in results:
        measured.setdefault(one.benchmark, set()).update(one.metrics)
    found = {
        name: [one for one in benchmarks[name].published if one.metric not in metrics]
        for name, metrics in measured.items()
        if name in benchmarks
    }
    return {name: figures for name, figures in found.items() if figures}


def _details(
    evaluator: str,
    models: Sequence[str],
    measured: Mapping[str, Result],
    benchmark: Benchmark | None,
    unknown: Sequence[PublishedFigure],
) -> Table:
    first = next(iter(measured.values()))
    published = [one for one in benchmark.published if one.metric in first.metrics] if benchmark else []
    systems = list(dict.fromkeys(one.system for one in published))
    value = {(one.system, one.metric): one.value for one in published}
    others = [one.metric for one in published if one.metric not in first.headline.values()]
    labels = first.headline | {metric.removeprefix(f"{evaluator}_"): metric for metric in others}
    rows = []
    for label, metric in labels.items():
        direction = better(metric.removeprefix(f"{evaluator}_"))
        cells = _row(metric, direction, [measured.get(model) for model in models])
        cells += [Cell(f"{value[system, metric]:.3f}" if (system, metric) in value else "-") for system in systems]
        rows.append((label + _MARKS[direction], cells))
    counts = ", ".join(
        f"{n:,} {unit}s" for n, unit in dict.fromkeys((n, unit) for n, unit in map(tuple, first.units.values()))
    )
    title = benchmark.title if benchmark else first.definition.get("title", "")
    notes = [f"{title}." if title else "", *notes_of(first), f"Intervals over {counts}." if counts else ""]
    notes += _sources(published, first)
    if unknown:
        told = ", ".join(dict.fromkeys(one.metric for one in unknown))
        notes.append(f"Published, but not among what is measured here: {told}.")
    columns = [*models, *(f"{system} (published)" for system in systems)]
    return Table(evaluator, columns, rows, [note for note in notes if note])


def _sources(published: Sequence[PublishedFigure], measured: Result) -> list[str]:
    """Where published figures are from and what they were measured by; and where that was over other units than ours."""
    notes = []
    for source, protocol, n in dict.fromkeys((one.source, one.protocol, one.n) for one in published):
        of_it = [one for one in published if (one.source, one.protocol, one.n) == (source, protocol, n)]
        systems = "; ".join(dict.fromkeys(one.system for one in of_it))
        notes.append(f"Published, {systems}: {source}. Protocol: {protocol}.")
        ours = next((measured.units[one.metric][0] for one in of_it if one.metric in measured.units), n)
        if n and ours != n:
            notes.append(
                f"The published figures are over {n:,} {measured.units[of_it[0].metric][1]}s, ours over {ours:,}."
            )
    return notes


def _row(metric: str, direction: int, results: Sequence[Result | None]) -> list[Cell]:
    """A metric of several models with the best marked, all of them where they are equal in print.

    Args:
        metric: The metric.
        direction: 1 where larger is better, -1 where smaller is, 0 where neither is.
        results: Of each model; ``None`` where it was not measured.
    """
    values = [one.metrics.get(metric) if one else None for one in results]
    printed = [None if value is None else _number(value) for value in values]
    there = [value for value in values if value is not None]
    best = None
    if direction and len(set(map(_number, there))) > 1:
        best = _number(max(there) if direction > 0 else min(there))
    cells = []
    for one, text in zip(results, printed):
        if one is None or text is None:
            cells.append(Cell("-"))
            continue
        low, high = one.metrics.get(f"{metric}_low"), one.metrics.get(f"{metric}_high")
        interval = "" if low is None or high is None else f" ({_number(low)} to {_number(high)})"
        cells.append(Cell(text + interval, text == best))
    return cells


def _drawn(n_resamples: int, seed: int) -> str:
    return f"{n_resamples:,} draws from seed {seed}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3f}"


def _difference(test: PairedTest) -> str:
    return f"{test.difference:+.3f} ({test.low:+.3f} to {test.high:+.3f}), p {shown_p(test.p_value)}"
