"""The pairs of a tree benchmark, drawn from a folder of results: no model is needed any more."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import numpy as np

from st_biomed.errors import InputError, check_name
from st_biomed.metrics.precision_recall import precision_recall_curve
from st_biomed.metrics.ranking import roc_auc, roc_curve
from st_biomed.metrics.significance import Units
from st_biomed.plots.canvas import COLORS, DASHES, LEGEND_ROW, legend_below, panels

CURVES = ("roc", "pr")


def tree_curves(path: str | Path, units: Mapping[str, Units], *, curve: str = "roc") -> Path:
    """ROC or precision-recall curves of every two distances of a tree benchmark, a line for each model.

    Args:
        units: Model to its pairs, (cosine, distance).
        curve: ``"roc"`` or ``"pr"``.

    Raises:
        InputError: Another curve, or units that are no pairs at distances.
    """
    check_name("curve", curve, CURVES)
    _check_tree(units)
    distances = sorted({int(d) for model_units in units.values() for d in model_units.rows[:, 1]})
    if len(distances) < 2:
        raise InputError(f"units: expected pairs at two distances or more, found {len(distances)}")
    duels = list(combinations(distances, 2))
    titles = [f"distance {i} against {j}" for i, j in duels]
    with panels(path, titles, columns=3, size=(4, 3.5 + LEGEND_ROW * len(units)), shared=True) as axes:
        for axis, (i, j) in zip(axes, duels):
            for m, (model, model_units) in enumerate(units.items()):
                near, far = (model_units.rows[model_units.rows[:, 1] == d, 0] for d in (i, j))
                if not len(near) or not len(far):
                    continue
                x, y = roc_curve(near, far) if curve == "roc" else precision_recall_curve(near, far)
                axis.plot(
                    x,
                    y,
                    color=COLORS[m % len(COLORS)],
                    linestyle=DASHES[m % len(DASHES)],
                    label=f"{model} ({roc_auc(near, far):.3f})" if curve == "roc" else model,
                )
            if curve == "roc":
                axis.plot([0, 1], [0, 1], color="0.8", linewidth=0.8, zorder=0)
                axis.set(xlabel="false positive rate", ylabel="true positive rate")
            else:
                axis.set(xlabel="recall", ylabel="precision")
            legend_below(axis)
    return Path(path)


def distance_histograms(path: str | Path, units: Mapping[str, Units]) -> Path:
    """The cosines of the pairs (as in :func:`tree_curves`) at each distance, a panel for each model.

    Raises:
        InputError: Units that are no pairs at distances.
    """
    _check_tree(units)
    lowest = min(float(model_units.rows[:, 0].min()) for model_units in units.values())
    bins = np.linspace(min(0.0, lowest), 1, 51).tolist()
    with panels(path, list(units), columns=3, size=(5, 4.5 + 2 * LEGEND_ROW), shared=True) as axes:
        for axis, model_units in zip(axes, units.values()):
            for i, distance in enumerate(np.unique(model_units.rows[:, 1]).astype(int)):
                cosines = model_units.rows[model_units.rows[:, 1] == distance, 0]
                axis.hist(
                    np.clip(cosines, bins[0], 1),
                    bins,
                    density=True,
                    histtype="step",
                    color=COLORS[i % len(COLORS)],
                    linestyle=DASHES[i % len(DASHES)],
                    linewidth=1.6,
                    label=f"distance {distance} ({len(cosines):,})",
                )
            axis.set(xlabel="cosine", ylabel="density")
            legend_below(axis, columns=2)
    return Path(path)


def _check_tree(units: Mapping[str, Units]) -> None:
    if not units:
        raise InputError("results: there is nothing to draw")
    for model, model_units in units.items():
        if model_units.statistic != "mean_auc":
            raise InputError(
                f"{model}: units of a tree benchmark are needed, found those of a {model_units.statistic}"
            )
