"""NCI Thesaurus, the reference terminology of the U.S. National Cancer Institute, from its flat file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file, read_header, read_table
from st_biomed.readers._duplicate_filter import DuplicateFilter
from st_biomed.readers._unmet_values import note_unmet
from st_biomed.records import Definition, Parent, Record, SourceInfo, Tally, Term, Type, single_spaced
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="NCIT",
    title="NCI Thesaurus",
    license="CC-BY-4.0",
    url="https://ncithesaurus.nci.nih.gov",
    redistributable=True,
)
PATH = "Thesaurus.txt"

# ReadMe.txt of a release; the last column was added later.
_COLUMNS = (
    "code",
    "concept",
    "parents",
    "synonyms",
    "definition",
    "display name",
    "status",
    "semantic type",
    "subsets",
)
_WIDTHS = (8, 9)
_CODE = re.compile(r"C\d{1,7}")
_VERSION = re.compile(r"\d\d\.\d\d[a-z]")
_ROOT = "root_node"
_RETIRED = "Obsolete_Concept,Retired_Concept"


def records(
    path: Path,
    *,
    tally: Tally,
    without_statuses: str | Sequence[str] = _RETIRED,
    definitions: bool = True,
) -> Iterator[Record]:
    """Read the preferred name, synonyms, definition, parents and semantic types of each concept.

    The preferred name is the first synonym, as the release states. The display name is another synonym. Without
    synonyms, the display name is preferred. The names of subsets that a concept is in are dropped and counted.

    Args:
        path: ``Thesaurus.txt`` from ``Thesaurus.FLAT.zip``: eight or nine columns, separated by tabs, without a header.
        tally: Counts names, definitions, parents, types, subsets, and concepts that are dropped.
        without_statuses: Statuses of concepts to leave out, separated by commas: ``Obsolete_Concept`` and
            ``Retired_Concept`` by default; ``Provisional_Concept`` and ``Header_Concept`` are others.
        definitions: Whether to read definitions; on by default.

    Raises:
        InputError: With file and line: an invalid or repeated code, a concept without a name, a parent that is no code,
            a row with another number of cells. Also: a file with another number of columns.
    """
    path, unwanted = check_file(path), listed("without_statuses", without_statuses)
    width = len(read_header(path, dialect="tsv"))
    if width not in _WIDTHS:
        raise InputError(f"{path}:1: {width} columns, expected {' or '.join(map(str, _WIDTHS))} separated by tabs")
    version = _VERSION.search(path.name)
    yield replace(SOURCE, version=version[0] if version else "")
    seen: set[str] = set()
    named: set[str] = set()
    statuses: set[str] = set()
    parents: list[tuple[str, str]] = []
    for line, cells in read_table(path, dialect="tsv", header=_COLUMNS[:width]):
        where, row = f"{path}:{line}", dict(zip(_COLUMNS, map(str.strip, cells)))
        number = row["code"]
        if not _CODE.fullmatch(number) or number in seen:
            raise InputError(f"{where}: expected a unique code such as C12345, found {number[:40]!r}")
        seen.add(number)
        code = f"{SOURCE.name}:{number}"
        names = [*_values(row["synonyms"]), *_values(row["display name"])]
        statuses.update(own := _values(row["status"]))
        if status := next((status for status in own if status in unwanted), ""):
            tally.read_dropped(f"concepts with status {status}")
            continue
        if not names:
            raise InputError(f"{where}: concept {number} has neither a synonym nor a display name")
        named.add(code)
        yield from _content(code, names, row, definitions, tally)
        for parent in _values(row["parents"]):
            if parent == _ROOT:
                continue
            if not _CODE.fullmatch(parent):
                raise InputError(f"{where}: a parent must be a code such as C12345, found {parent[:40]!r}")
            parents.append((code, f"{SOURCE.name}:{parent}"))
    if without_statuses != _RETIRED:
        note_unmet(tally, "without_statuses", unwanted, statuses, "no concept has status")
    once = DuplicateFilter(tally, "repeated parents")
    tally.read(len(parents))
    for child, parent in parents:
        if parent not in named or parent == child:
            tally.drop("parents that are no other concept")
        elif once.keep(child, parent):
            yield Parent(child, parent)


def _content(code: str, names: list[str], row: dict[str, str], definitions: bool, tally: Tally) -> Iterator[Record]:
    """Names, definition and semantic types of a concept."""
    once = DuplicateFilter(tally, "repeated names of a concept")
    for i, name in enumerate(names):
        if once.read(name):
            yield Term(code, name, "synonym" if i else "preferred")
    if definition := single_spaced(row["definition"]):
        tally.read()
        if definitions:
            tally.keep()
            yield Definition(code, definition)
        else:
            tally.drop("definitions")
    types = DuplicateFilter(tally, "repeated semantic types")
    for semantic_type in _values(row["semantic type"]):
        if types.read(semantic_type):
            yield Type(code, semantic_type)
    subsets = len(_values(row.get("subsets", "")))
    tally.read_dropped("subsets", subsets)


def _values(cell: str) -> list[str]:
    """The values of a cell, separated by pipes."""
    return [value for part in cell.split("|") if (value := part.strip())]
