"""ICD-11: WHO's simple tabulation of the linearization for mortality and morbidity statistics (MMS)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from st_biomed.errors import InputError, check_name
from st_biomed.files.delimited import check_file
from st_biomed.files.gzipped import plain_stem
from st_biomed.readers._icd11_rows import Tabulation
from st_biomed.readers._languages import language_of
from st_biomed.records import Parent, Record, SourceInfo, Tally, Term, Xref
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="ICD11",
    title="International Classification of Diseases, 11th Revision, Mortality and Morbidity Statistics",
    license="CC BY-ND 3.0 IGO (World Health Organization): not to be shared in a derived form",
    url="https://icd.who.int",
)
PATH = "a simple tabulation, SimpleTabulation-ICD-11-MMS-en.txt"

_NEEDED = ("Foundation URI", "Code", "BlockId", "Title", "ClassKind", "IsResidual", "ChapterNo")
_OPTIONAL = ("TitleEN",)
_CODE_COLUMNS = {"chapter": "ChapterNo", "block": "BlockId", "category": "Code"}
_CODES = {"chapter": r"[0-9A-Z]{1,2}", "block": r"Block[\w-]+", "category": r"[0-9A-Z]{4,8}(\.[0-9A-Z]{1,4})?"}
_TITLE = re.compile(r"((?:-\s+)*)(.*)")
_ENTITY = re.compile(r"https?://id\.who\.int/icd/entity/(\d+)")
_FOUNDATION = "icd11.foundation"


def records(
    path: Path,
    *,
    tally: Tally,
    language: str = "",
    chapters: str | Sequence[str] = "",
    residuals: bool = True,
) -> Iterator[Record]:
    """Read titles, the hierarchy and the entities of the foundation.

    A category has its code, a block its id (``ICD11:BlockL1-1A0``), a chapter its number (``ICD11:01``). A title begins
    with a dash for each level above it; its parent is the nearest row above it with fewer dashes. A category whose
    entity is in the foundation has it as a cross-reference (``icd11.foundation:257068234``), as Mondo does.

    The tabulation of another language than English has the English titles too, which are synonyms. Where a title is
    not translated the English one is the preferred name.

    Args:
        path: ``SimpleTabulation-ICD-11-MMS-en.txt``, unpacked or gzipped.
        tally: Counts the rows.
        language: ISO 639-1 code of the titles; by default that in WHO's name of the file, otherwise ``en``.
        chapters: Numbers of the chapters to read, e.g. ``"01,02"``; each must occur; by default all. Chapter V is of
            functioning, chapter X of extension codes (anatomy, substances, severity), which are no diseases.
        residuals: Whether to read the categories for what is "other specified" or "unspecified"; on by default.

    Raises:
        InputError: With file and line: a row without a code or title or with one of another form, a code that is
            listed twice, a chapter below another row, a malformed row. Also: no such file or column, an unknown chapter.
    """
    path = check_file(path)
    in_name = re.search(r"-ICD-11-MMS-([a-z]{2})$", plain_stem(path))
    spoken = language_of("language", language or (in_name[1] if in_name else "en"))
    asked, met = listed("chapters", chapters), dict[str, None]()
    tabulation = Tabulation(path)
    above: list[tuple[int, str]] = []
    seen: set[str] = set()
    n_skipped = 0
    for line, cells in tabulation.rows(_NEEDED, _OPTIONAL):
        where = f"{path}:{line}"
        code = _code(where, cells)
        if code in seen:
            raise InputError(f"{where}: code {code} is listed twice")
        seen.add(code)
        depth, names = _names(where, cells, spoken)
        if (cells["ClassKind"] == "chapter") != (depth == 0):
            raise InputError(
                f"{where}: a chapter has no dashes and all other titles have, found {cells['Title'][:40]!r}"
            )
        tally.read()
        met[cells["ChapterNo"]] = None
        while above and above[-1][0] >= depth:
            above.pop()
        if asked and cells["ChapterNo"] not in asked:
            tally.drop("rows of other chapters")
            continue
        if not residuals and cells["IsResidual"].lower() == "true":
            tally.drop("residual categories")
            continue
        tally.keep()
        for number, (text, tongue) in enumerate(names):
            yield Term(code, text, "synonym" if number else "preferred", tongue)
        if above:
            n_skipped += above[-1][0] < depth - 1
            yield Parent(code, above[-1][1])
        if entity := _ENTITY.fullmatch(cells["Foundation URI"]):
            yield Xref(code, f"{_FOUNDATION}:{entity[1]}")
        above.append((depth, code))
    for chapter in asked:
        check_name(f"chapter of {path}:", chapter, met)
    if n_skipped:
        tally.note(f"{n_skipped:,} rows stand more than one level below the row above them")
    yield replace(SOURCE, version=tabulation.version)


def _code(where: str, cells: dict[str, str]) -> str:
    """The CURIE of a row."""
    kind = cells["ClassKind"]
    if kind not in _CODE_COLUMNS:
        raise InputError(f"{where}: ClassKind must be one of {', '.join(_CODE_COLUMNS)}, found {kind[:40]!r}")
    code = cells[_CODE_COLUMNS[kind]]
    if not re.fullmatch(_CODES[kind], code, re.ASCII):
        raise InputError(
            f"{where}: a {kind} has a {_CODE_COLUMNS[kind]} like 1A00, BlockL1-1A0 or 01, found {code[:40]!r}"
        )
    return f"{SOURCE.name}:{code}"


def _names(where: str, cells: dict[str, str], language: str) -> tuple[int, list[tuple[str, str]]]:
    """The number of dashes of a title, and the titles with their languages, the preferred one first."""
    titles = {language: cells["Title"]}
    titles.setdefault("en", cells["TitleEN"])
    names, depths = [], []
    for tongue, title in titles.items():
        match = _TITLE.fullmatch(title)
        if match and match[2]:
            depths.append(match[1].count("-"))
            names.append((match[2], tongue))
    if not names:
        raise InputError(f"{where}: the title is empty, found {cells['Title'][:40]!r}")
    return depths[0], names
