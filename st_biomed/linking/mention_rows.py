"""Input of mentions and output of their concepts, line by line: plain text, TSV with a header, or JSON Lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from st_biomed.errors import InputError, unknown_name
from st_biomed.files.delimited import check_file, read_lines
from st_biomed.linking.concept_search import Match

Format = Literal["text", "tsv", "jsonl"]

FOUND = ("rank", "concept", "score", "name", "label")
"""Columns that linking adds to a row."""

_SUFFIXES: dict[str, Format] = {".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_BREAKS = re.compile(r"[\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")


class MentionRow(NamedTuple):
    """One row of the input.

    Attributes:
        text: The mention; empty if its cell or field is empty.
        row: The row for the output: the line, its cells, or the object.
    """

    text: str
    row: Any


class MentionTable(NamedTuple):
    """A source of mentions, and the output format of their concepts.

    Attributes:
        form: ``text``, ``tsv`` or ``jsonl``.
        header: Columns of a TSV; empty for other formats.
        rows: The rows in order, read lazily. A blank line of text or TSV is a row without text, so the output stays
            aligned with the input; in JSON Lines it is skipped.
    """

    form: Format
    header: list[str]
    rows: Iterator[MentionRow]


def format_of(path: Path | None, form: str | None) -> Format:
    """The given format, or the format of the suffix without ``.gz``; otherwise text.

    Raises:
        InputError: An unknown format.
    """
    if form is None:
        name = "" if path is None else path.name.removesuffix(".gz")
        return _SUFFIXES.get(Path(name).suffix.lower(), "text")
    for known in get_args(Format):
        if form == known:
            return known
    raise unknown_name("format", form, get_args(Format))


def read_mentions(source: Path | Iterable[bytes], form: Format, column: str) -> MentionTable:
    """Open a table of mentions.

    Args:
        source: A file (``*.gz`` is decompressed), or the lines of a stream.
        form: Its format.
        column: Column or field that holds the mention; not used for text.

    Raises:
        InputError: No such file or column; while reading (with file and line), a row of another length, a line that is
            not JSON, a field that is missing or not a string, or bytes that are not UTF-8.
    """
    if isinstance(source, Path):
        lines, name = read_lines(check_file(source)), str(source)
    else:
        lines, name = _stream_lines(source), "standard input"
    if form == "text":
        return MentionTable(form, [], (MentionRow(text.strip(), _one_cell(text.strip())) for _, text in lines))
    if form == "jsonl":
        objects = ((line, text) for line, text in lines if text.strip())
        return MentionTable(form, [], (_of_json(f"{name}:{line}", text, column) for line, text in objects))
    line, first = next(((line, text) for line, text in lines if text.strip()), (1, ""))
    if not first:
        raise InputError(f"{name}: is empty, a header with the column {column!r} is needed")
    header = first.split("\t")
    if column not in header:
        raise InputError(f"{name}:{line}: no column {column!r}; split at tabs the columns are {header}")
    if taken := [heading for heading in FOUND if heading in header]:
        raise InputError(f"{name}:{line}: column {taken[0]!r} exists already, and linking adds one; rename it")
    place = header.index(column)
    return MentionTable(form, header, (_of_cells(f"{name}:{line}", text, place, len(header)) for line, text in lines))


def header_line(table: MentionTable) -> str:
    """The first line of the output; empty if the format has no header."""
    return "\t".join([*table.header, *FOUND]) + "\n" if table.form == "tsv" else ""


def written(form: Format, row: MentionRow, matches: Sequence[Match]) -> str:
    """The lines of one mention.

    Text and TSV have a line for each concept, with :data:`FOUND` after the cells of the row, and one line of rank 0
    with empty cells if there is no concept (NIL). A tab or line break in a name becomes a space. JSON Lines have one
    object with the field ``concepts``.
    """
    if form == "jsonl":
        concepts = [{**match._asdict(), "score": round(match.score, 6)} for match in matches]
        return json.dumps({**row.row, "concepts": concepts}, ensure_ascii=False) + "\n"
    cells = [row.row] if form == "text" else row.row
    found: list[tuple[str, ...]] = [
        (str(rank), match.concept, f"{match.score:.4f}", match.name, match.label)
        for rank, match in enumerate(matches, 1)
    ]
    return "".join("\t".join([*cells, *map(_one_cell, values)]) + "\n" for values in found or [("0", "", "", "", "")])


def link_rows(
    rows: Iterable[MentionRow], search: Callable[[list[str]], list[list[Match]]], *, rows_at_once: int = 2048
) -> Iterator[tuple[MentionRow, list[Match]]]:
    """Concepts of each row, in order; a row without text has no concepts and is not searched.

    Args:
        rows: The rows.
        search: Maps texts to the concepts of each.
        rows_at_once: Number of rows in memory.
    """
    block: list[MentionRow] = []
    for row in rows:
        block.append(row)
        if len(block) == rows_at_once:
            yield from _linked(block, search)
            block = []
    if block:
        yield from _linked(block, search)


def _linked(
    block: list[MentionRow], search: Callable[[list[str]], list[list[Match]]]
) -> Iterator[tuple[MentionRow, list[Match]]]:
    found = iter(search([row.text for row in block if row.text]))
    for row in block:
        yield row, next(found) if row.text else []


def _stream_lines(stream: Iterable[bytes]) -> Iterator[tuple[int, str]]:
    for line, content in enumerate(stream, 1):  # a text stream decodes ahead, and does not know where it is
        try:
            text = content.decode("utf-8-sig" if line == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"standard input:{line}: is not UTF-8; convert it") from error
        yield line, text.rstrip("\r\n")


def _of_cells(where: str, text: str, place: int, width: int) -> MentionRow:
    cells = text.split("\t") if text.strip() else [""] * width
    if len(cells) != width:
        raise InputError(f"{where}: {len(cells)} cells, expected {width}, split at tabs")
    return MentionRow(cells[place].strip(), cells)


def _of_json(where: str, text: str, column: str) -> MentionRow:
    try:
        row = json.loads(text)
    except ValueError as error:
        raise InputError(f"{where}: is not JSON ({error})") from error
    if not isinstance(row, dict):
        raise InputError(f"{where}: expected a JSON object, found {type(row).__name__}")
    if column not in row:
        raise InputError(f"{where}: no field {column!r}; the object has {list(row)}")
    if "concepts" in row:
        raise InputError(f"{where}: field 'concepts' exists already, and linking adds one; rename it")
    value = row[column]
    if value is not None and not isinstance(value, str):
        raise InputError(f"{where}: field {column!r} must be a string, found {value!r}")
    return MentionRow((value or "").strip(), row)


def _one_cell(text: str) -> str:
    return _BREAKS.sub(" ", text)
