"""MEDIC as used by DNorm and BioSyn: ``id|alternative id||name|synonym|...``, one concept per line (July 2012)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.linking_data.gold_ids import known_ids
from st_biomed.records import Tally


def entries(path: Path, *, tally: Tally) -> Iterator[tuple[str, list[str]]]:
    """Stream the entries: every name of a concept with all its ids.

    Raises:
        InputError: A line without ``||``, without an id or without a name, or a repeated concept (first id).
    """
    line_of: dict[str, int] = {}
    for line, content in read_lines(path):
        if not content.strip():
            continue
        ids, separator, names = content.partition("||")
        known = known_ids(ids.split("|"))
        concept_names = [name for cell in names.split("|") if (name := cell.strip())]
        if not separator or not known or not concept_names:
            raise InputError(f"{path}:{line}: expected id|id||name|name, found {content[:60]!r}")
        if line_of.setdefault(known[0], line) != line:
            raise InputError(f"{path}:{line}: concept {known[0]} is also listed in line {line_of[known[0]]}")
        for name in concept_names:
            tally.read()
            yield name, known
