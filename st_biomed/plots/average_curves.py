"""What a trained encoder gains and loses with its share in the average with its base, from ``run.json`` alone."""

from __future__ import annotations

from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.plots.canvas import COLORS, DASHES, LEGEND_ROW, MARKERS, legend_below, panels
from st_biomed.release.run_data import AveragingData


def average_curves(path: str | Path, averaging: AveragingData) -> Path:
    """A panel for each metric of dev: its figure at each share of the trained weights, the base model's, and the released share.

    Args:
        path: The PNG or SVG file.
        averaging: Of a record.

    Raises:
        InputError: No share was measured on dev.
    """
    if not averaging["curve"]:
        raise InputError(
            "run.json: has no curve, no shares of an average were measured on dev (--average dev, or --average_curve true)"
        )
    chosen, names = averaging["models"][-1]["weight"], averaging["metrics"]
    shares = [point["weight"] for point in averaging["curve"]]
    with panels(path, names, columns=3, size=(4, 3.4 + 3 * LEGEND_ROW)) as axes:
        for axis, name in zip(axes, names):
            figures = [point["figures"].get(name) for point in averaging["curve"]]
            known = [(share, figure) for share, figure in zip(shares, figures) if figure is not None]
            if figures[0] is not None:
                axis.axhline(figures[0], color=COLORS[-1], linewidth=1.4, label="base model")
            axis.axvline(chosen, color=COLORS[2], linestyle=DASHES[1], linewidth=1.4, label=f"released ({chosen:g})")
            axis.plot(
                [share for share, _ in known],
                [figure for _, figure in known],
                color=COLORS[1],
                marker=MARKERS[0],
                markersize=4,
                label="average",
            )
            axis.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
            axis.set(xlabel="share of the trained weights")
            axis.grid(axis="y", color="0.9")
            legend_below(axis)
    return Path(path)
