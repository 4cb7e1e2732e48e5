"""Units of figures in a file."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from scipy.sparse import csr_array

from st_biomed.errors import InputError
from st_biomed.metrics.significance import Units

UNREADABLE = (OSError, ValueError, EOFError, MemoryError, RuntimeError, NotImplementedError, BadZipFile, zlib.error)
"""What :func:`numpy.load` and its arrays raise for a damaged or forged ``.npz``; a missing array is a ``KeyError``."""

logger = logging.getLogger(__name__)

_SPARSE = ("data", "indices", "indptr", "shape")  # of a sparse array


def save_units(path: str | Path, units: Mapping[str, Units]) -> None:
    """Write an uncompressed ``.npz`` for :func:`load_units`."""
    arrays: dict[str, np.ndarray] = {}
    for metric, metric_units in units.items():
        if isinstance(rows := metric_units.rows, np.ndarray):
            arrays[f"{metric}/rows"] = rows
        else:
            parts = (rows.data, rows.indices, rows.indptr, np.array(rows.shape))
            arrays |= {f"{metric}/{part}": array for part, array in zip(_SPARSE, parts)}
        arrays[f"{metric}/kind"] = np.array([metric_units.unit, metric_units.statistic])
        if metric_units.clusters is not None:
            arrays[f"{metric}/clusters"] = np.asarray(metric_units.clusters, dtype=str)
    with Path(path).open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def load_units(path: str | Path) -> dict[str, Units]:
    """Units by metric, as written by :func:`save_units`.

    Files of relations from before their pairs had numbers have three columns. In these no pair is taken to be shared, so
    that each relation is a group of its own, and a warning says so.

    Raises:
        InputError: No such file, or a file of another kind.
    """
    try:
        with np.load(path, allow_pickle=False) as arrays:
            metrics = [name.removesuffix("/kind") for name in arrays if name.endswith("/kind")]
            units = {
                metric: Units(
                    str(arrays[f"{metric}/kind"][0]),
                    _rows(arrays, metric),
                    str(arrays[f"{metric}/kind"][1]),
                    arrays.get(f"{metric}/clusters"),
                )
                for metric in metrics
            }
    except EOFError as error:
        raise InputError(f"{path}: is empty, expected the units of a benchmark") from error
    except (KeyError, IndexError, TypeError, AttributeError, *UNREADABLE) as error:
        raise InputError(f"{path}: cannot be read as the units of a benchmark ({error})") from error
    of_relations = [found.rows for found in units.values() if found.statistic == "macro_auc"]
    if any(rows.shape[1] == 3 and rows[:, 1].max() > 0 for rows in of_relations):
        logger.warning(
            "%s: does not say which relations share pairs; each counts as independent, also one and its inverse", path
        )
    return units


def _rows(arrays: Mapping[str, np.ndarray], metric: str) -> np.ndarray | csr_array:
    """The numbers of the units of a metric, of a saved file."""
    if f"{metric}/data" not in arrays:
        return arrays[f"{metric}/rows"]
    data, indices, indptr, shape = (arrays[f"{metric}/{part}"] for part in _SPARSE)
    rows = csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
    rows.check_format(full_check=True)  # a place outside the array is an access to other memory
    return rows
