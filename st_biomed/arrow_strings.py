"""Columns of strings that may be larger than one array of strings, which has at most 2 GiB."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_LARGEST = 2**31 - 1  # bytes; datasets pickle a column as one array


def take_strings(strings: pa.ChunkedArray, ids: np.ndarray) -> Any:
    """Some of the strings, as large strings where one array cannot hold them.

    Args:
        strings: N strings.
        ids: Which of them, ``[M]``.

    Returns:
        A column of M strings.
    """
    lengths = pc.binary_length(strings).to_numpy()
    if int(lengths[ids].sum(dtype=np.int64)) > _LARGEST:
        strings = strings.cast(pa.large_string())
    return strings.take(pa.array(ids))


def combine_string_chunks(table: pa.Table) -> pa.Table:
    """The table with one array for each column, of large strings where it needs them."""
    schema = table.schema
    for place, field in enumerate(schema):
        if field.type == pa.string() and table[place].nbytes > _LARGEST:
            schema = schema.set(place, field.with_type(pa.large_string()))
    return table.cast(schema).combine_chunks()
