"""``id||name``, one name per line: the form of BioSyn's and SapBERT's dictionaries. ``a|b`` are alternative ids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.linking_data.gold_ids import known_ids
from st_biomed.records import Tally


def entries(path: Path, *, tally: Tally) -> Iterator[tuple[str, list[str]]]:
    """Stream the entries; a name whose id means "no concept" is dropped.

    Raises:
        InputError: A line without ``||``, or without a name.
    """
    for line, content in read_lines(path):
        if not content.strip():
            continue
        tally.read()
        ids, separator, name = content.partition("||")
        name = name.strip()
        if not separator or not name:
            raise InputError(f"{path}:{line}: expected id||name, found {content[:60]!r}")
        if known := known_ids(ids.split("|")):
            yield name, known
        else:
            tally.drop("names without an id")
