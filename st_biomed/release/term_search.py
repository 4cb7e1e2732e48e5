"""Which of millions of names occur in a few files: whole words, one pass over the names."""

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
"""Letters from which on a name is found wherever its letters stand in a row, whatever stands between any two of them."""

HEAD = 20
"""Letters of a name that the index holds."""


_ROWS = 1_000_000  # names folded at a time
_CLAUSE_END = re.compile(r"[|。！？]|[.?!](?=\s)|\n\s*\n|\n\s*(?:[-*#]|\d+[.)])\s")


class Near(NamedTuple):
    """A name that may occur: its row among those that are searched for, itself, its words, folded, and its kind."""

    row: int
    name: str
    words: str
    kind: Kind

    @property
    def letters(self) -> str:
        """What two spellings of a name have in common."""
        return self.words.replace(" ", "")


class TermSearch:
    """The words of some passages, ready to be asked for names.

    A name occurs where its words stand next to each other, in order, inside one passage, in any reading of this
    (:mod:`st_biomed.release.spellings`); case, accents, punctuation and line breaks play no part. A longer one also occurs
    where other words than its own begin and end between its letters. The index is made from the passages, which are small:
    names only stream past it, so that memory does not grow with their number.

    Args:
        passages: Place (say, a file's name) to the strings found there.
    """

    def __init__(self, passages: Mapping[str, Iterable[str]]) -> None:
        self._texts = {place: _Text(strings) for place, strings in passages.items()}

    @cached_property
    def heads(self) -> set[str]:
        """The first letters that a name which occurs can have."""
        return {head for text in self._texts.values() for line in text.lines for head in _heads_of(line)}

    def find(
        self, names: pa.Array | pa.ChunkedArray, counts: Callable[[Kind], bool] = lambda kind: True
    ) -> dict[str, str]:
        """The names that occur, from their words to how they are written.

        Args:
            names: Strings ``[T]``.
            counts: Which kinds to look for; of several spellings with the same words, one that counts is enough.
        """
        return {one.words: one.name for one in near(names, self) if counts(one.kind) and self.where(one.words)}

    def lines(self) -> Iterator[tuple[str, str]]:
        """The words of each reading of each string, with spaces between, and its place."""
        for place, text in self._texts.items():
            for line in text.lines:
                yield place, line

    def where(self, words: str) -> list[str]:
        """The places where a name, given by its words, occurs."""
        return [place for place, text in self._texts.items() if text.holds(words)]

    def where_in_a_clause(self, words: str) -> list[str]:
        """The places where the words of a name stand in one clause: no sentence, paragraph or cell ends between them."""
        return [place for place, text in self._texts.items() if words and f" {words} " in text.clauses]


def near(names: pa.Array | pa.ChunkedArray, *searches: TermSearch) -> Iterator[Near]:
    """The names whose first letters occur in what any of some searches has.

    Args:
        names: Strings ``[T]``.
        *searches: Each is asked where a name occurs by :meth:`TermSearch.where` and its kin.
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
        read = dict.fromkeys(one for string in dict.fromkeys(strings) for one in readings(string))
        self._readings = [string.encode("utf-8", "replace").decode() for string in read]
        self.lines = dict.fromkeys(words_of(pa.array(self._readings, pa.string())).to_pylist())
        """The words of each reading, with spaces between."""
        self._words = "".join(f" {line} \n" for line in self.lines)

    @cached_property
    def clauses(self) -> str:
        parts = [part for string in self._readings for part in _CLAUSE_END.split(string)]
        return "".join(f" {line} \n" for line in dict.fromkeys(words_of(pa.array(parts, pa.string())).to_pylist()))

    @cached_property
    def _joined(self) -> tuple[str, bytes]:
        """All letters in a row, and 1 for each before which a word begins."""
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
    """The first letters that a name occurring in ``line`` can have, for each word it can start with.

    A name of at least ``HEAD`` letters begins with the window itself, a shorter one ends where a word ends.
    """
    words = line.split(" ")
    for first in range(len(words)):
        head = ""
        for word in words[first:]:
            head += word
            if len(head) >= HEAD:
                yield head[:HEAD]
                break
            if not head.isdecimal():  # no name is a number
                yield head
