"""Mentions in JSON Lines: an object on each line, one of whose fields is the mention."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from st_biomed.errors import did_you_mean, shown
from st_biomed.linking.mention_files.lines import RawLines, is_valid_utf8
from st_biomed.linking.mention_files.mention_rows import BadRow, MentionRow, MentionTable


def read_jsonl(
    lines: RawLines,
    column: str,
    added: Sequence[str],
    context: str | None = None,
    *,
    same_fields: bool = False,
) -> MentionTable:
    """Objects with fields of their own; a blank line is skipped.

    Args:
        lines: The lines.
        column: The field of the mention.
        added: The fields that linking adds.
        context: The field of the context, if there is one.
        same_fields: Whether the output has the same columns in every row. They are the fields of the first object and
            known once it is read; an object may lack some of them, and one with others is a bad row.
    """
    columns: list[str] | None = [] if same_fields else None
    needed = [column] if context is None else [column, context]
    return MentionTable(lines.name, "jsonl", columns, _mentions(lines, needed, added, columns), lines=lines)


def _mentions(
    lines: RawLines, needed: Sequence[str], added: Sequence[str], columns: list[str] | None
) -> Iterator[MentionRow | BadRow]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            lines.n_blank += 1
            continue
        found = lines.flaw(line) or _object(line)
        problem = found if isinstance(found, str) else _problem(found, needed, added, columns)
        if problem or isinstance(found, str):
            yield BadRow(number, problem, line)
            continue
        text, *contexts = (found[name] or "" for name in needed)
        context = contexts[0] if contexts else ""
        if columns is None:
            yield MentionRow(text.strip(), list(found), list(found.values()), context)
        else:
            columns.extend(() if columns else found)
            yield MentionRow(text.strip(), columns, [found.get(name) for name in columns], context)
    if columns == []:
        columns.extend(dict.fromkeys(needed))


def _object(line: str) -> dict[str, Any] | str:
    """The object on a line, or what is wrong with it."""
    try:
        found = json.loads(line, parse_float=_finite, parse_constant=_finite, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:  # too deep, a number of thousands of digits, or of no finite size
        return f"is not JSON ({error})"
    if not isinstance(found, dict):
        return f"expected a JSON object on each line, found {type(found).__name__}"
    if "\\u" in line and not is_valid_utf8(json.dumps(found, ensure_ascii=False)):
        return "contains half a character (a lone surrogate)"
    return found


def _finite(digits: str) -> float:
    """The number; Python reads NaN, Infinity, and 1e400 as infinity, none of which JSON can have."""
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{shown(digits)} is no finite number")
    return number


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object; of a repeated name Python keeps the last value alone."""
    found = dict(pairs)
    if len(found) < len(pairs):
        ((name, times),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the name {shown(name)} stands {times} times in an object")
    return found


def _problem(found: dict[str, Any], needed: Sequence[str], added: Sequence[str], columns: list[str] | None) -> str:
    """What is wrong with the fields of an object; empty if nothing is."""
    if missing := [name for name in needed if name not in found]:
        return f"no field {missing[0]!r}; the object has {shown(list(found))}{did_you_mean(missing[0], found, '; ')}"
    if taken := [name for name in added if name in found]:
        return f"field {taken[0]!r} exists already, and linking adds one; rename it or set --prefix"
    for name in needed:
        if found[name] is not None and not isinstance(found[name], str):
            return f"field {name!r} must be a string, found {shown(found[name])}"
    if columns and (other := [name for name in found if name not in columns]):
        return f"field {other[0]!r} is not one of the first object, which are {shown(columns)}; only JSON Lines hold other fields"
    return ""
