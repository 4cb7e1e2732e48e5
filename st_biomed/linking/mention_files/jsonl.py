"""Mentions in JSON Lines: an object on each line, one of whose fields is the mention."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from st_biomed.errors import shown
from st_biomed.linking.mention_files.lines import flaw, is_whole
from st_biomed.linking.mention_files.records import BadRow, MentionRow, MentionTable


def read_jsonl(
    lines: Iterator[str], name: str, column: str, added: Sequence[str], *, same_fields: bool = False
) -> MentionTable:
    """Objects with fields of their own; a blank line is skipped.

    Args:
        lines: The lines.
        name: The file, for errors.
        column: The field of the mention.
        added: The fields that linking adds.
        same_fields: Whether the output has the same columns in every row. They are the fields of the first object and
            known once it is read; an object may lack some of them, and one with others is a bad row.
    """
    columns: list[str] | None = [] if same_fields else None
    return MentionTable(name, "jsonl", columns, _mentions(lines, column, added, columns))


def _mentions(
    lines: Iterator[str], column: str, added: Sequence[str], columns: list[str] | None
) -> Iterator[MentionRow | BadRow]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        found = flaw(line) or _object(line)
        problem = found if isinstance(found, str) else _problem(found, column, added, columns)
        if problem or isinstance(found, str):
            yield BadRow(number, problem, line)
            continue
        text = (found[column] or "").strip()
        if columns is None:
            yield MentionRow(text, list(found), list(found.values()))
        else:
            columns.extend(() if columns else found)
            yield MentionRow(text, columns, [found.get(name) for name in columns])
    if columns == []:
        columns.append(column)


def _object(line: str) -> dict[str, Any] | str:
    """The object on a line, or what is wrong with it."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:  # too deep, a number of thousands of digits
        return f"is not JSON ({error})"
    if not isinstance(found, dict):
        return f"expected a JSON object, found {type(found).__name__}"
    if "\\u" in line and not is_whole(json.dumps(found, ensure_ascii=False)):
        return "contains half a character (a lone surrogate)"
    return found


def _problem(found: dict[str, Any], column: str, added: Sequence[str], columns: list[str] | None) -> str:
    """What is wrong with the fields of an object; empty if nothing is."""
    if column not in found:
        return f"no field {column!r}; the object has {shown(list(found))}"
    if taken := [name for name in added if name in found]:
        return f"field {taken[0]!r} exists already, and linking adds one; rename it or set --prefix"
    if found[column] is not None and not isinstance(found[column], str):
        return f"field {column!r} must be a string, found {shown(found[column])}"
    if columns and (other := [name for name in found if name not in columns]):
        return f"field {other[0]!r} is not one of the first object, which are {shown(columns)}"
    return ""
