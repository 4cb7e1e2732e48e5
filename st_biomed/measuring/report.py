"""Results side by side: one set of tables, written as Markdown and as HTML."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.measuring.results import Result
from st_biomed.metrics.units import PairedTest


class Cell(NamedTuple):
    """Text of a table's cell, and whether it is the best of its row."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Table:
    """A table of a report.

    Attributes:
        title: Its heading.
        columns: Headings of the columns behind the first.
        rows: Label and cells of each row.
        notes: Sentences below it.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]
    notes: Sequence[str] = ()


def tables_of(results: Sequence[Result], benchmarks: Mapping[str, Benchmark]) -> list[Table]:
    """A table of the primary metrics, and one of each evaluator's headline with the published figures beside ours.

    Args:
        results: Of any number of models; a model that an evaluator did not measure has a dash.
        benchmarks: By name; those of the results, for titles and published figures.
    """
    models = list(dict.fromkeys(one.model for one in results))
    by_evaluator: dict[str, dict[str, Result]] = {}
    for one in results:
        by_evaluator.setdefault(one.evaluator, {})[one.model] = one
    overview = []
    for measured in by_evaluator.values():
        first = next(iter(measured.values()))
        overview.append((first.primary, _row(first.primary, [measured.get(model) for model in models])))
    draws = {(one.settings["n_bootstrap"], one.settings["bootstrap_seed"]) for one in results if one.units}
    notes = [f"In brackets: 95% bootstrap interval, {_drawn(*draw)}." for draw in sorted(draws) if draw[0]]
    tables = [Table("Primary metrics", models, overview, notes)]
    for evaluator, measured in by_evaluator.items():
        first = next(iter(measured.values()))
        benchmark = benchmarks.get(first.benchmark)
        tables.append(_details(evaluator, models, measured, benchmark))
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


def markdown(title: str, tables: Sequence[Table]) -> str:
    """The tables as Markdown, the best of a row in bold."""
    lines = [f"# {title}", ""]
    for table in tables:
        lines += [f"## {table.title}", ""]
        lines.append("| | " + " | ".join(map(_escaped, table.columns)) + " |")
        lines.append("|---|" + "--:|" * len(table.columns))
        for label, cells in table.rows:
            texts = [f"**{cell.text}**" if cell.best else cell.text for cell in cells]
            lines.append(f"| {_escaped(label)} | " + " | ".join(map(_escaped, texts)) + " |")
        lines += ["", *(f"{note}\n" for note in table.notes)]
    return "\n".join(lines).rstrip() + "\n"


def html_page(title: str, tables: Sequence[Table]) -> str:
    """The tables as one page without anything to load, the best of a row in bold."""
    parts = [_HEAD.format(title=html.escape(title)), f"<h1>{html.escape(title)}</h1>"]
    for table in tables:
        head = "".join(f"<th>{html.escape(column)}</th>" for column in ("", *table.columns))
        body = "".join(
            f"<tr><th>{html.escape(label)}</th>"
            + "".join(f"<td{' class=best' if cell.best else ''}>{html.escape(cell.text)}</td>" for cell in cells)
            + "</tr>\n"
            for label, cells in table.rows
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in table.notes)
        parts.append(
            f"<h2>{html.escape(table.title)}</h2>\n<table><thead><tr>{head}</tr></thead>\n"
            f"<tbody>{body}</tbody></table>\n{notes}"
        )
    return "\n".join([*parts, "</body></html>"]) + "\n"


_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.4 sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: .25em .7em; text-align: right; border-bottom: 1px solid #ccc; white-space: nowrap; }}
tbody th, thead th:first-child {{ text-align: left; font-weight: normal; }}
.best {{ font-weight: bold; }}
</style></head><body>"""


def _details(
    evaluator: str, models: Sequence[str], measured: Mapping[str, Result], benchmark: Benchmark | None
) -> Table:
    first = next(iter(measured.values()))
    published = [one for one in benchmark.published if one.metric in first.metrics] if benchmark else []
    systems = list(dict.fromkeys(one.system for one in published))
    value = {(one.system, one.metric): one.value for one in published}
    rows = []
    for label, metric in first.headline.items():
        cells = _row(metric, [measured.get(model) for model in models])
        cells += [Cell(f"{value[system, metric]:.3f}" if (system, metric) in value else "-") for system in systems]
        rows.append((label, cells))
    counts = ", ".join(
        f"{n:,} {unit}s" for n, unit in dict.fromkeys((n, unit) for n, unit in map(tuple, first.units.values()))
    )
    notes = [
        f"{benchmark.title}." if benchmark and benchmark.title else "",
        f"Intervals over {counts}." if counts else "",
    ]
    if first.settings.get("as_published"):
        notes.append("Scored as published.")
    sources = dict.fromkeys(f"{one.system}: {one.source}" for one in published)
    notes += [f"Published, {source}." for source in sources]
    columns = [*models, *(f"{system} (published)" for system in systems)]
    return Table(evaluator, columns, rows, [note for note in notes if note])


def _row(metric: str, results: Sequence[Result | None]) -> list[Cell]:
    """A metric of several models; the largest is the best, all of them where they are equal in print."""
    values = [one.metrics.get(metric) if one else None for one in results]
    printed = [None if value is None else _number(value) for value in values]
    there = [value for value in values if value is not None]
    best = _number(max(there)) if len(there) > 1 and len(set(map(_number, there))) > 1 else None
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
    return f"{test.difference:+.3f} ({test.low:+.3f} to {test.high:+.3f}), p {_p(test.p_value)}"


def _p(value: float) -> str:
    return "< .001" if value < 0.001 else f"{value:.3f}".lstrip("0") if value < 1 else "1"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
