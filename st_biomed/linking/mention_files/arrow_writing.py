"""Linked mentions as parquet: a line for each concept; the columns of a parquet input keep their types."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from st_biomed.linking.concept_search import Match
from st_biomed.linking.mention_files.arrow_rows import ArrowValues
from st_biomed.linking.mention_files.mention_rows import MentionRow
from st_biomed.linking.mention_files.row_writer import RowWriter

_ROWS_PER_GROUP = 1 << 16
_TYPES = (pa.int32(), pa.string(), pa.float32(), pa.string(), pa.string())


class ParquetRows(RowWriter):
    """Columns of the input as they are, or as strings where they have no types, and those that linking adds.

    Args:
        file: Where to write; it is not closed.
        columns: The columns of the input, which are looked at when the first row is written.
        schema: Types of the columns; ``None`` for strings.
        added: Names of the columns that linking adds.
    """

    def __init__(self, file: BinaryIO, columns: list[str], schema: pa.Schema | None, added: Sequence[str]) -> None:
        self._sink, self._columns, self._added = _Sink(file), columns, [*map(pa.field, added, _TYPES)]
        self._given = schema
        self._rows: list[tuple[MentionRow, Sequence[Match]]] = []
        self._lines = 0
        self._writer: pq.ParquetWriter | None = None

    def write(self, row: MentionRow, matches: Sequence[Match]) -> None:
        self._rows.append((row, matches))
        self._lines += max(len(matches), 1)
        if self._lines >= _ROWS_PER_GROUP:
            self._write_group()

    def close(self) -> None:
        if self._rows or self._writer is None:
            self._write_group()
        if self._writer is not None:
            self._writer.close()

    def abandon(self) -> None:
        self._sink.is_muted = True  # arrow writes the end of a file by itself where a writer is forgotten
        if self._writer is not None:
            with suppress(pa.ArrowException, OSError):  # the error that led here is the one to tell
                self._writer.close()
            self._writer.is_open = False

    def _write_group(self) -> None:
        own = self._given if self._given is not None else pa.schema([(name, pa.string()) for name in self._columns])
        schema = pa.schema([*own, *self._added], own.metadata)
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._sink, schema)
        repeats = [max(len(matches), 1) for _, matches in self._rows]
        lines = [(row, n) for (row, _), n in zip(self._rows, repeats)]
        kept = _strings(lines, own) if self._given is None else _taken(lines, own)
        found = [cells for _, matches in self._rows for cells in _found(matches)]
        columns = [pa.array([cells[at] for cells in found], field.type) for at, field in enumerate(self._added)]
        self._writer.write_table(pa.table([*kept.columns, *columns], schema=schema))
        self._rows, self._lines = [], 0


class _Sink(io.RawIOBase):
    """A stream that arrow writes to and does not close.

    Attributes:
        is_muted: Whether what comes is passed over.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._n, self.is_muted = file, 0, False

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._n

    def write(self, content: Any) -> int:
        n = len(content)
        self._n += n
        if not self.is_muted:
            self._file.write(content)
        return n


def _strings(lines: list[tuple[MentionRow, int]], schema: pa.Schema) -> pa.Table:
    columns = [
        pa.array([_text(row.values[at]) for row, n in lines for _ in range(n)], pa.string())
        for at in range(len(schema))
    ]
    return pa.table(columns, schema=schema)


def _taken(lines: list[tuple[MentionRow, int]], schema: pa.Schema) -> pa.Table:
    """The rows of their batches, in order."""
    places = [(row.values, n) for row, n in lines]
    parts = []
    for batch, group in groupby(places, key=lambda place: _of(place[0]).batch):
        at = [_of(values).row for values, n in group for _ in range(n)]
        parts.append(batch.rows.take(pa.array(at, pa.int64())))
    return pa.Table.from_batches(parts, schema=schema)


def _of(values: Sequence[Any]) -> ArrowValues:
    if not isinstance(values, ArrowValues):
        raise TypeError(f"expected a row of a parquet file, found {type(values).__name__}")
    return values


def _found(matches: Sequence[Match]) -> list[tuple[Any, ...]]:
    cells = [(rank, match.concept, match.score, match.name, match.label) for rank, match in enumerate(matches, 1)]
    return cells or [(0, None, None, None, None)]


def _text(value: Any) -> str | None:
    """A value of JSON Lines as text; null stays null."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
