"""The concepts of a graph of SKOS as records. Everything is sorted, since a graph has no order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from st_biomed.errors import InputError
from st_biomed.readers._duplicate_filter import DuplicateFilter
from st_biomed.readers._languages import language_of
from st_biomed.readers._unmet_values import note_unmet
from st_biomed.readers.skos import vocabulary as words
from st_biomed.readers.skos.namespaces import Namespaces
from st_biomed.readers.skos.sources import Sources, source_of
from st_biomed.records import Definition, Parent, Record, Relation, Tally, Term, Xref, single_spaced

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node


class Choice(NamedTuple):
    """What is read of each concept.

    Attributes:
        hidden: Whether hidden labels are names.
        languages: Languages to read; all if empty.
        language: The language of literals without one; its preferred label precedes those in other languages.
        notations: Whether the notation of a concept is its code.
        scheme: The concept scheme to read; all if empty.
    """

    hidden: bool
    languages: tuple[str, ...]
    language: str
    definitions: bool
    notations: bool
    scheme: str
    deprecated: bool


class _Text(NamedTuple):
    """A literal and its language."""

    text: str
    language: str


class Concepts:
    """Converts a graph to records.

    Args:
        tally: Counts labels, notations, definitions, parents, relations and mappings, and dropped concepts.
    """

    def __init__(self, graph: Graph, namespaces: Namespaces, tally: Tally, choice: Choice) -> None:
        self.graph, self.namespaces, self.tally, self.choice = graph, namespaces, tally, choice
        self.code_of: dict[Node, str] = {}
        self._sources = Sources(graph)
        self._path = namespaces.path

    def records(self) -> Iterator[Record]:
        """All records.

        Raises:
            InputError: The file has no concept, two concepts have one code, a tag is no language.
        """
        concepts = sorted(self._all(), key=str)
        if not concepts:
            raise InputError(f"{self._path}: contains no concept of SKOS")
        if self.choice.scheme and not any(self.choice.scheme in self._schemes(concept) for concept in concepts):
            raise InputError(f"{self._path}: no concept is in scheme {self.choice.scheme[:80]!r}")
        names = {concept: self._named(concept) for concept in concepts}
        spoken = {text.language for labels in names.values() for _, text in labels}
        note_unmet(self.tally, "languages", self.choice.languages, spoken, "no label is in language")
        kept = [concept for concept in concepts if self._keeps(concept, names[concept])]
        self._assign_codes(kept)
        yield from self._sources.described()
        for concept, code in self.code_of.items():
            yield from self._names(code, names[concept])
            yield from self._definitions(code, concept)
            self._drop("notations", 0 if self.choice.notations else len(self._objects(concept, words.NOTATION)))
            others = (p for p in self.graph.predicates(concept) if str(p) not in words.READ)
            self._drop("statements of other kinds", sum(1 for _ in others))
        yield from self._links()

    def _all(self) -> set[Node]:
        """Concepts that have this type or a preferred label; collections and schemes have labels, too."""
        typed = {words.iri(name): set(self.graph.subjects(words.TYPE, words.iri(name))) for name in words.TYPES}
        labeled = {subject for word in words.PREFERRED for subject in self.graph.subjects(word)}
        literal_forms = set(self.graph.subjects(words.LITERAL_FORM))
        concepts = typed.pop(words.iri("Concept"))
        others = set().union(*typed.values()) - concepts
        self._drop("collections", len(others - typed[words.iri("ConceptScheme")]))
        return (concepts | labeled) - others - literal_forms

    def _keeps(self, concept: Node, names: list[tuple[str, _Text]]) -> bool:
        schemes = self._schemes(concept)
        if self.choice.scheme and self.choice.scheme not in schemes:
            return self._drop("concepts of other schemes")
        if not self.choice.deprecated and any(
            str(v) in ("true", "1") for v in self._objects(concept, words.DEPRECATED)
        ):
            return self._drop("deprecated concepts")
        if not any(self._reason(kind, text) == "" for kind, text in names):
            return self._drop("concepts without a name")
        return True

    def _assign_codes(self, concepts: list[Node]) -> None:
        taken: dict[str, Node] = {}
        for concept in concepts:
            split = self.namespaces.split(str(concept)) if words.is_iri(concept) else None
            if split is None:
                self._drop("concepts whose IRI ends without a code")
                continue
            prefix, local = split
            notations = sorted(single_spaced(str(text)) for text in self._objects(concept, words.NOTATION))
            if self.choice.notations:
                self.tally.read(len(notations))
                self.tally.keep(min(1, len(notations)))
                self.tally.drop("further notations", max(0, len(notations) - 1))
                local = next(filter(None, notations), local)
            code = f"{prefix}:{local}"
            if code in taken:
                raise InputError(
                    f"{self._path}: concepts {str(taken[code])[:80]!r} and {str(concept)[:80]!r} are both {code}"
                )
            taken[code] = concept
            self.code_of[concept] = code
            self._sources.add(prefix, str(concept).removesuffix(split[1]), split[1], self._schemes(concept))

    def _names(self, code: str, names: list[tuple[str, _Text]]) -> Iterator[Record]:
        once = DuplicateFilter(self.tally, "repeated labels of a concept")
        first = True
        for kind, text in names:
            self.tally.read()
            if reason := self._reason(kind, text):
                self.tally.drop(reason)
            elif once.keep(*text):
                yield Term(code, text.text, "preferred" if first else "synonym", text.language, source_of(code))
                first = False

    def _reason(self, kind: str, text: _Text) -> str:
        """The reason for dropping a label; empty if it is kept."""
        if kind == "hidden" and not self.choice.hidden:
            return "hidden labels"
        if self.choice.languages and text.language not in self.choice.languages:
            return "labels in other languages"
        return "" if text.text else "empty labels"

    def _named(self, concept: Node) -> list[tuple[str, _Text]]:
        """The labels of a concept: preferred ones first, that in the language of choice before others."""
        return [
            (kind, text)
            for kind, predicates in words.LABELS.items()
            for text in sorted(
                (text for predicate in predicates for text in self._texts(concept, predicate)),
                key=lambda text: (text.language != self.choice.language, text.language, text.text),
            )
        ]

    def _definitions(self, code: str, concept: Node) -> Iterator[Record]:
        once = DuplicateFilter(self.tally, "repeated definitions of a concept")
        for text in sorted(self._texts(concept, words.DEFINITION)):
            self.tally.read()
            if not self.choice.definitions:
                self.tally.drop("definitions")
            elif self.choice.languages and text.language not in self.choice.languages:
                self.tally.drop("definitions in other languages")
            elif not text.text:
                self.tally.drop("empty definitions")
            elif once.keep(*text):
                yield Definition(code, *text, source_of(code))

    def _links(self) -> Iterator[Record]:
        """Parents, stated from either end; relations; mappings."""
        once = DuplicateFilter(self.tally, "repeated parents, relations and mappings")
        for concept, code in self.code_of.items():
            for word, inverse in ((words.BROADER, False), (words.NARROWER, True), (words.RELATED, False)):
                for other in self._objects(concept, word):
                    self.tally.read()
                    end = self.code_of.get(other)
                    if end is None or end == code:
                        self.tally.drop("parents and relations of no other concept")
                    elif word == words.RELATED:
                        if once.keep("related", code, end):
                            yield Relation(code, "related", end, source_of(code))
                    elif once.keep("parent", *((end, code) if inverse else (code, end))):
                        yield Parent(*((end, code) if inverse else (code, end)), source_of(code))
            for predicate, word in words.MATCHES.items():
                for other in self._objects(concept, word):
                    self.tally.read()
                    target = self.code_of.get(other) or (
                        self.namespaces.target(str(other)) if words.is_iri(other) else None
                    )
                    if target is None or target == code:
                        self.tally.drop("mappings to no other code")
                    elif once.keep(predicate, code, target):
                        yield Xref(code, target, predicate, source_of(code))

    def _texts(self, concept: Node, predicate: Node) -> list[_Text]:
        """The literals of a concept, also those that it has through a resource: labels of SKOS-XL, documents."""
        texts = []
        for value in self._objects(concept, predicate):
            inner = (
                [value]
                if words.is_literal(value)
                else [literal for word in (words.LITERAL_FORM, words.VALUE) for literal in self._objects(value, word)]
            )
            texts += [
                _Text(
                    single_spaced(str(literal)),
                    language_of(str(self._path), words.tag(literal) or self.choice.language),
                )
                for literal in inner
                if words.is_literal(literal)
            ]
        return texts

    def _objects(self, subject: Node, predicate: Node) -> list[Node]:
        return sorted(self.graph.objects(subject, predicate), key=words.sort_key)

    def _schemes(self, concept: Node) -> set[str]:
        top_of = self.graph.subjects(words.HAS_TOP, concept)
        stated = (scheme for word in words.IN_SCHEME for scheme in self.graph.objects(concept, word))
        return {str(scheme) for scheme in (*stated, *top_of)}

    def _drop(self, reason: str, n: int = 1) -> bool:
        self.tally.read_dropped(reason, n)
        return False
