"""Abbreviations and their long forms in the same document (Schwartz and Hearst, PSB 2003)."""

from __future__ import annotations

import re

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])|\n+")
_BRACKET = re.compile(r"[(\[]([^()\[\]]*)[)\]]")
_LIST = re.compile(r"[;,]\s")


def find_abbreviations(text: str, *, any_order: bool = False) -> dict[str, str]:
    """Short form to long form for every definition ``long form (short form)`` or ``short form (long form)`` in a text.

    Section 2.1 of the paper: a short form has two to ten characters, at most two words and a letter, and begins with a
    letter or digit. The long form is next to it in the same sentence and has at most min(|A| + 5, 2|A|) words,
    where |A| counts the letters and digits of the short form. Section 2.2: from the end, each letter or digit of
    the short form is matched in the long form, the first one at the beginning of a word; the shortest such long form
    is used. It must be longer than the short form and must not contain it as a word. The first definition in the text
    counts.

    Args:
        text: A document.
        any_order: Whether, if this finds nothing, the short form may also be the first letters of the words next
            to it in another order: "myotonic dystrophy (DM)". The paper has no such rule.
    """
    long_forms: dict[str, str] = {}
    for sentence in _SENTENCE.split(text):
        for bracket in _BRACKET.finditer(sentence):
            before, inner = sentence[: bracket.start()].rstrip(), bracket[1].strip()
            inside = _LIST.split(inner)[0].strip()
            if _is_short_form(inside):
                short, candidate = inside, before
            else:
                # The long form is in brackets, and the short form is the word before them.
                short, candidate = (before.split() or [""])[-1], inner
                if not _is_short_form(short):
                    continue
            length = sum(map(str.isalnum, short))
            words = candidate.split()[-min(length + 5, 2 * length) :]
            long = _best_long_form(short, " ".join(words))
            if not long and any_order:
                long = _initials(short, words)
            if long and len(long) > len(short) and short not in re.split(r"[\s()\[\],;-]+", long):
                long_forms.setdefault(short, long)
    return long_forms


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
