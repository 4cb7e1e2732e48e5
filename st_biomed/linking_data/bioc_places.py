"""Where the annotations of a BioC document stand in its text, whatever its offsets count."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from st_biomed.errors import InputError
from st_biomed.linking_data.bioc import BioCAnnotation, BioCDocument

LONGEST_GAP = 10_000
"""Characters between two passages: more are a damaged offset, which would fill the memory with spaces."""

_ENCODINGS = {"bytes of UTF-8": ("utf-8", 1), "units of UTF-16": ("utf-16-le", 2)}
"""What offsets may count besides characters: an encoding, and its bytes for each of them."""

_Spans = list[tuple[int, int]]


class Place(NamedTuple):
    """A string as it stands in the document.

    Attributes:
        text: The annotated string, or what stands at the offsets where the annotation has none; pieces joined by spaces.
        start: Of its first character in the document's text; -1 where the string does not stand at its offsets.
        end: Behind the last character.
        counted: What its offsets count, if that is something else than characters of the document.
    """

    text: str
    start: int = -1
    end: int = -1
    counted: str = ""


class Places:
    """The text of a document, passages at their offsets with spaces between, and places in it.

    Attributes:
        text: The whole text.

    Raises:
        InputError: A passage begins far behind the one before it.
    """

    def __init__(self, document: BioCDocument) -> None:
        self.passages = sorted(document.passages, key=lambda passage: passage.offset)
        self.offsets = [passage.offset for passage in self.passages]
        self.starts: list[int] = []
        self.text = ""
        for passage in self.passages:
            behind = len(self.text) + bool(self.text)
            if passage.offset > behind + LONGEST_GAP:
                raise InputError(
                    f"{document.where}: a passage begins at {passage.offset}, but the text before it ends at "
                    f"{len(self.text)}"
                )
            # Where offsets count something else, passages may lie further apart, or be pushed apart by one space.
            self.starts.append(max(passage.offset, behind))
            self.text = self.text.ljust(self.starts[-1]) + passage.text

    def find(self, annotation: BioCAnnotation, holder: int) -> Place:
        """The place of an annotation that has a location.

        Args:
            annotation: What is looked for.
            holder: Offset of the passage that holds it.
        """
        said = " ".join(annotation.text.split())
        row = max(0, bisect_right(self.offsets, annotation.locations[0][0]) - 1)
        whence = ((row, self.offsets[row], ""), (self.offsets.index(holder), 0, " from the passage"))
        for row, base, beginning in whence:
            text = self.passages[row].text
            locations = [(offset - base, length) for offset, length in annotation.locations]
            for unit, spans in _spans(text, locations):
                pieces = [text[start:end] for start, end in spans]
                found = " ".join(" ".join(pieces).split())
                if found and _same(said or found, found, in_pieces=len(pieces) > 1):
                    start = self.starts[row] + spans[0][0] + len(pieces[0]) - len(pieces[0].lstrip())
                    end = self.starts[row] + spans[-1][0] + len(pieces[-1].rstrip())
                    usual = unit == "characters" and not beginning
                    return Place(said or found, start, end, "" if usual else f"{unit}{beginning}")
                if not said:  # nothing could tell whether another reading of the offsets is right
                    return Place("")
        return Place(said)


def _spans(text: str, locations: _Spans) -> Iterator[tuple[str, _Spans]]:
    """A unit, and the characters that locations mean if they count it: beginnings and ends."""
    if min(offset for offset, _ in locations) < 0:
        return
    yield "characters", [(offset, offset + length) for offset, length in locations]
    for unit, (encoding, width) in () if text.isascii() else _ENCODINGS.items():
        data = text.encode(encoding)

        def characters(place: int, data: bytes = data, encoding: str = encoding, width: int = width) -> int:
            return len(data[: place * width].decode(encoding, "ignore"))

        yield unit, [(characters(offset), characters(offset + length)) for offset, length in locations]


def _same(said: str, found: str, *, in_pieces: bool) -> bool:
    """Whether a string is the one that stands there; of pieces, of which something may be left out, the first and last words."""
    one, other = said.casefold(), found.casefold()
    if not in_pieces:
        return one == other
    one_words, other_words = one.split(), other.split()
    return (one_words[0], one_words[-1]) == (other_words[0], other_words[-1])
