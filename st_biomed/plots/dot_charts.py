"""Figures with their intervals, a row for each benchmark or type and a dot for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from st_biomed.errors import InputError
from st_biomed.leaderboard.metric_descriptions import largest_value
from st_biomed.leaderboard.results import Result
from st_biomed.plots.canvas import COLORS, MARKERS, legend_of_all, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METRICS = {
    "acc@1": "accuracy at 1",
    "f1": "F1",
    "filtered_mrr": "filtered MRR",
    "macro_auc": "macro AUC",
    "mcsm": "MCSM",
    "mean_auc": "mean AUC",
    "spearman": "Spearman",
}
"""Primary metric to how people write it."""

_MARGIN = 1.0  # inches of a panel for its title, the numbers below it and what they are
_LEGEND = 0.5


@dataclass(frozen=True)
class _Panel:
    """Rows on one scale: label to the key of the metric; the largest value where there is one to show."""

    title: str
    scale: str
    rows: dict[str, str]
    largest: float | None = None


def dot_chart(path: str | Path, results: Sequence[Result], *, width: float = 8.0, height: float | None = None) -> Path:
    """The primary metric of every evaluator with its interval, a dot for each model.

    Metrics that end at 1 share a panel; MCSM has a panel for each largest possible value, which is drawn as a line.

    Args:
        path: The PNG or SVG file.
        results: One of each model and evaluator, see :func:`~st_biomed.leaderboard.select_results.one_of_each`.
        width: Width of the picture in inches.
        height: Height of the picture in inches; by default what its rows need.

    Raises:
        InputError: No result, or two of one model and evaluator.
    """
    if len({(result.model, result.evaluator) for result in results}) < len(results):
        raise InputError("results: a model has several of one evaluator; one of each is needed")
    values = {(result.primary, result.model): _with_interval(result.metrics, result.primary) for result in results}
    rows: dict[float | None, dict[str, str]] = {}
    for result in sorted(results, key=lambda result: result.evaluator):
        label = f"{result.evaluator}, {METRICS.get(result.metric, result.metric)}"
        rows.setdefault(largest_value(result), {})[label] = result.primary
    drawn = [
        _Panel("", "accuracy, AUC, F1, MRR or rank correlation", of_scale)
        if largest is None
        else _Panel("", f"MCSM (dashed: its largest possible value, {largest:.2f})", of_scale, largest)
        for largest, of_scale in sorted(rows.items(), key=lambda item: item[0] or 0)
    ]
    return _draw(path, drawn, values, width, height)


def type_chart(
    path: str | Path, results: Sequence[Result], *, width: float = 8.0, height: float | None = None
) -> Path:
    """The MCSM of every semantic type, a dot for each model.

    Args:
        path: The PNG or SVG file.
        results: Those with a metric ``<evaluator>_<type>/mcsm``; one evaluator.
        width, height: As in :func:`dot_chart`.

    Raises:
        InputError: No such result, or those of several evaluators.
    """
    results = [result for result in results if any(key.endswith("/mcsm") for key in result.metrics)]
    evaluators = list(dict.fromkeys(result.evaluator for result in results))
    if len(evaluators) != 1:
        raise InputError(f"types: results of one MCSM evaluator are needed, found {', '.join(evaluators) or 'none'}")
    keys = dict.fromkeys(key for result in results for key in result.metrics if key.endswith("/mcsm"))
    named = {key: label for result in results for label, key in result.headline.items()}
    rows = {named.get(key, key.removeprefix(f"{evaluators[0]}_").removesuffix("/mcsm")): key for key in keys}
    values = {
        (key, result.model): _with_interval(result.metrics, key)
        for result in results
        for key in keys
        if key in result.metrics
    }
    largest = largest_value(results[0])
    scale = "MCSM of the type" if largest is None else f"MCSM of the type (dashed: the most there is, {largest:.2f})"
    return _draw(path, [_Panel(evaluators[0], scale, rows, largest)], values, width, height)


def _draw(
    path: str | Path,
    drawn: Sequence[_Panel],
    values: Mapping[tuple[str, str], tuple[float, float, float]],
    width: float,
    height: float | None,
) -> Path:
    """The panels below one another, and one legend for all of them."""
    if not values:
        raise InputError("results: there is nothing to draw")
    if width <= 0 or (height is not None and height <= 0):
        raise InputError(f"width and height must be above 0, found {width} and {height}")
    models = list(dict.fromkeys(model for _, model in values))
    heights = [_MARGIN + (0.18 + 0.12 * len(models)) * len(panel.rows) for panel in drawn]
    heights[-1] += _LEGEND
    scaled = [panel_height * (1 if height is None else height / sum(heights)) for panel_height in heights]
    with panels(path, [panel.title for panel in drawn], columns=1, size=(width, 0), heights=scaled) as axes:
        for axis, panel in zip(axes, drawn):
            _dots(axis, panel, models, values)
        _legend(axes[0], models)
    return Path(path)


def _dots(
    axis: Axes,
    panel: _Panel,
    models: Sequence[str],
    values: Mapping[tuple[str, str], tuple[float, float, float]],
) -> None:
    """Rows of dots with intervals; the models of a row stand a little below one another."""
    step = 0.7 / len(models)
    for m, model in enumerate(models):
        places = [(i, values[key, model]) for i, key in enumerate(panel.rows.values()) if (key, model) in values]
        if not places:
            continue
        of_model = np.array([value for _, value in places])
        axis.errorbar(
            of_model[:, 0],
            [i + (m - (len(models) - 1) / 2) * step for i, _ in places],
            xerr=np.maximum(0, (of_model[:, 1:] - of_model[:, :1]) * [-1, 1]).T,
            fmt=MARKERS[m % len(MARKERS)],
            color=COLORS[m % len(COLORS)],
            markersize=5,
            linewidth=1,
            capsize=2,
        )
    if panel.largest is not None:
        axis.axvline(panel.largest, color="0.4", linestyle="--", linewidth=1)
    axis.set_yticks(range(len(panel.rows)), list(panel.rows))
    axis.set_ylim(len(panel.rows) - 0.4, -0.6)
    axis.set_xlabel(f"{panel.scale}; 95% intervals")
    axis.grid(axis="x", color="0.9")


def _legend(axis: Axes, models: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], linestyle="", marker=MARKERS[m % len(MARKERS)], color=COLORS[m % len(COLORS)])
        for m in range(len(models))
    ]
    legend_of_all(axis, handles, models, columns=4)


def _with_interval(metrics: Mapping[str, float], key: str) -> tuple[float, float, float]:
    """A metric and the ends of its interval, itself where it has none."""
    return metrics[key], metrics.get(f"{key}_low", metrics[key]), metrics.get(f"{key}_high", metrics[key])
