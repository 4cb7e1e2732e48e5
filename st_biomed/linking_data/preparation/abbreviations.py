"""Abbreviations and their long forms in the same document (Schwartz and Hearst, PSB 2003)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])|\n+")
_BRACKET = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_LIST = re.compile(r"[;,]\s")


class Definition(NamedTuple):
    """A short form that a text defines.

    Attributes:
        short: The short form.
        long: Its long form.
        start: First character of the short form in the text, where it is defined.
    """

    short: str
    long: str
    start: int


def find_abbreviations(text: str, *, any_order: bool = False) -> dict[str, str]:
    """Short form to long form, as :func:`find_definitions` finds them. The first definition in the text counts.

    Args:
        text: A document.
        any_order: As in :func:`find_definitions`.
    """
    long_forms: dict[str, str] = {}
    for found in find_definitions(text, any_order=any_order):
        long_forms.setdefault(found.short, found.long)
    return long_forms


class LongForms:
    """What short forms mean in a place: by their last definition that begins before it, or else by their first.

    Args:
        definitions: In the order of the text.
    """

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self._of: dict[str, tuple[list[int], list[str]]] = {}
        for found in definitions:
            starts, longs = self._of.setdefault(found.short, ([], []))
            starts.append(found.start)
            longs.append(found.long)

    def __iter__(self) -> Iterator[str]:
        """The short forms, in the order of their first definitions."""
        return iter(self._of)

    def at(self, short: str, end: int) -> str:
        """The long form of a short form in a place.

        Args:
            short: One of the short forms.
            end: Character after the last of the place.
        """
        starts, longs = self._of[short]
        return longs[max(bisect_left(starts, end) - 1, 0)]

    def within(self, text: str, end: int) -> dict[str, str]:
        """The long forms of the short forms that are part of a text, which ends before character ``end``."""
        return {short: self.at(short, end) for short in self._of if short in text}


def find_definitions(text: str, *, any_order: bool = False) -> list[Definition]:
    """Every definition ``long form (short form)`` or ``short form (long form)`` in a text, in its order.

    Section 2.1 of the paper: a short form has two to ten characters, at most two words and a letter, and begins with a
    letter or digit. The long form is next to it in the same sentence and has at most min(|A| + 5, 2|A|) words,
    where |A| counts the letters and digits of the short form. Section 2.2: from the end, each letter or digit of
    the short form is matched in the long form, the first one at the beginning of a word; the shortest such long form
    is used. It must be longer than the short form and must not contain it as a word.

    Args:
        text: A document.
        any_order: Whether, if this finds nothing, the short form may also be the first letters of the words next
            to it in another order: "myotonic dystrophy (DM)". The paper has no such rule.
    """
    found = []
    bounds = [0, *(place for gap in _SENTENCE.finditer(text) for place in gap.span()), len(text)]
    for first, last in zip(bounds[::2], bounds[1::2]):
        for bracket in _BRACKET.finditer(text, first, last):
            before, inner = text[first : bracket.start()].rstrip(), bracket[1].strip()
            inside = _LIST.split(inner)[0].strip()
            if _is_short_form(inside):
                short, candidate, start = inside, before, text.index(inside, bracket.start())
            else:
                # The long form is in brackets, and the short form is the word before them.
                short, candidate = "".join(before.rsplit(None, 1)[-1:]), inner
                if not _is_short_form(short):
                    continue
                start = first + len(before) - len(short)
            length = sum(map(str.isalnum, short))
            n_words = min(length + 5, 2 * length)
            words = candidate.rsplit(None, n_words)[-n_words:]
            long = _best_long_form(short, " ".join(words))
            if not long and any_order:
                long = _initials(short, words)
            if long and len(long) > len(short) and short not in _words(long):
                found.append(Definition(short, long, start))
    return found


def _words(long: str) -> set[str]:
    """The words of a long form, with and without full stops and colons around them."""
    words = re.split(r"[\s()\[\],;-]+", long)
    return {*words, *(word.strip(".:") for word in words)}


def _is_short_form(text: str) -> bool:
    return 2 <= len(text) <= 10 and len(text.split()) <= 2 and text[0].isalnum() and any(map(str.isalpha, text))


def _best_long_form(short: str, candidate: str) -> str:
    """The shortest end of the candidate that spells the short form; empty if there is none."""
    wanted, text = short.lower(), candidate.lower()
    place = len(text)
    for i in range(len(wanted) - 1, -1, -1):
        if not wanted[i].isalnum():
            continue
        place -= 1
        while place >= 0 and (text[place] != wanted[i] or (i == 0 and place > 0 and text[place - 1].isalnum())):
            place -= 1
        if place < 0:
            return ""
    # Its first letter may follow a hyphen: the long form begins with the whole word.
    return candidate[candidate.rfind(" ", 0, place + 1) + 1 :]


def _initials(short: str, words: list[str]) -> str:
    """The last words of the candidate, one for each letter of the short form, if their first letters form it."""
    nearest = words[-len(short) :]
    same = sorted(short.lower()) == sorted(word[0].lower() for word in nearest)
    return " ".join(nearest) if same else ""
