"""ICD-10-CM in rows: order files, codes files and the table with chapters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines, read_table
from st_biomed.readers.icd10cm.concepts import EXTENSIONS, curie, dotted, named
from st_biomed.records import Parent, Record, Tally

_ORDER_LINE = re.compile(r"\d{5} (?P<code>[A-Z]\w{2,6}) * [01] (?P<short>.{60}) (?P<long>.+)")
_CODE_LINE = re.compile(r"(?P<code>[A-Z]\w{2,6}) +(?P<short>)(?P<long>\S.+)")
_TABLE = {"code", "long_desc", "chapter"}
_TABLE_CODE = re.compile(r"[A-Z]\w{2,6}", re.ASCII)
_LISTED_CODE = re.compile(r"(?:\d{5} )?([A-Z]\S{2,7})|\d{1,2}\s*$")  # or a chapter's number


def read_codes(path: Path, tally: Tally, extensions: bool, short_names: bool) -> Iterator[Record]:
    """The records of a file in one of the three forms. The first line identifies it; for arguments see the reader."""
    _, first = next(read_lines(path), (0, ""))
    is_table = _TABLE.issubset(first.replace('"', "").split(","))
    names, chapters = _table(path, short_names) if is_table else (_flat(path), {})
    ranges = _ranges(chapters)
    for chapter, code in ranges.items():
        yield from named(code, [chapter], tally)
    above = {category: ranges[chapter] for category, chapter in chapters.items()}
    yield from _codes(names, above, tally, extensions, short_names)


def listed_codes(path: Path) -> set[str]:
    """The codes, without points, of an order file, a codes file or a bare list.

    Raises:
        InputError: With file and line: a line that does not begin with a code or is a chapter's number. Also: a file without a code.
    """
    codes = set()
    for line, text in read_lines(path):
        if not text.strip():
            continue
        if not (match := _LISTED_CODE.match(text)):
            raise InputError(f"{path}:{line}: expected a code of ICD-10-CM first in the line, found {text[:40]!r}")
        if match[1]:
            codes.add(match[1].replace(".", ""))
    if not codes:
        raise InputError(f"{path}: lists no code")
    return codes


def _flat(path: Path) -> dict[str, tuple[str, str]]:
    """Code to its long and its abbreviated name, from an order or codes file."""
    names: dict[str, tuple[str, str]] = {}
    form, kind = None, ""
    for line, text in read_lines(path):
        if not text.strip():
            continue
        if form is None:
            form, kind = (_ORDER_LINE, "an order") if text[:5].isdigit() else (_CODE_LINE, "a codes")
        match = form.fullmatch(text)
        if not match:
            raise InputError(
                f"{path}:{line}: is not a line of {kind} file, found {text[:40]!r}; a table has the columns "
                f"{', '.join(sorted(_TABLE))}, and the tabular list is an .xml"
            )
        if match["code"] in names:
            raise InputError(f"{path}:{line}: code {match['code']} is listed twice")
        names[match["code"]] = match["long"].rstrip(), match["short"].rstrip()
    return names


def _table(path: Path, short_names: bool) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """Code to its long and its abbreviated name, and category to its chapter."""
    names: dict[str, tuple[str, str]] = {}
    chapters: dict[str, str] = {}
    columns = ["code", "long_desc", "chapter", *(["short_desc"] * short_names)]
    for line, row in read_table(path, columns, dialect="csv"):
        code, long, chapter, *short = (cell.strip() for cell in row)
        bare, category = code.replace(".", "", 1), code[:3]
        if not _TABLE_CODE.fullmatch(bare) or code not in (bare, dotted(bare)):
            raise InputError(f"{path}:{line}: {code!r} is not a code of ICD-10-CM (for ICD-9-CM use its own reader)")
        if bare in names:
            raise InputError(f"{path}:{line}: code {code} is listed twice")
        if not long or not chapter:
            raise InputError(f"{path}:{line}: code {code} has an empty long_desc or chapter")
        if chapters.setdefault(category, chapter) != chapter:
            raise InputError(
                f"{path}:{line}: category {category} is in chapter {chapters[category]!r} and in {chapter!r}"
            )
        names[bare] = long, "".join(short)
    return names, chapters


def _ranges(chapters: dict[str, str]) -> dict[str, str]:
    """Chapter to its code, the range of its categories.

    Args:
        chapters: Category to its chapter.
    """
    members: dict[str, list[str]] = {}
    for category, chapter in chapters.items():
        members.setdefault(chapter, []).append(category)
    return {chapter: f"{min(categories)}-{max(categories)}" for chapter, categories in members.items()}


def _codes(
    names: dict[str, tuple[str, str]], chapters: dict[str, str], tally: Tally, extensions: bool, short_names: bool
) -> Iterator[Record]:
    """The records of the codes of a file other than a tabular list.

    Args:
        names: Code, without its point, to its long and its abbreviated name.
        chapters: Category to its chapter's code; empty if chapters are not known.
        tally: Counts the names.
        extensions: As in the reader.
        short_names: As in the reader.
    """
    for code, (long, short) in names.items():
        above = next((code[:n] for n in range(len(code) - 1, 2, -1) if code[:n] in names), None)
        if not extensions and len(code) == 7 and above and long.startswith(names[above][0] + ", "):
            tally.read_dropped(EXTENSIONS)
            continue
        yield from named(dotted(code), [long, short] if short_names and short else [long], tally)
        parent = dotted(above) if above else chapters.get(code[:3])
        if parent:
            yield Parent(curie(dotted(code)), curie(parent))
