"""ATC: the Anatomical Therapeutic Chemical classification, a tree whose levels are the lengths of its codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file, read_table
from st_biomed.files.encodings import resolve_encoding
from st_biomed.readers._years import year_in_name
from st_biomed.records import Parent, Record, SourceInfo, Tally, Term

SOURCE = SourceInfo(
    name="ATC",
    title="Anatomical Therapeutic Chemical Classification",
    license="WHO Collaborating Center for Drug Statistics Methodology: no commercial distribution, no changes",
    url="https://atcddd.fhi.no",
)
PATH = "a table of codes and names, e.g. atc.csv"

_COLUMNS = (
    ("atc_code", "code", "atc", "atccode", "atc_id"),
    ("atc_level_name", "atc_name", "name", "atc_label", "label", "description"),
)
_CODE = re.compile(r"[A-Z](\d\d([A-Z]([A-Z](\d\d)?)?)?)?")
_LENGTHS = (5, 4, 3, 1)  # of the codes above, from the nearest


def records(path: Path, *, tally: Tally, dialect: str | None = None, encoding: str = "") -> Iterator[Record]:
    """Read codes and names; a code's parent is the longest code that is a prefix of it: A10BA02, A10BA, A10B, A10, A.

    The first name of a code is preferred, its other names are synonyms. Tables of daily doses list a code once for
    each dose; the repeated rows are counted.

    Args:
        path: A table with a header, e.g. ``ATC code,ATC level name``; other columns are ignored.
        tally: Counts the rows.
        dialect: ``csv``, ``semicolon``, ``tsv`` or ``tsv_quoted``; by default the suffix of the file decides: ``.csv`` or
            ``.tsv``.
        encoding: Encoding of the file, e.g. ``cp1252``; by default UTF-8, or UTF-16 if it begins with a byte order
            mark.

    Raises:
        InputError: With file and line: an invalid code, an empty name, a malformed row. Also: no such file, no
            such column.
    """
    path = check_file(path)
    yield replace(SOURCE, version=year_in_name(path))
    names: dict[str, set[str]] = {}
    for line, row in read_table(path, _COLUMNS, dialect=dialect, encoding=resolve_encoding(path, encoding, tally)):
        code, name = (cell.strip() for cell in row)
        tally.read()
        if not _CODE.fullmatch(code):
            raise InputError(
                f"{path}:{line}: {code!r} is not an ATC code; they look like A, A10, A10B, A10BA and A10BA02"
            )
        if not name:
            raise InputError(f"{path}:{line}: ATC code {code} has an empty name")
        known = names.setdefault(code, set())
        if name in known:
            tally.drop("repeated rows of a code")
            continue
        tally.keep()
        yield Term(f"{SOURCE.name}:{code}", name, "synonym" if known else "preferred")
        known.add(name)
    for code in names:
        above = next((code[:n] for n in _LENGTHS if n < len(code) and code[:n] in names), None)
        if above:
            yield Parent(f"{SOURCE.name}:{code}", f"{SOURCE.name}:{above}")
