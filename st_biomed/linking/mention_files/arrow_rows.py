"""Mentions in a parquet file, read batch by batch; a row knows its batch, so that its types are kept."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import pyarrow as pa
import pyarrow.parquet as pq

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file
from st_biomed.linking.mention_files.arrow_views import schema_without_views
from st_biomed.linking.mention_files.mention_rows import BadRow, MentionRow, MentionTable, check_columns, context_place

_ROWS = 4096


class Batch:
    """Rows of a parquet file.

    Args:
        rows: The rows.
    """

    def __init__(self, rows: pa.RecordBatch) -> None:
        self.rows = rows

    @cached_property
    def plain(self) -> list[list[Any]]:
        """Each column as values that JSON has."""
        return [plain(column) for column in self.rows.columns]


class ArrowValues(Sequence[Any]):
    """The values of one row of a batch, converted only where they are asked for.

    Attributes:
        batch: The batch.
        row: The row in it.
    """

    def __init__(self, batch: Batch, row: int) -> None:
        self.batch, self.row = batch, row

    def __len__(self) -> int:
        return self.batch.rows.num_columns

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [column[self.row] for column in self.batch.plain[place]]
        return self.batch.plain[place][self.row]


def read_parquet(path: Path, column: str, added: Sequence[str], context: str | None = None) -> MentionTable:
    """Rows with typed columns; the memory does not grow with the number of rows.

    Args:
        path: The file.
        column: The column of mentions, of strings.
        added: The columns that linking adds.
        context: The column of contexts, of strings, if there is one.

    Raises:
        InputError: No such file, not a parquet file, a column of another type, or see
            :func:`~st_biomed.linking.mention_files.mention_rows.check_columns`.
    """
    try:
        file = pq.ParquetFile(check_file(path))
        schema = schema_without_views(file.schema_arrow)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise _damaged(path, error) from error
    place = check_columns(str(path), schema.names, column, added)
    around = context_place(str(path), schema.names, context)
    for at in (place, around):
        if at is not None and not _holds_strings(schema.field(at).type):
            raise InputError(
                f"{path}: column {schema.names[at]!r} is of type {schema.field(at).type}, expected strings"
            )
    return MentionTable(
        str(path), "parquet", schema.names, _mentions(path, file, schema, place, around), schema=schema
    )


def _holds_strings(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)


def _mentions(
    path: Path, file: pq.ParquetFile, schema: pa.Schema, place: int, around: int | None
) -> Iterator[MentionRow | BadRow]:
    first = 1
    with file:
        batches = (rows.cast(schema) for rows in file.iter_batches(_ROWS))
        while (rows := _next(path, batches)) is not None:
            try:
                flaws = _flaws(rows)
            except pa.ArrowException as error:  # such as a value of no place in its dictionary
                raise _damaged(path, error) from error
            yield from _of_batch(Batch(rows), flaws, schema.names, (place, around), first)
            first += rows.num_rows


def _next(path: Path, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    try:
        return next(batches, None)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _of_batch(
    batch: Batch, flaws: dict[int, str], names: list[str], places_of: tuple[int, int | None], first: int
) -> Iterator[MentionRow | BadRow]:
    if flaws:
        valid = [row for row in range(batch.rows.num_rows) if row not in flaws]
        kept = Batch(batch.rows.take(pa.array(valid, pa.int64())))
        places = {row: at for at, row in enumerate(valid)}
    else:
        kept, places = batch, {}
    place, around = places_of
    texts = plain(kept.rows.column(place))
    contexts = None if around is None else plain(kept.rows.column(around))
    for row in range(batch.rows.num_rows):
        if row in flaws:
            yield BadRow(first + row, "is not UTF-8; convert it", flaws[row])
        else:
            at = places.get(row, row)
            context = "" if contexts is None else contexts[at] or ""
            yield MentionRow((texts[at] or "").strip(), names, ArrowValues(kept, at), context)


def _flaws(rows: pa.RecordBatch) -> dict[int, str]:
    """The rows with strings that are not UTF-8, which parquet does not check, and what stands in them."""
    try:
        rows.validate(full=True)
    except pa.ArrowInvalid:
        pass
    else:
        return {}
    flaws = {}
    for row in range(rows.num_rows):
        single = rows.take(pa.array([row]))
        try:
            single.validate(full=True)
        except pa.ArrowInvalid:
            flaws[row] = " | ".join(
                f"{name}: {_shown(single.column(at))}" for at, name in enumerate(rows.schema.names)
            )
    return flaws


def _shown(value: pa.Array) -> str:
    kind = value.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        large = pa.types.is_large_string(kind)
        content = value.view(pa.large_binary() if large else pa.binary())[0].as_py()
        return "" if content is None else content.decode("utf-8", "surrogateescape")
    return str(value[0])


def _damaged(path: Path, error: Exception) -> InputError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return InputError(f"{path}: is not a complete parquet file ({reason})")


def plain(column: pa.Array) -> list[Any]:
    """A column as strings, numbers, lists and objects: dates and decimals as text, bytes as hexadecimal digits."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return plain(column.dictionary_decode())
    if pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        try:
            return column.cast(pa.string()).to_pylist()
        except pa.ArrowNotImplementedError:
            return [None if value is None else str(value) for value in column.to_pylist()]
    return [_for_json(value) for value in column.to_pylist()]


def _for_json(value: Any) -> Any:
    """A value that JSON has; NaN and infinities are null."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(name): _for_json(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_for_json(member) for member in value]
    return str(value)
