"""Mentions in plain text, one on a line, and in TSV, where a tab always separates two cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from st_biomed.errors import InputError
from st_biomed.linking.mention_files.lines import RawLines
from st_biomed.linking.mention_files.mention_rows import BadRow, MentionRow, MentionTable, check_columns, context_place

TEXT = ["text"]
"""The column of plain text where it becomes a table."""

_QUOTED = re.compile(r'"[^"]*(?:"|$)')
_LONE_RETURN = re.compile(r"\r+[^\r\n]")
_BREAKS = re.compile(r"[\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


def one_cell(text: str) -> str:
    """A text without tabs and line breaks."""
    return _BREAKS.sub(" ", text)


def read_text(lines: RawLines) -> MentionTable:
    """Each line is a mention; a blank one is a row without text, so that the output has the lines of the input.

    Raises:
        InputError: While reading, lines that end in a carriage return alone.
    """
    return MentionTable(lines.name, "text", TEXT, _text_rows(lines), "\t", lines=lines)


def read_tsv(lines: RawLines, column: str, added: Sequence[str], context: str | None = None) -> MentionTable:
    """A header and rows of as many cells. A line without a character is skipped; in one column it is a blank mention.

    Args:
        lines: The lines.
        column: The column of mentions.
        added: The columns that linking adds.
        context: The column of contexts, if there is one.

    Raises:
        InputError: No header, or see :func:`~st_biomed.linking.mention_files.mention_rows.check_columns`.
    """
    number, header = header_of(lines, column)
    columns = header.rstrip("\r\n").split("\t")
    where = f"{lines.name}:{number}"
    place = check_columns(where, columns, column, added, "split at tabs ")
    around = context_place(where, columns, context, "split at tabs ")
    rows = _cells(lines, columns, place, around, number + 1)
    return MentionTable(lines.name, "tsv", columns, rows, "\t", lines=lines)


def header_of(lines: RawLines, column: str) -> tuple[int, str]:
    """The first line that is not blank, and its number.

    Raises:
        InputError: There is none, it cannot be read, or its lines end in a carriage return alone.
    """
    for number, line in enumerate(lines, 1):
        _check_ends(lines.name, number, line)
        if problem := lines.flaw(line):
            raise InputError(f"{lines.name}:{number}: {problem}")
        if line.strip():
            return number, line
    raise InputError(f"{lines.name}: is empty, a header with the column {column!r} is needed")


def _check_ends(name: str, number: int, line: str) -> None:
    """Refuse a first line that is many: old Macintosh files have no line feed."""
    if _LONE_RETURN.search(_QUOTED.sub('""', line)):
        raise InputError(f"{name}:{number}: lines end in a carriage return alone; convert the file")


def _text_rows(lines: RawLines) -> Iterator[MentionRow | BadRow]:
    for number, line in enumerate(lines, 1):
        if number == 1:
            _check_ends(lines.name, number, line)
        if problem := lines.flaw(line):
            yield BadRow(number, problem, line)
        else:
            yield MentionRow(line.strip(), TEXT, [one_cell(line.strip())])


def _cells(
    lines: RawLines, columns: list[str], place: int, around: int | None, first: int
) -> Iterator[MentionRow | BadRow]:
    for number, line in enumerate(lines, first):
        if len(columns) > 1 and not line.rstrip("\r\n"):
            lines.n_blank += 1
            continue
        cells = line.rstrip("\r\n").split("\t") if line.strip() else [""] * len(columns)
        if problem := lines.flaw(line) or wrong_width(len(cells), len(columns), "tabs"):
            yield BadRow(number, problem, line)
        else:
            yield MentionRow(cells[place].strip(), columns, cells, "" if around is None else cells[around])


def wrong_width(found: int, expected: int, separators: str) -> str:
    """What is wrong with the number of cells; empty if it is right."""
    return "" if found == expected else f"{found} cells, expected {expected}, split at {separators}"
