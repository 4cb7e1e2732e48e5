"""How good an encoder becomes with the number of names of every concept (Fivez et al. 2021, Figure 1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.plots.canvas import COLORS, DASHES, MARKERS, legend_of_all, panels

Curve = Mapping[int, tuple[float, float]]
"""Number of names to mean and standard deviation."""


def shot_curves(path: str | Path, curves: Mapping[str, Mapping[str, Curve]], baselines: Mapping[str, float]) -> Path:
    """A panel for each benchmark, in it a line for each training set, with its deviation, and one for the input.

    Args:
        path: The PNG or SVG file.
        curves: Title of the panel to name of the line to its points.
        baselines: Title of the panel to what the input gives, which no shot changes.

    Raises:
        InputError: There is nothing to draw.
    """
    if not any(curves.values()):
        raise InputError("curves: there is nothing to draw")
    with panels(path, list(curves), columns=2 if len(curves) in (2, 4) else 3, size=(4, 3.4)) as axes:
        for axis, (title, lines) in zip(axes, curves.items()):
            axis.axhline(baselines[title], color=COLORS[-1], linewidth=1.4, label="input")
            for i, (name, points) in enumerate(lines.items()):
                axis.errorbar(
                    list(points),
                    [mean for mean, _ in points.values()],
                    yerr=[deviation for _, deviation in points.values()],
                    color=COLORS[i % len(COLORS)],
                    linestyle=DASHES[i % len(DASHES)],
                    marker=MARKERS[i % len(MARKERS)],
                    markersize=4,
                    capsize=2,
                    label=name,
                )
            axis.set_xticks(sorted({shots for points in lines.values() for shots in points}))
            axis.set(xlabel="names of every concept")
            axis.grid(axis="y", color="0.9")
        named = {
            label: line for axis in axes for line, label in zip(*axis.get_legend_handles_labels(), strict=True)
        }  # a legend for all panels, which hides no point
        legend_of_all(axes[0], [*named.values()], [*named], columns=len(named))
    return Path(path)
