"""Writers of linked mentions: tables have a line for each concept, JSON Lines an object for each mention."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from typing import Any, BinaryIO

from st_biomed.errors import InputError
from st_biomed.linking.concept_search import Match
from st_biomed.linking.mention_files.arrow_writing import ParquetRows
from st_biomed.linking.mention_files.delimited import one_cell
from st_biomed.linking.mention_files.formats import Format
from st_biomed.linking.mention_files.mention_rows import MentionRow, MentionTable
from st_biomed.linking.mention_files.row_writer import RowWriter

_SPLITTING = re.compile(r"[\t\r\n]+")
_QUOTING = "\r\n"  # a terminator of both, because Python 3.11 quotes a cell only for line breaks of its terminator


def row_writer(form: Format, file: BinaryIO, table: MentionTable, added: Sequence[str]) -> RowWriter:
    """A writer of a format.

    Args:
        form: Format of the output.
        file: Where to write; it is not closed.
        table: The input.
        added: Names of the columns that linking adds; without any, the rows are written as they are.

    Raises:
        InputError: Several columns have one name, and the format needs distinct names.
    """
    twice = [name for name in table.columns or () if (table.columns or []).count(name) > 1]
    if twice and form in ("jsonl", "parquet"):
        raise InputError(f"{table.name}: several columns have the name {twice[0]!r}; {form} needs distinct names")
    if form == "jsonl":
        return ObjectRows(file, added)
    columns = [] if table.columns is None else table.columns
    if form == "parquet":
        return ParquetRows(file, columns, table.schema, added)
    if form == "csv":
        return QuotedRows(file, columns, added, table.delimiter if table.form == "csv" else ",")
    return TabbedRows(file, columns, added, header=form == "tsv")


class TabbedRows(RowWriter):
    """TSV, or plain text, which is the same without a header. Tabs and line breaks within a cell become spaces."""

    def __init__(self, file: BinaryIO, columns: list[str], added: Sequence[str], *, header: bool) -> None:
        self._file, self._columns, self._added, self._header = file, columns, added, header

    def write(self, row: MentionRow, matches: Sequence[Match]) -> None:
        self._write_header()
        cells = [_SPLITTING.sub(" ", as_cell(value)) for value in row.values]
        for found in found_cells(matches, self._added):
            self._line([*cells, *map(one_cell, found)])

    def close(self) -> None:
        self._write_header()

    def _write_header(self) -> None:
        if self._header:
            self._line([_SPLITTING.sub(" ", name) for name in [*self._columns, *self._added]])
            self._header = False

    def _line(self, cells: Sequence[str]) -> None:
        self._file.write(("\t".join(cells) + "\n").encode())


class QuotedRows(RowWriter):
    """CSV; a cell is quoted where it needs to be, and keeps its line breaks."""

    def __init__(self, file: BinaryIO, columns: list[str], added: Sequence[str], delimiter: str) -> None:
        self._columns, self._added, self._header = columns, added, True
        self._writer = csv.writer(_Encoded(file), delimiter=delimiter, lineterminator=_QUOTING)

    def write(self, row: MentionRow, matches: Sequence[Match]) -> None:
        self._write_header()
        cells = [as_cell(value) for value in row.values]
        self._writer.writerows([*cells, *found] for found in found_cells(matches, self._added))

    def close(self) -> None:
        self._write_header()

    def _write_header(self) -> None:
        if self._header:
            self._writer.writerow([*self._columns, *self._added])
            self._header = False


class ObjectRows(RowWriter):
    """JSON Lines: the fields of the row, and one with the list of its concepts."""

    def __init__(self, file: BinaryIO, added: Sequence[str]) -> None:
        self._file, self._added = file, added

    def write(self, row: MentionRow, matches: Sequence[Match]) -> None:
        concepts = [{**match._asdict(), "score": round(match.score, 6)} for match in matches]
        fields = {**dict(zip(row.names, row.values)), **dict.fromkeys(self._added, concepts)}
        self._file.write((json.dumps(fields, ensure_ascii=False) + "\n").encode())

    def close(self) -> None:
        pass


class _Encoded:
    """What the csv module writes to, line by line; lines end in a newline alone."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(f"{text.removesuffix(_QUOTING)}\n".encode())


def found_cells(matches: Sequence[Match], added: Sequence[str]) -> list[tuple[str, ...]]:
    """The cells of :func:`~st_biomed.linking.mention_files.mention_rows.added_columns` for each concept; a line at least."""
    if not added:
        return [()]
    found: list[tuple[str, ...]] = [
        (str(rank), match.concept, f"{match.score:.4f}", match.name, match.label)
        for rank, match in enumerate(matches, 1)
    ]
    return found or [("0", "", "", "", "")]


def as_cell(value: Any) -> str:
    """A value as text: a string as it is, nothing for null, everything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
