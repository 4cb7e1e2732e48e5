"""What was measured, drawn from a folder of results: no model is needed any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from st_biomed.errors import InputError
from st_biomed.measuring.results import Result
from st_biomed.metrics.precision_recall import precision_recall_curve
from st_biomed.metrics.ranking import roc_auc, roc_curve
from st_biomed.metrics.units import Units
from st_biomed.pictures.canvas import COLOURS, DASHES, MARKERS, panels

CURVES = ("roc", "pr")


def dot_chart(path: str | Path, results: Sequence[Result]) -> Path:
    """The primary metric of every benchmark with its interval, a dot for each model.

    Raises:
        InputError: No result.
    """
    rows = {one.primary: f"{one.primary}" for one in results}
    values = {(one.primary, one.model): _with_interval(one.metrics, one.primary) for one in results}
    return _dots(path, "95% intervals", list(rows), list(rows.values()), _models(results), values)


def type_chart(path: str | Path, results: Sequence[Result]) -> Path:
    """The MCSM of every semantic type, a dot for each model.

    Args:
        path: The file.
        results: Those with a metric ``<evaluator>_<type>/mcsm``; one evaluator.

    Raises:
        InputError: No such result, or those of several evaluators.
    """
    results = [one for one in results if any(key.endswith("/mcsm") for key in one.metrics)]
    evaluators = list(dict.fromkeys(one.evaluator for one in results))
    if len(evaluators) != 1:
        raise InputError(f"types: results of one MCSM evaluator are needed, found {', '.join(evaluators) or 'none'}")
    keys = list(dict.fromkeys(key for one in results for key in one.metrics if key.endswith("/mcsm")))
    labels = [key.removeprefix(f"{evaluators[0]}_").removesuffix("/mcsm") for key in keys]
    values = {
        (key, one.model): _with_interval(one.metrics, key) for one in results for key in keys if key in one.metrics
    }
    return _dots(path, evaluators[0], keys, labels, _models(results), values)


def tree_curves(path: str | Path, units: Mapping[str, Units], *, curve: str = "roc") -> Path:
    """ROC or precision-recall curves of every two distances of a tree benchmark, a line for each model.

    Args:
        path: The file.
        units: Model to its pairs, (cosine, distance).
        curve: ``"roc"`` or ``"pr"``.

    Raises:
        InputError: Another curve, or units that are no pairs at distances.
    """
    if curve not in CURVES:
        raise InputError(f"curve must be one of {', '.join(CURVES)}, found {curve!r}")
    _check_tree(units)
    distances = sorted({int(d) for one in units.values() for d in one.rows[:, 1]})
    duels = list(combinations(distances, 2))
    with panels(path, [f"distance {i} against {j}" for i, j in duels], columns=3, size=(4, 3.6), shared=True) as axes:
        for axis, (i, j) in zip(axes, duels):
            for m, (model, one) in enumerate(units.items()):
                near, far = (one.rows[one.rows[:, 1] == d, 0] for d in (i, j))
                if not len(near) or not len(far):
                    continue
                x, y = roc_curve(near, far) if curve == "roc" else precision_recall_curve(near, far)
                axis.plot(
                    x,
                    y,
                    color=COLOURS[m % len(COLOURS)],
                    linestyle=DASHES[m % len(DASHES)],
                    label=f"{model} ({roc_auc(near, far):.3f})" if curve == "roc" else model,
                )
            if curve == "roc":
                axis.plot([0, 1], [0, 1], color="0.8", linewidth=0.8, zorder=0)
                axis.set(xlabel="false positive rate", ylabel="true positive rate")
            else:
                axis.set(xlabel="recall", ylabel="precision")
            axis.legend(fontsize="small")
    return Path(path)


def distance_histograms(path: str | Path, units: Mapping[str, Units]) -> Path:
    """The cosines of the pairs at each distance, a panel for each model.

    Args:
        path: The file.
        units: Model to its pairs, (cosine, distance).

    Raises:
        InputError: Units that are no pairs at distances.
    """
    _check_tree(units)
    lowest = min(float(one.rows[:, 0].min()) for one in units.values())
    bins = np.linspace(min(0.0, lowest), 1, 51).tolist()
    with panels(path, list(units), columns=3, shared=True) as axes:
        for axis, one in zip(axes, units.values()):
            for i, distance in enumerate(np.unique(one.rows[:, 1]).astype(int)):
                cosines = one.rows[one.rows[:, 1] == distance, 0]
                axis.hist(
                    np.clip(cosines, bins[0], 1),
                    bins,
                    density=True,
                    histtype="step",
                    color=COLOURS[i % len(COLOURS)],
                    linestyle=DASHES[i % len(DASHES)],
                    linewidth=1.6,
                    label=f"distance {distance} ({len(cosines):,})",
                )
            axis.set(xlabel="cosine", ylabel="density")
            axis.legend(fontsize="small")
    return Path(path)


def _dots(
    path: str | Path,
    title: str,
    keys: Sequence[str],
    labels: Sequence[str],
    models: Sequence[str],
    values: Mapping[tuple[str, str], tuple[float, float, float]],
) -> Path:
    """Rows of dots with intervals; the models of a row stand a little below one another."""
    if not values:
        raise InputError("results: there is nothing to draw")
    step = 0.7 / max(1, len(models))
    with panels(path, [title], size=(8, 1.2 + (0.25 + 0.14 * len(models)) * len(keys))) as (axis,):
        for m, model in enumerate(models):
            rows = [i for i, key in enumerate(keys) if (key, model) in values]
            of_model = np.array([values[keys[i], model] for i in rows])
            if not rows:
                continue
            axis.errorbar(
                of_model[:, 0],
                [i + (m - (len(models) - 1) / 2) * step for i in rows],
                xerr=np.abs(of_model[:, 1:] - of_model[:, :1]).T,
                fmt=MARKERS[m % len(MARKERS)],
                color=COLOURS[m % len(COLOURS)],
                markersize=5,
                linewidth=1,
                capsize=2,
                label=model,
            )
        axis.set_yticks(range(len(labels)), labels)
        axis.set_ylim(len(labels) - 0.4, -0.6)
        axis.grid(axis="x", color="0.9")
        axis.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.06 - 0.25 / max(1, len(keys))), ncols=min(4, len(models))
        )
    return Path(path)


def _with_interval(metrics: Mapping[str, float], key: str) -> tuple[float, float, float]:
    """A metric and the ends of its interval, itself where it has none."""
    return metrics[key], metrics.get(f"{key}_low", metrics[key]), metrics.get(f"{key}_high", metrics[key])


def _models(results: Sequence[Result]) -> list[str]:
    return list(dict.fromkeys(one.model for one in results))


def _check_tree(units: Mapping[str, Units]) -> None:
    if not units:
        raise InputError("results: there is nothing to draw")
    for model, one in units.items():
        if one.statistic != "mean_auc":
            raise InputError(f"{model}: units of a tree benchmark are needed, found those of a {one.statistic}")
