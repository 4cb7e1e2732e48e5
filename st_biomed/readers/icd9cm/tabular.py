"""The tabular list of ICD-9-CM as text: chapters, blocks, codes and the notes below them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.readers.icd9cm.concepts import DIAGNOSES, Concept, code_above, curie
from st_biomed.readers.icd9cm.notes import LISTED, english, names_among
from st_biomed.records import Tally

_CHAPTER_NUMBER = re.compile(r"^\d{1,2}\.\s+")
_RANGE = re.compile(r"\s*\(([EV]?\d{2,3})(?:-([EV]?\d{2,3}))?\)$")

_Ranges = dict[str, tuple[str, str]]
"""Chapters and blocks, with their first and last category."""


def read_tabular(path: Path, encoding: str, tally: Tally, includes: str) -> Iterator[Concept]:
    """Chapters, blocks and codes, each with its title and the names in its notes."""
    lines = [(line, text) for line, text in read_lines(path, encoding=encoding) if text.strip()]
    # A chapter may begin with a list of its categories: the last of several lines with one code is the code itself.
    own = {match[1]: line for line, text in lines if (match := LISTED.fullmatch(text.strip()))}
    ranges: _Ranges = {}
    known: set[str] = set()
    concept = Concept("", "", [])
    notes: list[str] = []

    def finished() -> Iterator[Concept]:
        names = names_among(english(notes), tally, heading=concept.code in ranges, includes=includes)
        if concept.code:
            yield concept._replace(names=[*concept.names, *names])

    for line, text in lines:
        title, first, last = _heading(text)
        listed = LISTED.fullmatch(text.strip())
        if listed and own[listed[1]] == line:
            code = curie(f"{path}:{line}", listed[1])
            category = listed[1].partition(".")[0]
            parent, title = code_above(code, known) or _around(ranges, category, category), " ".join(listed[2].split())
        elif title and not listed:
            code = f"{DIAGNOSES}:{first}-{last}"
            if code in known:
                raise InputError(f"{path}:{line}: {first}-{last} is the range of two chapters or blocks")
            parent = _around(ranges, first, last)
        elif known:
            notes.append(text)
            continue
        else:
            tally.read_dropped("lines in front of the first chapter")
            continue
        yield from finished()
        if not listed:
            ranges[code] = first, last
        known.add(code)
        concept, notes = Concept(code, parent, [title]), []
    yield from finished()


def inclusion_terms(path: Path, encoding: str, tally: Tally, includes: str) -> dict[str, list[str]]:
    """Code to its names in the tabular list, without its title."""
    names_of = {}
    for code, _, names in read_tabular(path, encoding, tally, includes):
        tally.read_dropped("titles of a tabular list that is read for its inclusion terms")
        names_of[code] = names[1:]
    return names_of


def _heading(text: str) -> tuple[str, str, str]:
    """Title, first and last category of a chapter or block, whose line is in capitals; empty for any other line."""
    text = " ".join(text.split())
    within = _RANGE.search(text)
    title = _CHAPTER_NUMBER.sub("", text[: within.start()]) if within else ""
    return (title, within[1], within[2] or within[1]) if within and title.isupper() else ("", "", "")


def _around(ranges: _Ranges, first: str, last: str) -> str:
    """The innermost (latest) chapter or block that contains a range; empty if there is none."""
    return next((code for code in reversed(ranges) if ranges[code][0] <= first and last <= ranges[code][1]), "")
