"""What several resources say of one concept, put together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from st_biomed.errors import check_name
from st_biomed.readers._duplicate_filter import DuplicateFilter
from st_biomed.readers._grouping_nodes import grouping_nodes
from st_biomed.records import Definition, Grouping, Parent, Record, Relation, Tally, Term, Xref

# Of two displays of a concept, that of the code system precedes that of a value set, and this that of a concept map.
CODE_SYSTEM, VALUE_SET, CONCEPT_MAP, DESIGNATION = range(4)
PART_OF = "part_of"


class Text(NamedTuple):
    """A name or definition, its language and its source."""

    text: str
    language: str
    source: str


@dataclass
class _Concept:
    """The statements about a concept.

    Attributes:
        names: Names, each with its rank.
        status: Rank of a kind of resource to the status there; empty if the concept is in use.
    """

    names: list[tuple[int, Text]] = field(default_factory=list)
    definitions: list[Text] = field(default_factory=list)
    status: dict[int, str] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """The status for which it is dropped; that of the code system precedes that of a value set."""
        return self.status[min(self.status)] if self.status else ""


class Concepts:
    """Gathers the concepts of all resources, and converts them to records with :meth:`finish`.

    Args:
        tally: Counts names, definitions, parents and mappings, and concepts that are dropped.
        inactive: Whether concepts that are not in use are read.
        languages: Languages to read; all if empty.
    """

    def __init__(self, tally: Tally, *, inactive: bool, languages: tuple[str, ...], definitions: bool) -> None:
        self.tally = tally
        self.inactive, self.languages, self.definitions = inactive, languages, definitions
        self._concepts: dict[str, _Concept] = {}
        self._edges: list[Parent | Relation] = []
        self._mappings: list[Xref] = []

    def __len__(self) -> int:
        return len(self._concepts)

    def concept(self, code: str, rank: int, status: str = "") -> None:
        """Add a concept of a kind of resource; of several resources of a kind, one in which it is in use decides."""
        known = self._concepts.setdefault(code, _Concept()).status
        known[rank] = known.get(rank, status) and status

    def name(self, code: str, rank: int, text: Text) -> None:
        """Add a name of a concept."""
        self._concepts.setdefault(code, _Concept()).names.append((rank, text))

    def definition(self, code: str, text: Text) -> None:
        """Add a definition of a concept."""
        self._concepts.setdefault(code, _Concept()).definitions.append(text)

    def edge(self, child: str, parent: str, source: str, part: bool) -> None:
        """Add a parent, or a whole of which the child is a part."""
        self._edges.append(Relation(child, PART_OF, parent, source) if part else Parent(child, parent, source))

    def mapping(self, code: str, target: str, predicate: str, source: str) -> None:
        """Add a cross-reference."""
        self._mappings.append(Xref(code, target, predicate, source))

    def finish(self) -> Iterator[Record]:
        """All records.

        Raises:
            InputError: A language to read that no name or definition has.
        """
        met = {text.language for concept in self._concepts.values() for _, text in concept.names}
        met |= {text.language for concept in self._concepts.values() for text in concept.definitions}
        for language in self.languages:
            check_name("value of option languages (no name or definition has it)", language, met)
        named: set[str] = set()
        nameless: set[str] = set()
        for code, concept in self._concepts.items():
            if concept.reason and not self.inactive:
                self.tally.read_dropped(f"{concept.reason} concepts")
                continue
            texts = list(self._names(code, concept))
            yield from texts
            (named if texts else nameless).add(code)
            yield from self._definitions(code, concept, {term.text for term in texts})
        parents = [(edge.child, edge.parent) for edge in self._edges if isinstance(edge, Parent)]
        groups = grouping_nodes(named, ((child, above) for child, above in parents if above in nameless))
        for code in self._concepts:
            if code in groups:
                self.tally.read_kept()
                yield Grouping(code)
            elif code in nameless:
                self.tally.read_dropped("concepts without a name")
        yield from self._links(named, groups)

    def _names(self, code: str, concept: _Concept) -> Iterator[Term]:
        names = DuplicateFilter(self.tally, "repeated names of a concept")
        first = True
        for _, (text, language, source) in sorted(concept.names, key=lambda ranked: ranked[0]):
            self.tally.read()
            if self.languages and language not in self.languages:
                self.tally.drop("names in other languages")
            elif not text:
                self.tally.drop("empty names")
            elif names.keep(text, language):
                yield Term(code, text, "preferred" if first else "synonym", language, source)
                first = False

    def _definitions(self, code: str, concept: _Concept, names: set[str]) -> Iterator[Record]:
        once = DuplicateFilter(self.tally, "repeated definitions of a concept")
        for text, language, source in concept.definitions:
            self.tally.read()
            if not names:
                self.tally.drop("definitions of a concept without a name")
            elif not self.definitions:
                self.tally.drop("definitions")
            elif self.languages and language not in self.languages:
                self.tally.drop("definitions in other languages")
            elif not text:
                self.tally.drop("empty definitions")
            elif text in names:
                self.tally.drop("definitions equal to a name of their concept")
            elif once.keep(text, language):
                yield Definition(code, text, language, source)

    def _links(self, named: set[str], groups: set[str]) -> Iterator[Record]:
        """Parents, parts and cross-references."""
        edges = DuplicateFilter(self.tally, "repeated parents")
        standing = named | groups
        for edge in self._edges:
            child, parent = edge[0], edge[-2]
            self.tally.read()
            ends = standing if isinstance(edge, Parent) else named
            if child == parent:
                self.tally.drop("parents equal to their child")
            elif child not in ends or parent not in ends:
                self.tally.drop("parents and children that were not read")
            elif edges.keep(type(edge).__name__, child, parent):
                yield edge
        mappings = DuplicateFilter(self.tally, "repeated mappings")
        for mapping in self._mappings:
            self.tally.read()
            if mapping.code not in named:
                self.tally.drop("mappings of a concept that was not read")
            elif mapping.code == mapping.target:
                self.tally.drop("mappings of a concept to itself")
            elif mappings.keep(mapping.code, mapping.target, mapping.predicate):
                yield mapping
