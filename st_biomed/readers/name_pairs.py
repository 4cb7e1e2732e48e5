"""The text files of synonyms of the papers, ``label||name1||name2``, as in SapBERT's training files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file, read_lines
from st_biomed.files.encodings import resolve_encoding
from st_biomed.readers._languages import language_of
from st_biomed.records import Record, SourceInfo, Tally, Term

SOURCE = SourceInfo(
    name="NAME_PAIRS",
    title="Synonyms from a text file of the user's own",
    license="not stated",
    url="not stated",
)
PATH = "a text file with lines label||name1||name2"


def records(
    path: Path,
    *,
    tally: Tally,
    name: str | None = None,
    language: str = "en",
    redistributable: bool = False,
    encoding: str = "",
) -> Iterator[Record]:
    """Read the concepts and their distinct names, the first one of a concept as its preferred name.

    A row is one name: a line with two names counts as two rows.

    Args:
        path: Lines of a label and at least one name, separated by ``||``. A label, bare or a CURIE
            (``UMLS:C0000000``), becomes the part of the code after the source's name.
        tally: Counts the names.
        name: Short name of the source; by default derived from the file's name.
        language: ISO 639-1 code of the names; ``en`` by default.
        redistributable: Whether the names may appear in a released file; off by default.
        encoding: Encoding of the file, e.g. ``cp1252``; by default UTF-8, or UTF-16 if it begins with a byte order
            mark.

    Raises:
        InputError: With file and line: no label, no name, an empty name. Also: no such file.
    """
    check_file(path)
    language = language_of("language", language)
    source = name or re.sub(r"\W+", "_", path.name.split(".")[0])
    if not re.fullmatch(r"[\w.-]+", source):
        raise InputError(f"name of reader 'name_pairs' must be letters, digits, '_', '.' or '-', found {source!r}")
    yield replace(SOURCE, name=source, title=source, redistributable=redistributable)
    seen: dict[str, set[str]] = {}
    for line, text in read_lines(path, encoding=resolve_encoding(path, encoding, tally)):
        if not text.strip():
            continue
        label, *names = (cell.strip() for cell in text.split("||"))
        if not label:
            raise InputError(f"{path}:{line}: the names have no label, expected label||name1||name2")
        if not names:
            raise InputError(f"{path}:{line}: label {label!r} has no name, expected label||name1||name2")
        known = seen.setdefault(label, set())
        for term in names:
            tally.read()
            if not term:
                raise InputError(f"{path}:{line}: label {label!r} has an empty name")
            if term in known:
                tally.drop("repeated names of a concept")
            else:
                tally.keep()
                yield Term(f"{source}:{label}", term, "synonym" if known else "preferred", language, source)
                known.add(term)
