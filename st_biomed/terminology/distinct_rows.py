"""Dictionary-encoded columns with one sorted dictionary, and distinct rows of integers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def one_column(chunks: list[pa.Array], kind: pa.DataType) -> pa.ChunkedArray:
    """A column with one dictionary; chunks that have the same one, as of a reader with one list of codes, keep it."""
    column = pa.chunked_array(chunks, type=kind)
    if pa.types.is_dictionary(kind) and all(chunk.dictionary.equals(chunks[0].dictionary) for chunk in chunks):
        return column
    return column.unify_dictionaries()


def sorted_values(
    columns: dict[str, pa.ChunkedArray], names: Sequence[str]
) -> tuple[list[pa.Array], list[np.ndarray]]:
    """Sorted distinct values of dictionary-encoded columns, and where each row's value stands among them (int32).

    The columns are taken out of the dictionary, so that their memory is free for what comes next.
    """
    values, indices = [], []
    for name in names:
        column = columns.pop(name)
        dictionary = column.chunk(0).dictionary if column.num_chunks else pa.array([], pa.string())
        index = [chunk.indices.to_numpy() for chunk in column.chunks]
        is_used = np.zeros(len(dictionary), dtype=bool)
        for part in index:
            is_used[part] = True
        is_sorted = pc.all(pc.less(dictionary[:-1], dictionary[1:])).as_py()
        order = np.arange(len(dictionary)) if is_sorted else pc.sort_indices(dictionary).to_numpy()
        order = order[is_used[order]]
        ordered = dictionary.take(pa.array(order))
        first = np.ones(len(order), dtype=bool)  # a dictionary may hold a value twice
        first[1:] = pc.not_equal(ordered[1:], ordered[:-1]).to_numpy(zero_copy_only=False)
        rank = np.zeros(len(dictionary), dtype=np.int32)
        rank[order] = np.cumsum(first) - 1
        values.append(ordered if first.all() else ordered.filter(pa.array(first)))
        indices.append(np.concatenate([np.empty(0, np.int32), *(rank[part] for part in index)]))
    return values, indices


class ConceptIndices:
    """The indices of concepts by their codes, in dictionary-encoded columns.

    Codes are looked up once in each dictionary, not in each row, and only once in a dictionary that several columns share,
    as those of a reader with one list of codes do.

    Args:
        codes: Distinct codes ``[C]``.
    """

    def __init__(self, codes: pa.Array) -> None:
        self.codes = codes
        self._dictionary = pa.array([], pa.string())
        self._concept = np.empty(0, dtype=np.int32)

    def of(self, column: pa.ChunkedArray) -> np.ndarray:
        """Index of the concept of each row, int32 ``[N]``; -1 for other codes.

        Args:
            column: Codes with one dictionary in all chunks, see :func:`one_column`.
        """
        if not column.num_chunks:
            return np.empty(0, dtype=np.int32)
        dictionary = column.chunk(0).dictionary
        if not dictionary.equals(self._dictionary):
            self._dictionary = dictionary
            self._concept = pc.index_in(dictionary, self.codes).fill_null(-1).to_numpy()
        return np.concatenate([self._concept[chunk.indices.to_numpy()] for chunk in column.chunks])


def distinct_rows(columns: Sequence[np.ndarray], sizes: Sequence[int]) -> list[np.ndarray]:
    """The distinct rows of columns of integers below ``sizes``, sorted from left to right, as int32.

    Rows are packed into one integer each where these fit, since numpy sorts integers many times faster than rows.
    """
    if math.prod(sizes) >= 2**63:
        order = np.lexsort(columns[::-1])
        rows = [column[order] for column in columns]
        first = np.ones(len(order), dtype=bool)
        first[1:] = ~equal_to_previous(*rows)
        return [row[first] for row in rows]
    packed = np.zeros(len(columns[0]), dtype=np.int64)
    for column, size in zip(columns, sizes):
        packed *= size
        packed += column
    packed.sort()
    first = np.ones(len(packed), dtype=bool)
    first[1:] = packed[1:] != packed[:-1]
    packed = packed[first]
    rows = []
    for size in reversed(sizes[1:]):
        packed, column = np.divmod(packed, size)
        rows.append(column.astype(np.int32))
    return [packed.astype(np.int32), *reversed(rows)]


def equal_to_previous(*columns: np.ndarray) -> np.ndarray:
    """Whether each row but the first equals the one before it."""
    same = np.ones(max(0, len(columns[0]) - 1), dtype=bool)
    for column in columns:
        same &= column[1:] == column[:-1]
    return same
