"""The positions of the annotations of a BioC document in its text, in any unit of its offsets."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from st_biomed.errors import InputError
from st_biomed.linking_data.bioc import BioCAnnotation, BioCDocument

LONGEST_GAP = 10_000
"""Maximum number of characters between two passages: more indicate a damaged offset and fill the memory."""

_ENCODINGS = {"bytes of UTF-8": ("utf-8", 1), "units of UTF-16": ("utf-16-le", 2)}
"""Units of offsets other than characters: an encoding, and its bytes per unit."""

_Spans = list[tuple[int, int]]


class Place(NamedTuple):
    """An annotated string in the document.

    Attributes:
        text: The annotated string, or the text at the offsets if the annotation has no string; pieces joined by
            spaces.
        start: Offset of its first character in the document's text; -1 if the string is not at its offsets.
        end: Offset after the last character.
        counted: The unit of its offsets, if it is not characters of the document.
    """

    text: str
    start: int = -1
    end: int = -1
    counted: str = ""


class Places:
    """The text of a document, with passages at their offsets and spaces between them, and positions in it.

    Raises:
        InputError: A passage begins far after the end of the one before it.
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
            # With other units of offsets, passages may be further apart, or separated by one added space.
            self.starts.append(max(passage.offset, behind))
            self.text = self.text.ljust(self.starts[-1]) + passage.text

    def find(self, annotation: BioCAnnotation, holder: int) -> Place:
        """The position of an annotation that has a location.

        Args:
            holder: Offset of its passage.
        """
        annotated = " ".join(annotation.text.split())
        row = max(0, bisect_right(self.offsets, annotation.locations[0][0]) - 1)
        whence = ((row, self.offsets[row], ""), (self.offsets.index(holder), 0, " from the passage"))
        for row, base, beginning in whence:
            text = self.passages[row].text
            locations = [(offset - base, length) for offset, length in annotation.locations]
            for unit, spans in _spans(text, locations):
                pieces = [text[start:end] for start, end in spans]
                covered = " ".join(" ".join(pieces).split())
                if covered and _same(annotated or covered, covered, in_pieces=len(pieces) > 1):
                    start = self.starts[row] + spans[0][0] + len(pieces[0]) - len(pieces[0].lstrip())
                    end = self.starts[row] + spans[-1][0] + len(pieces[-1].rstrip())
                    usual = unit == "characters" and not beginning
                    return Place(annotated or covered, start, end, "" if usual else f"{unit}{beginning}")
                if not annotated:  # without a string, other units of the offsets cannot be verified
                    return Place("")
        return Place(annotated)


def _spans(text: str, locations: _Spans) -> Iterator[tuple[str, _Spans]]:
    """Each unit, and the characters of locations that count it: beginnings and ends."""
    if min(offset for offset, _ in locations) < 0:
        return
    yield "characters", [(offset, offset + length) for offset, length in locations]
    for unit, (encoding, width) in () if text.isascii() else _ENCODINGS.items():
        data = text.encode(encoding)

        def characters(place: int, data: bytes = data, encoding: str = encoding, width: int = width) -> int:
            return len(data[: place * width].decode(encoding, "ignore"))

        yield unit, [(characters(offset), characters(offset + length)) for offset, length in locations]


def _same(annotated: str, covered: str, *, in_pieces: bool) -> bool:
    """Whether two strings are equal ignoring case; for pieces, whether their first and last words are."""
    first, second = annotated.casefold(), covered.casefold()
    if not in_pieces:
        return first == second
    first_words, second_words = first.split(), second.split()
    return (first_words[0], first_words[-1]) == (second_words[0], second_words[-1])
