"""Blocks of columns: how many rows they have, and which of these meet conditions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from st_biomed.files.column_blocks import Block
from st_biomed.records import Tally


class CountedBlocks:
    """The blocks of a table with at least one row. All rows and blank lines are counted.

    Args:
        blocks: The blocks.
        table: What the table is called in the tally.
        tally: Counts the rows as read and the blank lines as dropped; nothing where the table is not tallied.

    Attributes:
        n_rows, n_blank: Rows and blank lines so far.
    """

    def __init__(self, blocks: Iterable[Block], table: str, tally: Tally | None) -> None:
        self.n_rows = self.n_blank = 0
        self._blocks, self._table, self._tally = blocks, table, tally

    def __iter__(self) -> Iterator[Block]:
        for block in self._blocks:
            self.n_rows += len(block.lines)
            self.n_blank += block.n_blank
            if self._tally is not None:
                self._tally.read(len(block.lines) + block.n_blank)
                self._tally.drop(f"{self._table}: blank lines", block.n_blank)
            if block.lines:
                yield block


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
