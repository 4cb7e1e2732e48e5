"""Rows of a block of columns that meet conditions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa

from st_biomed.records import Tally


def among(column: pa.Array, values: Collection[str]) -> np.ndarray:
    """Whether each value of a dictionary-encoded column is among some values, boolean ``[N]``."""
    wanted = set(values)
    is_wanted = np.array([value in wanted for value in column.dictionary.to_pylist()], dtype=bool)
    return is_wanted[column.indices.to_numpy()]


def filter_rows(tally: Tally, file: str, size: int, conditions: Mapping[str, np.ndarray | None]) -> np.ndarray:
    """Rows that meet every condition, boolean ``[size]``; other rows are counted by their first failed condition.

    Args:
        conditions: A description of the failing rows to boolean ``[size]``, or ``None`` for no condition.
    """
    keep = np.ones(size, dtype=bool)
    for reason, condition in conditions.items():
        if condition is not None:
            tally.drop(f"{file}: {reason}", int((keep & ~condition).sum()))
            keep &= condition
    return keep
