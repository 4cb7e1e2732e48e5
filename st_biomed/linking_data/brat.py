"""brat standoff: ``x.txt`` with the text, and ``x.ann`` with entities and the notes that hold their ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.files.gzipped import matching, plain_or_gzipped, plain_stem
from st_biomed.linking_data.annotated import OFFSET, read_text, require_folder
from st_biomed.linking_data.records import Mention

_SPANS = re.compile(rf"(\S+) ({OFFSET} {OFFSET}(?:;{OFFSET} {OFFSET})*)")


class BratEntity(NamedTuple):
    """A text-bound annotation.

    Attributes:
        where: ``file:line`` of the annotation.
        text: The annotated string, with the pieces of a discontinuous one joined by spaces.
        start: Offset of the first character of its first piece.
        end: Offset after the last character of its last piece.
        notes: The annotators' notes (``#`` lines) and the reference of its normalizations (``N`` lines).
    """

    where: str
    type: str
    text: str
    start: int
    end: int
    notes: list[str]

    def mention(self, document: str, gold: tuple[frozenset[str], ...], *, type: str = "") -> Mention:
        """The entity as a mention in a document, with its own type if no other is given."""
        return Mention(self.text, gold, document=document, start=self.start, end=self.end, type=type or self.type)


class BratDocument(NamedTuple):
    """One text with its entities, in the order of the file."""

    id: str
    text: str
    entities: list[BratEntity]


def read_brat(folder: Path) -> Iterator[BratDocument]:
    """Stream the documents of a folder, sorted by name; relations, events and attributes are not part of linking.

    Raises:
        InputError: No such folder or no ``.ann`` file in it, an ``.ann`` file without its text, an invalid or
            repeated entity line, a note without its entity.
    """
    paths = matching(require_folder(folder), "*.ann")
    if not paths:
        raise InputError(f"{folder}: contains no .ann file")
    for path in paths:
        stem = plain_stem(path)
        text = path.with_name(f"{stem}.txt")
        yield BratDocument(stem, read_text(plain_or_gzipped(text) or text), _entities(path))


def _entities(path: Path) -> list[BratEntity]:
    entities: dict[str, BratEntity] = {}
    notes: list[tuple[int, str, str]] = []
    for line, content in read_lines(path):
        if not content.strip():
            continue
        cells = content.split("\t")
        if content[0] == "T":
            if cells[0] in entities:
                raise InputError(f"{path}:{line}: entity {cells[0]} is listed twice, expected one line for each id")
            entities[cells[0]] = _entity(f"{path}:{line}", cells)
        elif content[0] in "#N":
            words = cells[1].split() if len(cells) > 1 else []
            if len(cells) < 3 or len(words) < 2:
                raise InputError(
                    f"{path}:{line}: expected a note with its id, kind, entity and text, found {content[:60]!r}"
                )
            notes.append((line, words[1], words[2] if content[0] == "N" and len(words) > 2 else "\t".join(cells[2:])))
    for line, entity, note in notes:
        if entity.startswith("T"):
            if entity not in entities:
                raise InputError(f"{path}:{line}: a note on {entity}, which is not an entity of the file")
            entities[entity].notes.append(note.strip())
    return list(entities.values())


def _entity(where: str, cells: list[str]) -> BratEntity:
    match = _SPANS.fullmatch(cells[1]) if len(cells) >= 3 else None
    text = " ".join(" ".join(cells[2:]).split())
    if match is None or not text:
        raise InputError(
            f"{where}: an entity is its id, 'type start end' and its text, split at tabs, found {cells!r}"[:200]
        )
    offsets = [int(number) for number in re.split("[ ;]", match[2])]
    return BratEntity(where, match[1], text, offsets[0], offsets[-1], [])
