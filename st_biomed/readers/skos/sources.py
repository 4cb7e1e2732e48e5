"""Concept schemes as sources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from st_biomed.readers._curies import closed_unless_published_open, curie, describe, is_published
from st_biomed.readers.skos import vocabulary as words
from st_biomed.records import SourceInfo, single_spaced

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

_LICENSE_SHOWN = 100  # characters of a license that is no IRI of Creative Commons


def source_of(code: str) -> str:
    """The source of a concept: its prefix."""
    return code.partition(":")[0]


def _host(iri: str) -> str:
    """The host of an IRI, which may be invalid."""
    return re.split(r"[/?#]", iri.partition("://")[2], maxsplit=1)[0].lower()


class Sources:
    """The namespace and the concept schemes of each prefix.

    Args:
        graph: The graph that describes the concept schemes.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._found: dict[str, tuple[str, set[str]]] = {}
        self._published: set[str] = set()

    def add(self, prefix: str, namespace: str, end: str, schemes: set[str]) -> None:
        """Add the schemes of a concept, whose IRI is the namespace and the end."""
        of_others = namespace.startswith("http") and (
            curie(namespace + end) or _host(namespace) not in {_host(scheme) for scheme in schemes}
        )
        if is_published(prefix) or of_others:
            self._published.add(prefix)
        self._found.setdefault(prefix, (namespace, set()))[1].update(schemes)

    def described(self) -> Iterator[SourceInfo]:
        """The source of each prefix; of several schemes only what they agree on.

        The license of a scheme opens the names of its own prefix, not those of a terminology that others publish: one whose
        prefix or IRIs are known, or whose IRIs are of another host than the scheme.
        """
        for prefix, (namespace, iris) in self._found.items():
            schemes = [words.node(iri) for iri in sorted(iris)]
            title, version = (self._common(schemes, predicates) for predicates in (words.TITLE, words.VERSION))
            licenses = sorted({" and ".join(self._values(scheme, words.LICENSE)) for scheme in schemes})
            source = describe(prefix, title=title, version=version, license=self._common(schemes, words.LICENSE))
            if len(licenses) > 1 or " and " in "".join(licenses):
                license = "; ".join(text or "not stated" for text in licenses)
                source = replace(source, license=license, redistributable=False)
            if prefix in self._published:
                source = closed_unless_published_open(source)
            url = str(schemes[0]) if len(schemes) == 1 else namespace
            yield replace(source, title=title or source.title, license=source.license[:_LICENSE_SHOWN], url=url)

    def _common(self, schemes: Sequence[Node], predicates: tuple[Node, ...]) -> str:
        """The first value of all schemes; empty if they differ."""
        values = {next(iter(self._values(scheme, predicates)), "") for scheme in schemes}
        return values.pop() if len(values) == 1 else ""

    def _values(self, scheme: Node, predicates: tuple[Node, ...]) -> list[str]:
        """The values of the first property that a scheme has."""
        for predicate in predicates:
            if values := sorted(self.graph.objects(scheme, predicate), key=words.sort_key):
                return [single_spaced(str(value)) for value in values]
        return []
