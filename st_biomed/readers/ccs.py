"""CCS: AHRQ's Clinical Classifications Software, the multi-level diagnosis categories of ICD-9-CM."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_table
from st_biomed.readers._duplicate_filter import DuplicateFilter
from st_biomed.readers._years import year_in_name
from st_biomed.records import Parent, Record, SourceInfo, Tally, Term, Xref

SOURCE = SourceInfo(
    name="CCS",
    title="Clinical Classifications Software for ICD-9-CM, multi-level diagnoses",
    license="US public domain (AHRQ)",
    url="https://hcup-us.ahrq.gov/toolssoftware/ccs/ccs.jsp",
    redistributable=True,
)
PATH = "the multi-level table, e.g. ccs_multi_dx_tool_2015.csv"

_LEVELS = 4
# The published file wraps codes, and its header, in single quotes, labels in double ones.
_NAMES = ["ICD-9-CM_code", *(f"CCS_lvl_{i}{end}" for i in range(1, _LEVELS + 1) for end in ("", "_label"))]
_COLUMNS = [(name.lower(), f"'{name.lower()}'") for name in _NAMES]
_ICD = re.compile(r"\d{3,5}|V\d{2,4}|E\d{3,4}")
_CATEGORY = re.compile(r"\d+(\.\d+)*")
# The single-level categories of a label: "Tuberculosis [1.]", "... all E codes [259. and 260.]".
_SINGLE = re.compile(r"\s*\[(\d+)\.?(?: and (\d+)\.?)?\]$")


def records(path: Path, *, tally: Tally) -> Iterator[Record]:
    """Read categories of four levels, and the ICD-9-CM codes of each lowest category.

    The codes become cross-references ``contains`` of the lowest category in their row, e.g. from ``CCS:1.1.1`` to
    ``ICD9CM:010.00``. The number of the single-level category at the end of a label is not part of the name; it
    becomes a cross-reference ``xref`` to ``CCS_SINGLE:``.

    Args:
        path: ``ccs_multi_dx_tool_2015.csv``.
        tally: Counts the rows, one for each ICD-9-CM code.

    Raises:
        InputError: With file and line: an invalid code, a category without a label, a category whose number does not
            continue that of the category above, a row without a category. Also: no such file, no such column.
    """
    path = Path(path)
    yield replace(SOURCE, version=year_in_name(path))
    names: set[tuple[str, str]] = set()
    categories: set[str] = set()
    links = DuplicateFilter(tally, "repeated rows")
    for line, row in read_table(path, _COLUMNS, dialect="csv"):
        icd, *levels = (cell.strip().strip("'").strip() for cell in row)
        tally.read()
        if not _ICD.fullmatch(icd):
            raise InputError(
                f"{path}:{line}: {icd!r} is not an ICD-9-CM diagnosis code; they look like 25000, V290 or E8000"
            )
        above = ""
        for category, label in _named(f"{path}:{line}", levels):
            code = f"{SOURCE.name}:{category}"
            name = " ".join(_SINGLE.sub("", label).split())
            if not name:
                raise InputError(f"{path}:{line}: category {category} has no name, found {label!r}")
            if category not in categories:
                yield Term(code, name)
                if above:
                    yield Parent(code, above)
                single = _SINGLE.search(label)
                for number in filter(None, single.groups() if single else ()):
                    yield Xref(code, f"CCS_SINGLE:{number}")
            elif (category, name) not in names:
                yield Term(code, name, "synonym")
            categories.add(category)
            names.add((category, name))
            above = code
        if links.keep(above, icd):
            n = 4 if icd[0] == "E" else 3
            dotted = f"{icd[:n]}.{icd[n:]}" if icd[n:] else icd
            yield Xref(above, f"ICD9CM:{dotted}", "contains")


def _named(where: str, levels: list[str]) -> Iterator[tuple[str, str]]:
    """Number and label of a row's categories, from the highest to the lowest."""
    above = ""
    for i, (category, label) in enumerate(zip(levels[::2], levels[1::2])):
        if not category and not label and i:
            if any(levels[2 * i :]):
                raise InputError(f"{where}: level {i + 1} is empty, but a lower level is not")
            return
        if not _CATEGORY.fullmatch(category) or not label:
            raise InputError(
                f"{where}: level {i + 1} needs a number like 1.1.2 and a label, found {category!r}, {label!r}"
            )
        if category.rpartition(".")[0] != above:
            raise InputError(f"{where}: category {category!r} does not continue the number of {above!r}")
        yield category, label
        above = category
