"""The terms of SKOS, SKOS-XL and the vocabularies beside them, as nodes of rdflib."""

from __future__ import annotations

from rdflib import DC, DCTERMS, OWL, RDF, RDFS, SKOS, Literal, Namespace, URIRef
from rdflib.term import Node

_XL = Namespace("http://www.w3.org/2008/05/skos-xl#")
_CC = Namespace("http://creativecommons.org/ns#")

TYPE, VALUE = RDF.type, RDF.value
TYPES = ("Concept", "ConceptScheme", "Collection", "OrderedCollection")
LITERAL_FORM = _XL.literalForm
PREFERRED = (SKOS.prefLabel, _XL.prefLabel)
LABELS = {
    "preferred": PREFERRED,
    "alternative": (SKOS.altLabel, _XL.altLabel),
    "hidden": (SKOS.hiddenLabel, _XL.hiddenLabel),
}
DEFINITION, NOTATION = SKOS.definition, SKOS.notation
BROADER, NARROWER, RELATED = SKOS.broader, SKOS.narrower, SKOS.related
IN_SCHEME, HAS_TOP = (SKOS.inScheme, SKOS.topConceptOf), SKOS.hasTopConcept
DEPRECATED = OWL.deprecated
MATCHES = {name: SKOS[name] for name in ("exactMatch", "closeMatch", "broadMatch", "narrowMatch", "relatedMatch")}
TITLE = (DCTERMS.title, DC.title, SKOS.prefLabel, RDFS.label)
VERSION = (OWL.versionInfo, DCTERMS.modified, DCTERMS.issued)
LICENSE = (DCTERMS.license, _CC.license, DCTERMS.rights, DC.rights)
READ = {
    *map(str, (TYPE, DEFINITION, NOTATION, BROADER, NARROWER, RELATED, DEPRECATED, *IN_SCHEME, *MATCHES.values())),
    *(str(predicate) for predicates in LABELS.values() for predicate in predicates),
}


def iri(name: str) -> URIRef:
    """A term of SKOS."""
    return SKOS[name]


def node(text: str) -> URIRef:
    """The node of an IRI."""
    return URIRef(text)


def is_iri(node: Node) -> bool:
    """Whether a node is an IRI."""
    return isinstance(node, URIRef)


def is_literal(node: Node) -> bool:
    """Whether a node is a literal."""
    return isinstance(node, Literal)


def tag(node: Node) -> str:
    """The language tag of a literal; empty if it has none."""
    return (node.language or "") if isinstance(node, Literal) else ""


def sort_key(node: Node) -> tuple[str, str, str]:
    """The order of nodes; blank nodes have no names that last."""
    return type(node).__name__, "" if not (is_iri(node) or is_literal(node)) else str(node), tag(node)
