"""Finds which of millions of names occur in a few files: whole words, one pass over the names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.release.name_kinds import Kind, kinds_of
from st_biomed.release.normalized_names import letters_of, words_of
from st_biomed.release.spellings import readings

LEAST_JOINED = 12
"""Minimum number of letters of a name that is found by consecutive letters, with any characters between them."""

HEAD = 20
"""Number of letters of a name in the index."""


_ROWS = 1_000_000  # names folded at once
_CLAUSE_END = re.compile(r"[|。！？]|[.?!](?=\s)|\n\s*\n|\n\s*(?:[-*#]|\d+[.)])\s")


class Near(NamedTuple):
    """A name that may occur: its row among the searched names, its text, its folded words, and its kind."""

    row: int
    name: str
    words: str
    kind: Kind

    @property
    def letters(self) -> str:
        """The common part of two spellings of a name."""
        return self.words.replace(" ", "")


class TermSearch:
    """The words of some passages, ready to be searched for names.

    A name occurs where its words are consecutive inside one passage, in any of its readings
    (:mod:`st_biomed.release.spellings`), ignoring case, accents, punctuation and line breaks. A longer name also
    occurs where other word boundaries are between its letters. The index is built from the passages, which are small;
    names are streamed, so memory does not grow with their number.

    Args:
        passages: Place (for example a file's name) to its strings.
    """

    def __init__(self, passages: Mapping[str, Iterable[str]]) -> None:
        self._texts = {place: _Text(strings) for place, strings in passages.items()}

    @cached_property
    def heads(self) -> set[str]:
        """The possible first letters of occurring names."""
        return {head for text in self._texts.values() for line in text.lines for head in _heads_of(line)}

    def find(
        self, names: pa.Array | pa.ChunkedArray, counts: Callable[[Kind], bool] = lambda kind: True
    ) -> dict[str, str]:
        """The occurring names, from their words to their spelling.

        Args:
            names: Strings ``[T]``.
            counts: Whether a kind is searched for; one such spelling is enough for several with the same words.
        """
        return {name.words: name.name for name in near(names, self) if counts(name.kind) and self.where(name.words)}

    def lines(self) -> Iterator[tuple[str, str]]:
        """The words of each reading of each string, separated by spaces, and its place."""
        for place, text in self._texts.items():
            for line in text.lines:
                yield place, line

    def where(self, words: str) -> list[str]:
        """The places where a name, given by its words, occurs."""
        return [place for place, text in self._texts.items() if text.holds(words)]

    def where_in_a_clause(self, words: str) -> list[str]:
        """The places where the words of a name are in one clause: no sentence, paragraph or cell ends between them."""
        return [place for place, text in self._texts.items() if words and f" {words} " in text.clauses]


def near(names: pa.Array | pa.ChunkedArray, *searches: TermSearch) -> Iterator[Near]:
    """The names whose first letters occur in any of some searches.

    Args:
        names: Strings ``[T]``.
        *searches: Searches, for :meth:`TermSearch.where` and similar methods.
    """
    heads = pa.array(sorted(set[str]().union(*(search.heads for search in searches))), pa.string())
    for start in range(0, len(names), _ROWS):
        written = names.slice(start, _ROWS)
        candidate = pc.is_in(pc.utf8_slice_codeunits(letters_of(written), 0, HEAD), value_set=heads)
        rows = np.flatnonzero(candidate.to_numpy(zero_copy_only=False)) + start
        few = pa.array(written.filter(candidate).to_pylist(), pa.string())
        yield from map(Near, rows.tolist(), few.to_pylist(), words_of(few).to_pylist(), kinds_of(few))


class _Text:
    """The strings of a place, in every reading."""

    def __init__(self, strings: Iterable[str]) -> None:
        read = dict.fromkeys(reading for string in dict.fromkeys(strings) for reading in readings(string))
        self._readings = [string.encode("utf-8", "replace").decode() for string in read]
        self.lines = dict.fromkeys(words_of(pa.array(self._readings, pa.string())).to_pylist())
        """The words of each reading, separated by spaces."""
        self._words = "".join(f" {line} \n" for line in self.lines)

    @cached_property
    def clauses(self) -> str:
        parts = [part for string in self._readings for part in _CLAUSE_END.split(string)]
        return "".join(f" {line} \n" for line in dict.fromkeys(words_of(pa.array(parts, pa.string())).to_pylist()))

    @cached_property
    def _joined(self) -> tuple[str, bytes]:
        """All letters in sequence, and 1 for each letter at the beginning of a word."""
        begins = bytearray()
        for word in self._words.split(" "):
            begins += b"\1" + bytes(len(word) - 1) if word else b""
        return self._words.replace(" ", ""), bytes(begins)

    def holds(self, words: str) -> bool:
        letters = words.replace(" ", "")
        if len(letters) < LEAST_JOINED:
            return bool(words) and f" {words} " in self._words
        joined, begins = self._joined
        at = joined.find(letters)
        while at >= 0:
            if begins[at] and begins[at + len(letters)]:
                return True
            at = joined.find(letters, at + 1)
        return False


def _heads_of(line: str) -> Iterator[str]:
    """The possible first letters of a name that occurs in ``line``, for each word at which it can start.

    A name of at least ``HEAD`` letters begins with the whole window; a shorter one ends at the end of a word.
    """
    words = line.split(" ")
    for first in range(len(words)):
        head = ""
        for word in words[first:]:
            head += word
            if len(head) >= HEAD:
                yield head[:HEAD]
                break
            if not head.isdecimal():  # names are not numbers
                yield head
