"""What a file of mentions consists of: rows, rows that cannot be read, and the columns that linking adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from st_biomed.errors import InputError, did_you_mean
from st_biomed.linking.mention_files.formats import Format
from st_biomed.linking.mention_files.lines import RawLines


class MentionRow(NamedTuple):
    """One row of the input.

    Attributes:
        text: The mention without the spaces around it; empty if there is none.
        names: Names of the columns, or of the fields of this object.
        values: The value of each.
        context: The text in which the mention stands; empty if there is none.
    """

    text: str
    names: Sequence[str]
    values: Sequence[Any]
    context: str = ""


class BadRow(NamedTuple):
    """A row that cannot be read.

    Attributes:
        line: The line at which it begins, from 1; in parquet, the row.
        reason: What is wrong.
        content: The row as it stands in the file. If it is not in its encoding, bytes beyond ASCII are
            surrogate characters.
    """

    line: int
    reason: str
    content: str


@dataclass(frozen=True)
class MentionTable:
    """A source of mentions that is read while its rows are asked for.

    Attributes:
        name: The file, or ``standard input``, for errors.
        form: Its format.
        columns: The columns of every row; ``None`` if each row has fields of its own.
        rows: The rows in order.
        delimiter: What separates cells, for delimited formats.
        schema: Types of the columns; ``None`` if all are strings.
        lines: The lines that the rows are from; ``None`` for parquet.
    """

    name: str
    form: Format
    columns: list[str] | None
    rows: Iterator[MentionRow | BadRow]
    delimiter: str = ","
    schema: pa.Schema | None = None
    lines: RawLines | None = None


_OF_A_TABLE = ("rank", "concept", "score", "name", "label")
_OF_AN_OBJECT = ("concepts",)


def added_columns(form: Format, prefix: str = "") -> list[str]:
    """The columns of a table, or the field of a JSON object, that linking adds."""
    return [f"{prefix}{name}" for name in (_OF_AN_OBJECT if form == "jsonl" else _OF_A_TABLE)]


def check_columns(where: str, columns: Sequence[str], column: str, added: Sequence[str], split: str = "") -> int:
    """The place of the column of mentions.

    Args:
        where: The file and line, for errors.
        columns: The columns that are there.
        column: The column of mentions.
        added: The columns that linking adds.
        split: How the columns were separated, for errors.

    Raises:
        InputError: There is no such column or it is there twice, or a column that linking adds is there already.
    """
    if column not in columns:
        hint = did_you_mean(column, columns, "; ")
        raise InputError(f"{where}: no column {column!r}; {split}the columns are {list(columns)}{hint} (--column)")
    if columns.count(column) > 1:
        raise InputError(f"{where}: {columns.count(column)} columns have the name {column!r}; rename all but one")
    if taken := [name for name in added if name in columns]:
        raise InputError(
            f"{where}: column {taken[0]!r} exists already, and linking adds one; rename it, or put text before the "
            "names of the added ones (--prefix)"
        )
    return columns.index(column)


def context_place(where: str, columns: Sequence[str], context: str | None, split: str = "") -> int | None:
    """The place of the column of contexts, if one is named; arguments as in :func:`check_columns`.

    Raises:
        InputError: There is no such column, or it is there twice.
    """
    if context is None:
        return None
    if columns.count(context) != 1:
        hint = did_you_mean(context, columns, "; ") if context not in columns else ""
        found = "no column" if context not in columns else f"{columns.count(context)} columns"
        raise InputError(f"{where}: {found} {context!r}; {split}the columns are {list(columns)}{hint} (--context)")
    return columns.index(context)
