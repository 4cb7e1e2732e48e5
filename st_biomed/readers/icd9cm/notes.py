"""Classifies the notes below a title in ICD-9-CM, English or Italian, and selects the names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from st_biomed.readers._coder_notes import BY_CODES, INSTRUCTIONS
from st_biomed.records import Tally

LISTED = re.compile(r"(V\d\d(?:\.\d{1,2})?|E\d{3}(?:\.\d)?|\d{3}(?:\.\d{1,2})?)\s*\t\s*(\S.*)")
"""A code and its title in the tabular list."""

# The beginnings of notes.
_INCLUDES = re.compile(r"(?:includes|incl\.?)\s*:+\s*", re.I)
_EXCLUDES = re.compile(r"(?:excludes|escl\.?)\s*:+\s*", re.I)
_LONG_NOTE = re.compile(r"(?:notes?|nota)\s*:\s*|the following|le? seguent[ei]|quest[ao] categori", re.I)
_INSTRUCTION = re.compile(r"use (?:additional|\d)|code\b|codificare|utilizzare|usare|omettere|omit|see |vedi ", re.I)
_DIGITS = re.compile(r"\[[\d\s,-]+\]|requires (?:following )?(?:fourth|fifth)|-{3}", re.I)
_DIGIT = re.compile(r"\d [a-z]")
_BY_CODE = re.compile(r"classifiable|classificabil|\b\d{3}(?:\.\d|-\d{3})|\b[EV]\d{2,3}\b|\(\d{3}\)", re.I)

# Anywhere in an Italian note: what to code, and which digits there are.
_INSTRUCTION_WITHIN = re.compile(
    r"quint[ao] (?:cifra|carattere)|(?:quattro|cinque|[45]) cifre|richiede un codice|[eè] necessario usare"
    r"|assegnare come|codificare per prim|la seguente (?:sotto)?classificazione",
    re.I,
)
_FRAGMENT = re.compile(r"d(?:i|el|ello|ella|ei|egli|elle)\s|dell'", re.I)
_LOWER_NAME = re.compile(r"(?:von|van|de)\s|[a-z]+-?[A-Z]")  # "von Gierke's disease", "vCJD"
_SHORT = 2  # characters of an item such as "A" or "D1"

_TERM, _INCLUDED, _EXCLUDED, _CODER = "terms", "includes notes not asked for", "exclusions", INSTRUCTIONS
_HEAD = "heads of lists, which stand in front of each item"
_CONTINUED = "lines in lower case, which go on from a title or another line"

Entries = Iterator[tuple[str, str]]
"""A note's text, and its kind: one of the four kinds above, or the reason to drop it."""


def names_among(entries: Entries, tally: Tally, *, heading: bool, includes: str) -> list[str]:
    """The names among the entries of a concept's notes; all other entries are tallied.

    Args:
        entries: The result of :func:`english` or :func:`italian`.
        tally: Counts the entries that are not names.
        heading: Whether the concept is a chapter or block, whose notes have no inclusion terms.
        includes: The "includes" notes that are names: ``"none"``, ``"categories"`` or ``"all"``.
    """
    names = []
    for text, kind in entries:
        if heading and kind == _TERM:
            kind = _CODER
        elif kind == _INCLUDED and includes in (("all",) if heading else ("all", "categories")):
            kind = _TERM
        if kind == _TERM and _BY_CODE.search(text):
            kind = BY_CODES
        if kind == _TERM:
            names.append(text)
        else:
            tally.read_dropped(kind)
    return names


class ListItems:
    """The items so far of a list that has lost its indentation, from which it follows whether the next line is one of them.

    Lines in lower case, numbers, "NOS" and single letters are items. So are lines with a capital if the list began with
    one and they are in alphabetical order, and one line with a capital directly behind a first "NOS".

    Args:
        head: What stands in front of each item; empty where there is no list.
    """

    def __init__(self, head: str = "") -> None:
        self.head = head
        self._last = ""
        self._capitals = False
        self._after_nos = False

    def belongs(self, text: str) -> bool:
        """Whether a line is the next item, which then counts as the last one."""
        capital = text[:1].isupper() and not text.startswith("NOS") and len(text) > _SHORT
        first, name = not self._last, text.casefold()
        belongs = first or not capital or self._after_nos or (self._capitals and self._last <= name)
        self._capitals = capital if first else self._capitals
        self._after_nos = first and text.startswith("NOS")
        self._last = name
        return belongs


