"""The units of a result in a file that describes its contents."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError
from st_biomed.files import replacing_file
from st_biomed.metrics.significance import Units
from st_biomed.metrics.units_in_files import UNREADABLE, save_units

ABOUT = "about.json"
_LONGEST = 60  # characters of a name within a file's name

_COLUMNS = {
    "mean": ["value", "count"],
    "f1": ["true positives", "predicted", "gold"],
    "spearman": ["score", "given score"],
    "mean_auc": ["score", "distance", "sub-tree of the first name", "sub-tree of the second name"],
    "macro_auc": ["score", "number of the relation", "related", "number of the pair"],
}
"""Statistic to the names of its columns, see :data:`st_biomed.metrics.resamplers.STATISTICS`."""


def unit_file_name(model: str, evaluator: str, key: str) -> str:
    """A readable name: the model, the evaluator, and the first digits of the result's key."""
    words = [re.sub(r"[^\w.@+-]+", "_", name).strip("._")[:_LONGEST] for name in (model, evaluator)]
    return "__".join([*words, key[:12]]) + ".npz"


def write_units(path: Path, units: Mapping[str, Units], result: Mapping[str, Any]) -> None:
    """Write the units and their description, ``about.json``.

    Args:
        path: The file, in a locked folder; it is written completely or not at all.
        units: Metric to its units.
        result: The fields of a :class:`~st_biomed.leaderboard.results.Result`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {name: result[name] for name in ("model", "model_digest", "benchmark", "evaluator", "settings")}
    about["metrics"] = {
        f"{result['evaluator']}_{metric}": {
            "unit": metric_units.unit,
            "statistic": metric_units.statistic,
            "columns": columns_of(metric_units, groups_of(result)),
        }
        for metric, metric_units in units.items()
    }
    with replacing_file(path) as draft:
        save_units(draft, units)
        with zipfile.ZipFile(draft, "a") as file:
            file.writestr(ABOUT, json.dumps(about, indent=1))


def read_about(path: str | Path) -> dict[str, Any]:
    """The description of a file of units: model, benchmark, evaluator, settings, and the columns of each metric.

    Raises:
        InputError: No such file, or a file of an older version without a description.
    """
    try:
        with zipfile.ZipFile(path) as file:
            about: dict[str, Any] = json.loads(file.read(ABOUT))
            return about
    except (KeyError, *UNREADABLE) as error:
        raise InputError(f"{path}: does not describe its units ({error})") from error


def columns_of(units: Units, groups: Sequence[str] = ()) -> list[str]:
    """Names of the columns of ``units.rows``.

    Args:
        groups: Names of the groups of a macro mean, two columns each; numbers if the counts differ.
    """
    n_columns = units.rows.shape[1]
    if units.statistic != "macro_mean":
        return _COLUMNS[units.statistic][:n_columns]
    n_groups = n_columns // 2
    names = groups if len(groups) == n_groups else [str(i) for i in range(n_groups)]
    return [f"{kind} of {name}" for name in names for kind in ("value", "count")]


def groups_of(result: Mapping[str, Any]) -> list[str]:
    """The types of an MCSM result in their order."""
    prefix = f"{result['evaluator']}_"
    return [key.removeprefix(prefix)[: -len("/mcsm")] for key in result["metrics"] if key.endswith("/mcsm")]
