"""Differences of models from their base, a row for each benchmark: which were gained, kept and lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from st_biomed.errors import InputError
from st_biomed.leaderboard.seed_scorecard import RecipeData, SeedsData
from st_biomed.plots.canvas import COLORS, legend_of_all, panels
from st_biomed.plots.dot_charts import METRICS
from st_biomed.release.scorecard_data import OUTCOMES, DifferenceData, ScorecardData, by_family, counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOOKS: dict[str, dict[str, Any]] = {
    "gained": {"marker": "^", "color": COLORS[2], "markerfacecolor": COLORS[2]},
    "kept": {"marker": "o", "color": "0.55", "markerfacecolor": "white"},
    "lost": {"marker": "v", "color": COLORS[1], "markerfacecolor": COLORS[1]},
}
"""Outcome to the look of its dot: up, hollow and down, so that a print without colors can be read."""

_MARGIN = 0.8  # inches of a panel for the numbers below it and what they are
_TITLE = 0.45
_LEGEND = 0.4
_ROW = 0.22
_LARGE = ("mcsm",)
"""Metrics that do not end at 1, whose differences would press all others into a line."""

Rows = Sequence[DifferenceData | SeedsData]
Columns = list[tuple[str, Rows]]
"""The title of each panel and its benchmarks."""


@dataclass(frozen=True)
class _Row:
    """A row of the picture: a heading, or a benchmark."""

    label: str
    benchmark: str = ""


def difference_chart(
    path: str | Path,
    scorecards: Sequence[ScorecardData],
    recipes: Sequence[RecipeData] = (),
    *,
    width: float | None = None,
    height: float | None = None,
) -> Path:
    """Horizontal dots with the interval of each difference, grouped by family, a panel for each model.

    Recipes with several seeds come first, with the mean of their seeds and its interval over seeds. MCSM, whose scale is its own,
    has panels of its own. A star marks what is made of a terminology or dictionary that the model was trained on.

    Args:
        path: The PNG or SVG file.
        scorecards: Of models against one base.
        recipes: Those of several seeds, taken together.
        width: Width of the picture in inches; by default what its panels need.
        height: Height of the picture in inches; by default what its rows need.

    Raises:
        InputError: No benchmark, scorecards against several bases, or a size that is not positive.
    """
    columns: Columns = [(title, recipe["benchmarks"]) for title, recipe in zip(_titles(recipes), recipes)]
    columns += [(scorecard["model"], scorecard["benchmarks"]) for scorecard in scorecards]
    if not any(rows for _, rows in columns):
        raise InputError("scorecards: there is nothing to draw")
    bases = list(dict.fromkeys(card["base"] for card in [*scorecards, *recipes]))
    if len(bases) > 1:
        raise InputError(f"scorecards: of one picture have one base, found {', '.join(bases)}")
    if any(size is not None and size <= 0 for size in (width, height)):
        raise InputError(f"width and height must be above 0, found {width} and {height}")
    scales = [_of_scale(columns, large) for large in (False, True)]
    scales = [of_scale for of_scale in scales if any(rows for _, rows in of_scale)]
    layouts = [_layout(of_scale) for of_scale in scales]
    heights = [_MARGIN + _ROW * len(layout) for layout in layouts]
    heights[0] += _TITLE
    heights[-1] += _LEGEND
    heights = [panel_height * (1 if height is None else height / sum(heights)) for panel_height in heights]
    titles = [f"{title}\n{counts(rows)}" if i == 0 else "" for i in range(len(scales)) for title, rows in columns]
    panel_width = (3.4 + 3.0 / len(columns)) if width is None else width / len(columns)
    with panels(path, titles, columns=len(columns), size=(panel_width, 0), heights=heights) as axes:
        for i, axis in enumerate(axes):
            scale, column = divmod(i, len(columns))
            every = [row for _, of_model in scales[scale] for row in of_model]
            _dots(axis, layouts[scale], scales[scale][column][1], named=column == 0)
            axis.set_xlim(_limits(every))
            what = "difference of MCSM" if every[0]["metric"] in _LARGE else "difference"
            axis.set_xlabel(f"{what} from {bases[0].rpartition('/')[2]}\n95% intervals")
        _legend(axes[0], any(row["in_domain"] for _, rows in columns for row in rows))
    return Path(path)


def _titles(recipes: Sequence[RecipeData]) -> list[str]:
    """The recipe and its number of seeds; also the models if several groups would have the same title."""
    titles = [f"{recipe['recipe']}, {len(recipe['seeds'])} seeds" for recipe in recipes]
    times = Counter(titles)
    return [
        f"{title}\n({', '.join(recipe['models'])})" if times[title] > 1 else title
        for title, recipe in zip(titles, recipes)
    ]


def _of_scale(columns: Columns, large: bool) -> Columns:
    """The benchmarks of each model whose metric ends at 1, or does not."""
    return [(title, [row for row in rows if (row["metric"] in _LARGE) == large]) for title, rows in columns]


def _layout(columns: Columns) -> list[_Row]:
    """Headings and benchmarks from top to bottom: those of any of the models."""
    every = {row["benchmark"]: row for _, rows in columns for row in rows}
    layout = []
    for family, rows in by_family(list(every.values())).items():
        layout.append(_Row(family))
        for row in rows:
            name, metric = row["benchmark"], METRICS.get(row["metric"], row["metric"])
            layout.append(_Row(f"{name}, {metric}", name))
    return layout


def _dots(axis: Axes, layout: Sequence[_Row], rows: Rows, *, named: bool) -> None:
    """The dots of one model on one scale; the rows are named on the left only."""
    place = {layout_row.benchmark: i for i, layout_row in enumerate(layout) if layout_row.benchmark}
    axis.axvline(0, color="0.3", linewidth=0.8)
    for row in rows:
        axis.errorbar(
            row["difference"],
            place[row["benchmark"]],
            xerr=[[max(0.0, row["difference"] - row["low"])], [max(0.0, row["high"] - row["difference"])]],
            markersize=6,
            linewidth=1.2,
            capsize=2,
            **LOOKS.get(row["outcome"], LOOKS["kept"]),
        )
        if row["in_domain"]:
            axis.annotate("*", (1.01, place[row["benchmark"]]), xycoords=("axes fraction", "data"), va="center")
    axis.set_yticks(range(len(layout)), [layout_row.label if named else "" for layout_row in layout])
    for layout_row, tick in zip(layout, axis.get_yticklabels()):
        tick.set_fontweight("normal" if layout_row.benchmark else "bold")
    axis.tick_params(axis="y", length=0)
    axis.locator_params(axis="x", nbins=6)
    axis.set_ylim(len(layout) - 0.4, -0.6)
    axis.grid(axis="x", color="0.9")


def _limits(rows: Rows) -> tuple[float, float]:
    """One scale for all models: where their intervals begin and end, with the base inside."""
    low, high = min(0.0, *(row["low"] for row in rows)), max(0.0, *(row["high"] for row in rows))
    room = (high - low) / 20 or 0.01
    return low - room, high + room


def _legend(axis: Axes, starred: bool) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], linestyle="", markersize=6, **LOOKS[outcome]) for outcome in OUTCOMES]
    labels = [*OUTCOMES]
    if starred:
        handles.append(Line2D([], [], linestyle="", marker="$*$", color="black", markersize=6))
        labels.append("made of what it was trained on")
    legend_of_all(axis, handles, labels, columns=4)
