"""Mentions in CSV (RFC 4180): cells in double quotes may hold delimiters, doubled quotes and line breaks."""

from __future__ import annotations

import csv
import re
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain

from st_biomed.errors import InputError
from st_biomed.files.delimited import LONGEST_CELL, csv_reason
from st_biomed.linking.mention_files.delimited import header_of, wrong_width
from st_biomed.linking.mention_files.lines import RawLines, is_valid_utf8
from st_biomed.linking.mention_files.mention_rows import BadRow, MentionRow, MentionTable, check_columns, context_place

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "pipes"}
"""In the order of trial: the delimiter is the first at which the header has the column of mentions."""

_STATED = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
"""A line above the header in which spreadsheets state the delimiter."""


def read_csv(lines: RawLines, column: str, added: Sequence[str], context: str | None = None) -> MentionTable:
    """A header and rows of as many cells. A line without a character is skipped; in one column it is a blank mention.

    The delimiter is that of a line ``sep=;`` above the header, as spreadsheets write it; otherwise the header decides.

    Args:
        lines: The lines with their ends.
        column: The column of mentions.
        added: The columns that linking adds.
        context: The column of contexts, if there is one.

    Raises:
        InputError: No header, another delimiter in a line ``sep=``, or see
            :func:`~st_biomed.linking.mention_files.mention_rows.check_columns`.
    """
    name = lines.name
    number, header = header_of(lines, column)
    if stated := _STATED.fullmatch(header):
        delimiter = stated[1]
        if delimiter not in _DELIMITERS:
            known = ", ".join(map(repr, _DELIMITERS))
            raise InputError(f"{name}:{number}: the delimiter is one of {known}, found {header.strip()!r}")
        skipped, header = header_of(lines, column)
        number += skipped
    else:
        split_at = {mark: _split(header, mark) for mark in _DELIMITERS}
        fits = (mark for mark in _DELIMITERS if column in split_at[mark])
        delimiter = next(fits, None) or max(_DELIMITERS, key=lambda mark: len(split_at[mark]))
    rows = _Rows(lines, header, delimiter, number)
    first = next(rows)
    if isinstance(first, BadRow):
        raise InputError(f"{name}:{first.line}: {first.reason}")
    _, columns, _ = first
    split = f"split at {_DELIMITERS[delimiter]} "
    place = check_columns(f"{name}:{number}", columns, column, added, split)
    around = context_place(f"{name}:{number}", columns, context, split)
    mentions = _mentions(rows, columns, place, around, delimiter)
    return MentionTable(name, "csv", columns, mentions, delimiter, lines=lines)


def _split(header: str, mark: str) -> list[str]:
    """The cells of a header; none if it cannot be split at this mark."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    try:
        return next(csv.reader([header], delimiter=mark))
    except csv.Error:
        return []


def _mentions(
    rows: _Rows, columns: list[str], place: int, around: int | None, delimiter: str
) -> Iterator[MentionRow | BadRow]:
    for row in rows:
        if isinstance(row, BadRow):
            yield row
            continue
        number, found, content = row
        if len(columns) > 1 and not found:
            rows.source.n_blank += 1
            continue
        cells = found or [""] * len(columns)
        if problem := wrong_width(len(cells), len(columns), _DELIMITERS[delimiter]):
            yield BadRow(number, problem, content)
        else:
            yield MentionRow(cells[place].strip(), columns, cells, "" if around is None else cells[around])


class _Rows(Iterator[tuple[int, list[str], str] | BadRow]):
    """The rows of a CSV with the line at which each begins, its cells, and its lines as they stand in the file.

    If a row cannot be split, its first line alone is rejected, and reading goes on with the next line. A stray quote,
    which joins all lines up to the next quote, therefore spoils one line.

    Args:
        source: The lines after the first.
        first: The first line.
        delimiter: What separates two cells.
        number: The number of the first line.
    """

    def __init__(self, source: RawLines, first: str, delimiter: str, number: int) -> None:
        self.source, self._lines, self._number = source, _Lines(chain([first], source)), number
        self._reader = csv.reader(self._lines, delimiter=delimiter, strict=True)
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))

    def __next__(self) -> tuple[int, list[str], str] | BadRow:
        number, taken = self._number, self._lines.taken
        taken.clear()
        try:
            cells = next(self._reader)
        except csv.Error as error:
            self._number += 1
            first = taken[0]
            self._lines.again.extendleft(reversed(taken[1:]))
            return BadRow(number, f"{csv_reason(error)} (a stray double quote?)", first)
        self._number += len(taken)
        content = "".join(taken)
        if problem := self.source.flaw(content):
            return BadRow(number, problem, content if is_valid_utf8(content) else self.source.escaped(content))
        return number, cells, content


class _Lines(Iterator[str]):
    """Lines that are remembered and can be given again, also after the last one.

    Attributes:
        taken: The lines of the current row.
        again: Lines that come before the next one.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self.taken, self.again = lines, list[str](), deque[str]()

    def __next__(self) -> str:
        line = self.again.popleft() if self.again else next(self._lines)
        self.taken.append(line)
        return line
