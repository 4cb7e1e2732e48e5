"""Tables of results, with the published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.evaluators.published_figures import PublishedFigure
from st_biomed.leaderboard.markdown_and_html import Cell, Table
from st_biomed.leaderboard.metric_descriptions import PUBLISHED_SCORING, better, drawn_of, notes_of
from st_biomed.leaderboard.results import Result
from st_biomed.metrics.significance import PairedTest
from st_biomed.release.scorecard_text import shown_p

_MARKS = {1: "", -1: " (smaller is better)", 0: " (no better direction)"}


def tables_of(
    results: Sequence[Result], benchmarks: Mapping[str, Benchmark], notes: Sequence[str] = ()
) -> list[Table]:
    """A table of the primary metrics, and one of each evaluator's headline with the published figures.

    Published figures of a metric that has a published scoring stand beside results with this scoring alone.

    Args:
        results: Of any number of models, one of each model and evaluator (see
            :func:`~st_biomed.leaderboard.select_results.one_of_each`); missing results are shown as a dash.
        benchmarks: Benchmarks of the results by name, for titles and published figures.
        notes: Sentences below the first table.
    """
    models = list(dict.fromkeys(result.model for result in results))
    by_evaluator: dict[str, dict[str, Result]] = {}
    for result in results:
        by_evaluator.setdefault(result.evaluator, {})[result.model] = result
    overview = []
    for measured in by_evaluator.values():
        first = next(iter(measured.values()))
        overview.append((first.primary, _row(first.primary, 1, [measured.get(model) for model in models])))
    draws = {(result.settings["n_bootstrap"], result.settings["bootstrap_seed"]) for result in results if result.units}
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
        n_resamples, seed: Parameters of the draws.
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
    for result in results:
        measured.setdefault(result.benchmark, set()).update(result.metrics)
    unmeasured = {
        name: [figure for figure in benchmarks[name].published if figure.metric not in metrics]
        for name, metrics in measured.items()
        if name in benchmarks
    }
    return {name: figures for name, figures in unmeasured.items() if figures}


def _details(
    evaluator: str,
    models: Sequence[str],
    measured: Mapping[str, Result],
    benchmark: Benchmark | None,
    unknown: Sequence[PublishedFigure],
) -> Table:
    first = next(iter(measured.values()))
    published = [figure for figure in benchmark.published if figure.metric in first.metrics] if benchmark else []
    scored_otherwise = first.metric in PUBLISHED_SCORING and not first.settings.get("as_published")
    hidden, published = (published, []) if scored_otherwise else ([], published)
    systems = list(dict.fromkeys(figure.system for figure in published))
    value = {(figure.system, figure.metric): figure.value for figure in published}
    others = [figure.metric for figure in published if figure.metric not in first.headline.values()]
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
    drawn = not drawn_of(first) and first.settings.get("n_bootstrap", 1)
    over = "Intervals over" if drawn else "Measured on"
    title = benchmark.title if benchmark else first.definition.get("title", "")
    notes = [f"{title}." if title else "", *notes_of(first), f"{over} {counts}." if counts else ""]
    notes += _sources(published, first)
    if hidden:
        sources = "; ".join(dict.fromkeys(figure.source for figure in hidden))
        notes.append(
            f"Published figures ({sources}) are scored in another way: --as-published shows them beside ours."
        )
    if unknown:
        metrics = ", ".join(dict.fromkeys(figure.metric for figure in unknown))
        notes.append(f"Published, but not among what is measured here: {metrics}.")
    columns = [*models, *(f"{system} (published)" for system in systems)]
    return Table(evaluator, columns, rows, [note for note in notes if note])


def _sources(published: Sequence[PublishedFigure], measured: Result) -> list[str]:
    """Notes on the sources and protocols of published figures, and on differences of their units from ours."""
    notes = []
    for source, protocol, n in dict.fromkeys((figure.source, figure.protocol, figure.n) for figure in published):
        of_it = [figure for figure in published if (figure.source, figure.protocol, figure.n) == (source, protocol, n)]
        systems = "; ".join(dict.fromkeys(figure.system for figure in of_it))
        notes.append(f"Published, {systems}: {source}. Protocol: {protocol}.")
        ours, unit = next(
            (measured.units[figure.metric] for figure in of_it if figure.metric in measured.units), (n, "")
        )
        if n and ours != n:
            notes.append(f"The published figures are over {n:,} {unit}s, ours over {ours:,}.")
    return notes


def _row(metric: str, direction: int, results: Sequence[Result | None]) -> list[Cell]:
    """A metric of several models with the best marked; all are marked if their printed values are equal.

    Args:
        direction: 1 if larger is better, -1 if smaller is, 0 if neither is.
        results: Result of each model; ``None`` if it was not measured.
    """
    values = [result.metrics.get(metric) if result else None for result in results]
    printed = [None if value is None else _number(value) for value in values]
    measured_values = [value for value in values if value is not None]
    best = None
    if direction and len(set(map(_number, measured_values))) > 1:
        best = _number(max(measured_values) if direction > 0 else min(measured_values))
    cells = []
    for result, text in zip(results, printed):
        if result is None or text is None:
            cells.append(Cell("-"))
            continue
        low, high = result.metrics.get(f"{metric}_low"), result.metrics.get(f"{metric}_high")
        interval = "" if low is None or high is None else f" ({_number(low)} to {_number(high)})"
        cells.append(Cell(text + interval, text == best))
    return cells


def _drawn(n_resamples: int, seed: int) -> str:
    return f"{n_resamples:,} draws from seed {seed}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3f}"


def _difference(test: PairedTest) -> str:
    return f"{test.difference:+.3f} ({test.low:+.3f} to {test.high:+.3f}), p {shown_p(test.p_value)}"
