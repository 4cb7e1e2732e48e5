"""Mentions in plain text, one on a line, and in TSV, where a tab always separates two cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from st_biomed.errors import InputError
from st_biomed.linking.mention_files.lines import flaw
from st_biomed.linking.mention_files.records import BadRow, MentionRow, MentionTable, check_columns, context_place

TEXT = ["text"]
"""The column of plain text where it becomes a table."""

_BREAKS = re.compile(r"[\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


def one_cell(text: str) -> str:
    """A text without tabs and line breaks."""
    return _BREAKS.sub(" ", text)


def read_text(lines: Iterator[str], name: str) -> MentionTable:
    """Each line is a mention; a blank one is a row without text, so that the output has the lines of the input."""
    return MentionTable(name, "text", TEXT, _text_rows(lines), "\t")


def read_tsv(
    lines: Iterator[str], name: str, column: str, added: Sequence[str], context: str | None = None
) -> MentionTable:
    """A header and rows of as many cells. A blank line is a row without text.

    Args:
        lines: The lines.
        name: The file, for errors.
        column: The column of mentions.
        added: The columns that linking adds.
        context: The column of contexts, if there is one.

    Raises:
        InputError: No header, or see :func:`~st_biomed.linking.mention_files.records.check_columns`.
    """
    number, header = header_of(lines, name, column)
    columns = header.rstrip("\r\n").split("\t")
    place = check_columns(f"{name}:{number}", columns, column, added, "split at tabs ")
    around = context_place(f"{name}:{number}", columns, context, "split at tabs ")
    return MentionTable(name, "tsv", columns, _cells(lines, columns, place, around, number + 1), "\t")


def header_of(lines: Iterator[str], name: str, column: str) -> tuple[int, str]:
    """The first line that is not blank, and its number.

    Raises:
        InputError: There is none, or it cannot be read.
    """
    for number, line in enumerate(lines, 1):
        if problem := flaw(line):
            raise InputError(f"{name}:{number}: {problem}")
        if line.strip():
            return number, line
    raise InputError(f"{name}: is empty, a header with the column {column!r} is needed")


def _text_rows(lines: Iterator[str]) -> Iterator[MentionRow | BadRow]:
    for number, line in enumerate(lines, 1):
        if problem := flaw(line):
            yield BadRow(number, problem, line)
        else:
            yield MentionRow(line.strip(), TEXT, [one_cell(line.strip())])


def _cells(
    lines: Iterator[str], columns: list[str], place: int, around: int | None, first: int
) -> Iterator[MentionRow | BadRow]:
    for number, line in enumerate(lines, first):
        cells = line.rstrip("\r\n").split("\t") if line.strip() else [""] * len(columns)
        if problem := flaw(line) or wrong_width(len(cells), len(columns), "tabs"):
            yield BadRow(number, problem, line)
        else:
            yield MentionRow(cells[place].strip(), columns, cells, "" if around is None else cells[around])


def wrong_width(found: int, expected: int, separators: str) -> str:
    """What is wrong with the number of cells; empty if it is right."""
    return "" if found == expected else f"{found} cells, expected {expected}, split at {separators}"
