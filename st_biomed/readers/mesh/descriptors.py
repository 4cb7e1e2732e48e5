"""A descriptor of MeSH from any file, and its records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from st_biomed.errors import InputError
from st_biomed.readers._duplicate_filter import DuplicateFilter
from st_biomed.readers._unmet_values import note_unmet
from st_biomed.records import Definition, Parent, Record, Relation, SourceInfo, Tally, Term, Type, single_spaced

SOURCE = SourceInfo(
    name="MESH",
    title="Medical Subject Headings",
    license="public domain (courtesy of the U.S. National Library of Medicine)",
    url="https://www.nlm.nih.gov/mesh",
    redistributable=True,
)

ACTION = "has_pharmacological_action"
MAPPED_TO = "mapped_to"

_UI = re.compile(r"D\d{6,9}")
_SUPPLEMENTARY_UI = re.compile(r"C\d{6,9}")
_TREE_NUMBER = re.compile(r"[A-Z]\d\d(\.\d{3})*")


class Name(NamedTuple):
    """One term of a descriptor.

    Attributes:
        text: The text in the file.
        permuted: Whether it is a generated variant of another term with its words in another order.
        tag: Its lexical tag: NON, TRD (trade name), LAB (number of a laboratory), ABB, ACR, EPO, NAM, ABX, ACX.
        preferred_concept: Whether it belongs to the descriptor's preferred concept; others are narrower or related.
    """

    text: str
    permuted: bool = False
    tag: str = "NON"
    preferred_concept: bool = True


@dataclass
class Descriptor:
    """A file's information on one descriptor or supplementary record.

    Attributes:
        where: ``file:line``, for errors.
        ui: Its identifier, e.g. ``"D000001"``.
        name: Its heading.
        numbers: Its tree numbers, e.g. ``"C01.100"``.
        actions: Identifiers or headings of its pharmacological actions.
        notes: Its scope notes, each with whether it belongs to the preferred concept; the note of a supplementary record.
        mapped_to: Identifiers or headings that a supplementary record is mapped to; a qualifier may follow a heading.
    """

    where: str
    ui: str
    name: str
    names: list[Name] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    notes: list[tuple[str, bool]] = field(default_factory=list)
    mapped_to: list[str] = field(default_factory=list)


class Thesaurus:
    """Converts descriptors to records; call :meth:`descriptor` for each, then :meth:`supplementary`, then :meth:`finish`.

    Args:
        tally: Counts terms, tree numbers, actions, scope notes and mappings.
        permuted: Whether permuted terms are names.
        without_tags: Lexical tags whose terms are no names.
        preferred_only: Whether only terms of the preferred concept are names.
        definitions: Whether scope notes are definitions.
        supplement_notes: Whether notes of supplementary records are definitions.
    """

    def __init__(
        self,
        tally: Tally,
        *,
        permuted: bool,
        without_tags: tuple[str, ...],
        preferred_only: bool,
        definitions: bool,
        supplement_notes: bool = False,
    ) -> None:
        self.tally = tally
        self.permuted = permuted
        self.without_tags = without_tags
        self._tags: set[str] = set()
        self.preferred_only = preferred_only
        self.definitions = definitions
        self.supplement_notes = supplement_notes
        self.code_of: dict[str, str] = {}  # of each identifier and each heading
        self._of_number: dict[str, str] = {}
        self._actions: list[tuple[str, str]] = []
        self._mapped: list[tuple[str, str]] = []
        self._supplementary: set[str] = set()

    def descriptor(self, descriptor: Descriptor) -> Iterator[Record]:
        """Names, definition and types of a descriptor.

        Raises:
            InputError: An invalid or repeated identifier, no heading, or the heading of another descriptor.
        """
        where, ui, name = descriptor.where, descriptor.ui, descriptor.name.strip()
        if not _UI.fullmatch(ui):
            raise InputError(f"{where}: {ui[:40]!r} is not a descriptor of MeSH; they look like D000001")
        if not name:
            raise InputError(f"{where}: descriptor {ui} has no name")
        for key in (ui, name):
            if key in self.code_of:
                raise InputError(f"{where}: descriptor {key[:40]!r} occurs twice")
        code = f"{SOURCE.name}:{ui}"
        self.code_of |= {ui: code, name: code}
        yield Term(code, name)
        yield from self._synonyms(code, name, descriptor.names)
        yield from self._definitions(code, descriptor.notes, "" if self.definitions else "definitions")
        for number in descriptor.numbers:
            self.number(where, number, code)
        for letter in sorted({number[0] for number in descriptor.numbers}):
            yield Type(code, letter)
        self._actions += [(code, action) for action in descriptor.actions]

    def supplementary(self, record: Descriptor) -> Iterator[Record]:
        """Names and, on request, the note of a supplementary record.

        Raises:
            InputError: An invalid or repeated identifier, or no name.
        """
        where, ui, name = record.where, record.ui, record.name.strip()
        if not _SUPPLEMENTARY_UI.fullmatch(ui):
            raise InputError(f"{where}: {ui[:40]!r} is not a supplementary record of MeSH; they look like C000001")
        if not name:
            raise InputError(f"{where}: supplementary record {ui} has no name")
        if ui in self._supplementary:
            raise InputError(f"{where}: supplementary record {ui} occurs twice")
        self._supplementary.add(ui)
        code = f"{SOURCE.name}:{ui}"
        yield Term(code, name)
        yield from self._synonyms(code, name, record.names)
        yield from self._definitions(
            code, record.notes, "" if self.supplement_notes else "notes of supplementary records"
        )
        self._actions += [(code, action) for action in record.actions]
        self._mapped += [(code, heading) for heading in record.mapped_to]

    def number(self, where: str, number: str, code: str) -> None:
        """Add a tree number of a descriptor.

        Raises:
            InputError: It is not a tree number, or another descriptor has it.
        """
        if not _TREE_NUMBER.fullmatch(number):
            raise InputError(f"{where}: {number[:40]!r} is not a tree number; they look like C01 and C01.100")
        if number in self._of_number:
            raise InputError(f"{where}: tree number {number} occurs twice")
        self._of_number[number] = code

    def finish(self) -> Iterator[Record]:
        """Parents, from the tree numbers, pharmacological actions and mappings."""
        parents = DuplicateFilter(self.tally, "tree numbers below a parent that another number leads to")
        self.tally.read(len(self._of_number))
        for number, code in self._of_number.items():
            above, dot, _ = number.rpartition(".")
            parent = self._of_number.get(above)
            if not dot:
                self.tally.keep()
            elif parent is None:
                self.tally.drop("tree numbers below one that no descriptor has")
            elif parent == code:
                self.tally.drop("tree numbers of a descriptor below itself")
            elif parents.keep(code, parent):
                yield Parent(code, parent)
        actions = DuplicateFilter(self.tally, "repeated pharmacological actions")
        self.tally.read(len(self._actions))
        for code, action in self._actions:
            tail = self.code_of.get(action)
            if tail is None or tail == code:
                self.tally.drop("pharmacological actions that are no other descriptor")
            elif actions.keep(code, tail):
                yield Relation(code, ACTION, tail)
        yield from self._mappings()
        note_unmet(self.tally, "without_tags", self.without_tags, self._tags, "no name is tagged")
        placed = set(self._of_number.values())
        if n_placeless := len(set(self.code_of.values()) - placed):
            self.tally.note(f"{n_placeless:,} descriptors have no tree number, and so neither parents nor a type")

    def _synonyms(self, code: str, name: str, names: list[Name]) -> Iterator[Record]:
        # The heading counts once, as the equal term or else as an additional name.
        stripped = [term._replace(text=term.text.strip()) for term in names]
        own = next((i for i, term in enumerate(stripped) if term.text == name), None)
        self.tally.read(len(stripped) + (own is None))
        self.tally.keep()
        rows = DuplicateFilter(self.tally, "repeated names of a descriptor")
        rows.mark_seen([(name,)])
        for i, term in enumerate(stripped):
            if i == own:
                continue
            if reason := self._reason(term):
                self.tally.drop(reason)
            elif rows.keep(term.text):
                yield Term(code, term.text, "synonym")

    def _mappings(self) -> Iterator[Record]:
        """The headings that supplementary records are mapped to, without qualifiers."""
        mapped = DuplicateFilter(self.tally, "repeated mappings to a heading")
        self.tally.read(len(self._mapped))
        for code, heading in self._mapped:
            heading = heading.strip().removeprefix("*")
            tail = self.code_of.get(heading) or self.code_of.get(heading.partition("/")[0])
            if tail is None:
                self.tally.drop("mappings to what is no descriptor")
            elif mapped.keep(code, tail):
                yield Relation(code, MAPPED_TO, tail)

    def _definitions(self, code: str, notes: list[tuple[str, bool]], left_out: str) -> Iterator[Record]:
        rows = DuplicateFilter(self.tally, "empty or repeated scope notes")
        rows.mark_seen([("",)])
        self.tally.read(len(notes))
        for text, of_preferred in notes:
            text = single_spaced(text)
            if left_out:
                self.tally.drop(left_out)
            elif not of_preferred:
                self.tally.drop("scope notes of further concepts")
            elif rows.keep(text):
                yield Definition(code, text)

    def _reason(self, name: Name) -> str:
        """The reason for dropping a name; empty if it is kept."""
        if not name.text:
            return "empty names"
        if name.permuted and not self.permuted:
            return "permuted names"
        self._tags.add(name.tag)
        if name.tag in self.without_tags:
            return f"names tagged {name.tag}"
        return "names of further concepts" if self.preferred_only and not name.preferred_concept else ""
