"""The Italian ICD-9-CM as a table of nodes, diagnoses and procedures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_table
from st_biomed.readers.icd9cm.concepts import DIAGNOSES, PROCEDURES, Concept, curie
from st_biomed.readers.icd9cm.notes import italian, names_among
from st_biomed.records import Tally

_SECTIONS = {"diagnosi": DIAGNOSES, "interventi": PROCEDURES}
_BLOCK = re.compile(r"([EV]?\d{2,3})-([EV]?\d{2,3})")
_CHAPTER = re.compile(r"\s*\(([EV]?\d{2,3})(?:-([EV]?\d{2,3}))?\)$")


def read_tree(path: Path, encoding: str, tally: Tally, includes: str) -> Iterator[Concept]:
    """The nodes with a code, parents first; the code of a chapter, a number, is replaced by the range in its label."""
    codes: dict[str, str] = {}
    titles: dict[str, str] = {}
    taken: set[str] = set()
    columns = ["node_id", "parent_id", "section", "code", "label_it", "notes_raw"]
    rows = read_table(path, columns, dialect="tsv", encoding=encoding)
    for line, (node, above, section, bare, label, notes) in rows:
        where, title = f"{path}:{line}", " ".join(label.split())
        if node in codes:
            raise InputError(f"{where}: node_id {node!r} is listed twice")
        if above not in codes and above != "-1":
            raise InputError(f"{where}: parent_id {above!r} is not the node_id of an earlier line (-1 for no parent)")
        if not title:
            raise InputError(f"{where}: node {node!r} has an empty label_it")
        parent = codes.get(above, "")
        if not bare:
            codes[node] = parent
            tally.read_dropped("nodes without a code")
            continue
        if section not in _SECTIONS:
            raise InputError(f"{where}: section must be one of {', '.join(_SECTIONS)}, found {section!r}")
        within = _BLOCK.fullmatch(bare) if parent else _CHAPTER.search(title)
        if within:
            code = f"{_SECTIONS[section]}:{within[1]}-{within[2] or within[1]}"
            title = title if parent else title[: within.start()]
        elif parent:
            code = curie(where, bare, _SECTIONS[section])
        else:
            raise InputError(
                f"{where}: a chapter's label_it must end with its range, like (001-139), found {title[-20:]!r}"
            )
        if code in taken or not title:
            raise InputError(f"{where}: code {code} is listed twice, or has no name")
        codes[node] = code
        taken.add(code)
        if title[0].islower():
            title = f"{titles.get(above, '')} {title}".strip()
        titles[node] = title
        entries = italian(notes.split("\\n"))
        names = names_among(entries, tally, heading=within is not None, includes=includes)
        yield Concept(code, parent, [title, *names])
