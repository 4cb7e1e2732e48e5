"""The common part of the readers of ontologies: scopes of synonyms, and the choice of statements.

This is not a reader; ``obo`` and ``obograph`` are built on it, and ``babelon`` shares its scopes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.readers._curies import Header, curie, describe, relation_name
from st_biomed.readers._duplicate_filter import DuplicateFilter
from st_biomed.readers._languages import language_of
from st_biomed.readers._unmet_values import note_unmet
from st_biomed.records import Definition, Parent, Record, Relation, Tally, Term, Type, Xref, single_spaced
from st_biomed.settings.keyword_options import listed

SCOPES = ("EXACT", "BROAD", "NARROW", "RELATED")

# Reasons of the tally that the readers share.
LOGICAL = "parts of logical definitions"
OTHER = "statements of other kinds (comments, creators, ...)"


@dataclass
class Statements:
    """The statements of an ontology about one term, unconverted.

    Attributes:
        id: CURIE or IRI.
        name: Its label; empty if it has none.
        synonyms: A scope, a type (CURIE, IRI or word; empty if it has none) and a name of each.
        definitions: Its definitions; at most one if the ontology is well-formed.
        types: Subsets and namespaces.
        xrefs: Pairs of a predicate and a CURIE or IRI.
        edges: Pairs of a relation, empty for is_a, and the CURIE or IRI of the target.
        left_out: The number of its statements that no reader takes, by reason.
    """

    id: str
    name: str = ""
    obsolete: bool = False
    synonyms: list[tuple[str, str, str]] = field(default_factory=list)
    definitions: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    xrefs: list[tuple[str, str]] = field(default_factory=list)
    edges: list[tuple[str, str]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


class Ontology:
    """Converts statements to records. Rows of the tally are dropped terms, and the statements of all other terms.

    Call :meth:`begin` with the header, then :meth:`term` and :meth:`edge`, and :meth:`finish` at the end.
    """

    def __init__(
        self,
        path: Path,
        tally: Tally,
        *,
        scopes: str | Sequence[str],
        without_types: str | Sequence[str],
        obsolete: bool,
        prefixes: str | Sequence[str],
        language: str,
        definitions: bool,
    ) -> None:
        self.path = path
        self.tally = tally
        self.scopes = listed("scope", scopes, SCOPES)
        self.without_types = listed("type", without_types)
        self.obsolete = obsolete
        self.definitions = definitions
        self.prefixes = listed("prefix", prefixes)
        self.language = language_of("language", language)
        self.header = Header()
        self.source_of: dict[str, str] = {}  # of each concept that was read
        self._here: dict[str, str] = {}  # terms of the graph that is being read, with their ids in it
        self._sources: dict[str, str] = {}  # prefix to source, in this graph
        self._declared: set[str] = set()
        self._found: set[str] = set()
        self._found_types: set[str] = set()  # of synonyms
        self._edges: list[tuple[str, str, str]] = []

    def begin(self, header: Header) -> None:
        """Begin a file, or a graph in a file."""
        self.header = header
        self._here, self._sources = {}, {}

    def term(self, term: Statements, where: str) -> Iterator[Record]:
        """The records of a term, except its edges.

        Args:
            where: ``file:line`` or similar, for errors.

        Raises:
            InputError: The term is defined twice in one graph.
        """
        code = curie(term.id)
        if code is None:
            self.tally.read_dropped("terms whose id is no CURIE")
            return
        if code in self._here:
            earlier = self._here[code]
            raise InputError(
                f"{where}: term {code} is defined twice{'' if earlier == term.id else f', as {earlier} and as {term.id}'}"
            )
        prefix, name = code.partition(":")[0], term.name.strip()
        self._found.add(prefix)
        if reason := self._reason(code, prefix, name, term.obsolete):
            self.tally.read_dropped(reason)
            return
        self._here[code] = term.id
        if prefix not in self._sources:
            source = self.header.source(prefix)
            if prefix not in {source.name, *self._declared}:
                yield describe(prefix)  # rows name the import as their source, and their codes have this prefix
            yield source
            self._sources[prefix] = source.name
            self._declared |= {prefix, source.name}
        self.source_of[code] = self._sources[prefix]
        self.tally.read_kept()
        yield Term(code, name, "preferred", self.language, self.source_of[code])
        yield from self._synonyms(code, name, term.synonyms)
        yield from self._definitions(code, term.definitions)
        yield from self._links(code, term)
        for relation, parent in term.edges:
            self.edge(code, relation, parent)
        for reason, n in term.left_out.items():
            self.tally.read_dropped(reason, n)

    def edge(self, child: str, relation: str, parent: str) -> None:
        """Store an edge until it is known which concepts have a name; ``relation`` is empty for is_a."""
        self._edges.append((curie(child) or child, relation, curie(parent) or parent))

    def finish(self, labels: Mapping[str, str]) -> Iterator[Record]:
        """The edges.

        Raises:
            InputError: No term has a requested prefix.
        """
        for prefix in self.prefixes:
            if prefix not in self._found:
                raise InputError(
                    f"{self.path}: no term has prefix {prefix!r}; found {', '.join(sorted(self._found)) or 'none'}"
                )
        note_unmet(self.tally, "without_types", self.without_types, self._found_types, "no synonym has type")
        edges = DuplicateFilter(self.tally, "repeated parents and relations")
        for child, relation, parent in self._edges:
            name = relation_name(relation, labels.get(relation, "")) if relation else ""
            source = self.source_of.get(child)
            if source is None or parent not in self.source_of:
                self.tally.read_dropped("parents and relations of a concept that was not read")
            elif child == parent:
                self.tally.read_dropped("parents and relations of a concept to itself")
            elif edges.read(child, name, parent):
                yield Relation(child, name, parent, source) if relation else Parent(child, parent, source)

    def _reason(self, code: str, prefix: str, name: str, obsolete: bool) -> str:
        """The reason for dropping a term; empty if it is kept."""
        if obsolete and not self.obsolete:
            return "obsolete terms"
        if not name:
            return "terms without a name"
        if self.prefixes and prefix not in self.prefixes:
            return "terms of other prefixes"
        return "terms of an earlier graph" if code in self.source_of else ""

    def _synonyms(self, code: str, name: str, synonyms: list[tuple[str, str, str]]) -> Iterator[Record]:
        names = DuplicateFilter(self.tally, "repeated names of a concept")
        names.mark_seen([(name,)])
        for scope, kind, text in synonyms:
            text = text.strip()
            if kind:
                kind = curie(kind) or re.split("[#/]", kind)[-1]
                self._found_types.add(kind)
            if scope not in self.scopes:
                self.tally.read_dropped(f"{scope} synonyms")
            elif kind in self.without_types:
                self.tally.read_dropped(f"synonyms of type {kind}")
            elif not text:
                self.tally.read_dropped("empty names")
            elif names.read(text):
                yield Term(code, text, "synonym", self.language, self.source_of[code])

    def _definitions(self, code: str, definitions: list[str]) -> Iterator[Record]:
        once = DuplicateFilter(self.tally, "repeated definitions of a concept")
        for text in map(single_spaced, definitions):
            if not self.definitions:
                self.tally.read_dropped("definitions")
            elif not text:
                self.tally.read_dropped("empty definitions")
            elif once.read(text):
                yield Definition(code, text, self.language, self.source_of[code])

    def _links(self, code: str, term: Statements) -> Iterator[Record]:
        types = DuplicateFilter(self.tally, "repeated or empty types")
        types.mark_seen([("",)])
        for kind in map(str.strip, term.types):
            if types.read(kind):
                yield Type(code, kind)
        targets = DuplicateFilter(self.tally, "repeated cross-references, or to the concept itself")
        for predicate, text in term.xrefs:
            target = curie(text)
            targets.mark_seen([(predicate, code)])
            if target is None:
                self.tally.read_dropped("cross-references that are no CURIE")
            elif targets.read(predicate, target):
                yield Xref(code, target, predicate, self.source_of[code])