def english(lines: Iterable[str]) -> Entries:
    """The lines of notes that have lost their indentation.

    A line that ends with a colon is the head of a list and precedes each item: "Amebic:", "appendicitis". A term in
    lower case outside of a list is a part of what no longer can be told.
    """
    kind, items = _TERM, ListItems()
    for line in lines:
        text = " ".join(line.split())
        included = _INCLUDES.match(text)
        if included:
            kind, items, text = _INCLUDED, ListItems(), text[included.end() :]
        elif _EXCLUDES.match(text):
            kind = _EXCLUDED
        elif _LONG_NOTE.match(text) or (_INSTRUCTION.match(text) and text.endswith(":")):
            kind = _CODER
        elif _INSTRUCTION.match(text):
            yield text, _CODER
            continue
        elif (
            _DIGITS.match(text)
            or LISTED.fullmatch(line.strip())
            or (kind in (_TERM, _INCLUDED) and not items.head and _DIGIT.match(text))
        ):
            yield text, "lists of digits and codes"
            continue
        if kind in (_TERM, _INCLUDED):
            if not items.belongs(text):
                items = ListItems()
            text = f"{items.head} {text}".strip()
            if text.endswith(":"):
                items = ListItems(text.rstrip(": "))
                yield text, _HEAD
                continue
        if text:
            is_part = kind == _TERM and text[0].islower() and not _LOWER_NAME.match(text)
            yield text, _CONTINUED if is_part else kind


def italian(lines: Iterable[str]) -> Entries:
    """Split indented lines: after a colon, lines with more indentation are items of a list; others continue a line.

    An inclusion term has a capital. A line without one is a part of a broken line.
    """
    kind, instruction = _TERM, -1
    heads: list[tuple[int, str]] = []
    for indent, text in _joined(lines):
        included = _INCLUDES.match(text)
        if included:
            kind, instruction, heads, text = _INCLUDED, -1, [], text[included.end() :]
        elif _EXCLUDES.match(text):
            kind = _EXCLUDED
        elif _LONG_NOTE.match(text):
            kind = _CODER
        elif _INSTRUCTION.match(text) or (kind != _EXCLUDED and _INSTRUCTION_WITHIN.search(text)):
            instruction = indent
            yield text, _CODER
            continue
        if 0 <= instruction < indent:
            yield text, _CODER
            continue
        instruction = -1
        if kind in (_TERM, _INCLUDED):
            heads = [head for head in heads if head[0] < indent]
            text = f"{heads[-1][1]} {text}" if heads else text
            if text.endswith(":"):
                heads.append((indent, text.rstrip(": ")))
                yield text, _HEAD
                continue
        if text:
            yield text, _CONTINUED if kind == _TERM and text[0].islower() else kind


def _joined(lines: Iterable[str]) -> list[tuple[int, str]]:
    """Indentation and text of each entry; lines with more indentation continue it, unless it ends with a colon.

    Lines that stand one column right of the text after "Incl.:" are the next items of its list.
    """
    entries: list[tuple[int, str]] = []
    column = 0  # lines further right continue the last entry
    for line in lines:
        indent = len(line) - len(line.lstrip())
        for part in re.split(r"\s(?=Escl\.?:)", line.strip()):
            text = " ".join(part.split())
            opened = next((match for note in (_INCLUDES, _EXCLUDES, _LONG_NOTE) if (match := note.match(part))), None)
            if opened:
                entries.append((indent + opened.end(), text))
                column = entries[-1][0] + (opened.re is _INCLUDES)
            elif entries and indent > column and not entries[-1][1].endswith(":"):
                entries[-1] = entries[-1][0], f"{entries[-1][1]} {text}"
            elif text:
                if entries and indent == column > entries[-1][0] and _FRAGMENT.match(text):
                    entries[-1] = entries[-1][0], f"{entries[-1][1]}:"  # the colon is missing in the source
                entries.append((indent, text))
                column = indent
    return entries
