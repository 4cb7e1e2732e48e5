"""Ontologies as OBO graphs in JSON, the form that HPO, NCIt, MAxO and others publish beside OWL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file, read_lines
from st_biomed.readers._curies import Header, match_predicate
from st_biomed.readers._json import field, json_object, objects
from st_biomed.readers._ontology import LOGICAL, OTHER, Ontology, Statements
from st_biomed.records import Record, SourceInfo, Tally

SOURCE = SourceInfo(
    name="OBOGRAPH",
    title="An ontology as OBO graph",
    license="as each ontology states",
    url="https://github.com/geneontology/obographs",
)
PATH = "an OBO graph, e.g. hp.json"

_SYNONYM = re.compile(r"has(Exact|Broad|Narrow|Related)Synonym")
_NOT_CLASSES = {"PROPERTY": "properties", "INDIVIDUAL": "individuals", "": "nodes without a type"}
_AXIOMS = ("logicalDefinitionAxioms", "equivalentNodesSets", "domainRangeAxioms", "propertyChainAxioms")
# Property values that become types or cross-references; properties are compared by the end of their IRI.
_NAMESPACE, _ALTERNATIVE = "hasOBONamespace", "hasAlternativeId"


def records(
    path: Path,
    *,
    tally: Tally,
    scopes: str | Sequence[str] = "EXACT",
    without_types: str | Sequence[str] = "",
    obsolete: bool = False,
    prefixes: str | Sequence[str] = "",
    language: str = "en",
    definitions: bool = True,
) -> Iterator[Record]:
    """Read names, synonyms, definitions, is_a, other edges, cross-references and types of the classes of every graph.

    Alternative ids are cross-references with the predicate ``alt_id``, SKOS matches with theirs (``exactMatch``).
    Subsets and namespaces are types. The name of a relation is that of its property, with underscores for spaces. IRIs
    become CURIEs: ``.../obo/HP_0000001`` HP:0000001, ``.../ORDO/Orphanet_123`` ORDO:123. Obsolete terms are those that
    are deprecated or below an ``ObsoleteClass``.

    Imported codes have their own source, e.g. ``HP-MAXO`` for those of HPO in MAxO's file.

    Args:
        path: The file, e.g. ``hp.json``.
        tally: Counts the nodes that are dropped whole, each statement of the others, edges, and axioms.
        scopes: Scopes of the synonyms to read, separated by commas: ``EXACT`` (default), ``BROAD``, ``NARROW``,
            ``RELATED``.
        without_types: Types of synonyms to leave out, separated by commas: the last part of their IRI, e.g.
            ``"ABBREVIATION,LATIN"``, or a CURIE, ``"OMO:0003012"`` for acronyms; none by default.
        obsolete: Whether to read obsolete terms too; off by default.
        prefixes: Prefixes of the terms to read, separated by commas, e.g. ``"MAXO,HP"``; all by default.
        language: ISO 639-1 code of the names and definitions; ``en`` by default.
        definitions: Whether to read definitions; on by default.

    Raises:
        InputError: No JSON (with its line), no OBO graph, a field of the wrong kind, a term that is defined twice in
            one graph, a prefix that no term has.
    """
    path = check_file(path)
    ontology = Ontology(
        path,
        tally,
        scopes=scopes,
        without_types=without_types,
        obsolete=obsolete,
        prefixes=prefixes,
        language=language,
        definitions=definitions,
    )
    labels: dict[str, str] = {}
    text = "\n".join(text for _, text in read_lines(path))
    document = json_object(path, text, expected="JSON object with 'graphs'")
    graphs = objects(str(path), document, "graphs")
    if not graphs:
        raise InputError(f"{path}: has no 'graphs'; is it an OBO graph?")
    for number, graph in enumerate(graphs):
        where = f"{path}: graphs[{number}]"
        ontology.begin(_header(where, graph))
        edges = [_edge(f"{where}.edges[{i}]", edge) for i, edge in enumerate(objects(where, graph, "edges"))]
        withdrawn = {child for child, _, parent in edges if _end(parent) == "ObsoleteClass"}
        for i, node in enumerate(objects(where, graph, "nodes")):
            at = f"{where}.nodes[{i}]"
            kind = field(at, node, "type", str)
            if kind == "CLASS":
                term = _term(at, node)
                term.obsolete |= term.id in withdrawn
                yield from ontology.term(term, at)
            elif kind in _NOT_CLASSES:
                labels[field(at, node, "id", str)] = field(at, node, "lbl", str)
                tally.read_dropped(_NOT_CLASSES[kind])
            else:
                raise InputError(f"{at}: 'type' must be CLASS, PROPERTY or INDIVIDUAL, found {kind[:40]!r}")
        for child, relation, parent in edges:
            ontology.edge(child, relation, parent)
        n_axioms = sum(len(field(where, graph, key, list)) for key in _AXIOMS)
        tally.read_dropped(LOGICAL, n_axioms)
    yield from ontology.finish(labels)


def _header(where: str, graph: dict[str, Any]) -> Header:
    meta = field(where, graph, "meta", dict)
    values = {_end(name): value for name, value in _values(f"{where}.meta", meta)}
    return Header(
        field(where, graph, "id", str),
        values.get("title", ""),
        values.get("owl_versionInfo") or values.get("versionInfo") or field(f"{where}.meta", meta, "version", str),
        values.get("license", ""),
    )


def _term(where: str, node: dict[str, Any]) -> Statements:
    meta, at = field(where, node, "meta", dict), f"{where}.meta"
    term = Statements(field(where, node, "id", str), field(where, node, "lbl", str))
    term.obsolete = field(at, meta, "deprecated", bool)
    for synonym in objects(at, meta, "synonyms"):
        predicate = field(f"{at}.synonyms", synonym, "pred", str)
        scope = _SYNONYM.fullmatch(_end(predicate))
        if not scope:
            raise InputError(f"{at}: 'pred' of a synonym must be hasExactSynonym or similar, found {predicate[:40]!r}")
        kind, text = (field(f"{at}.synonyms", synonym, key, str) for key in ("synonymType", "val"))
        term.synonyms.append((scope[1].upper(), kind, text))
    if definition := field(at, meta, "definition", dict):
        term.definitions.append(field(f"{at}.definition", definition, "val", str))
    for xref in objects(at, meta, "xrefs"):
        term.xrefs.append(("xref", field(f"{at}.xrefs", xref, "val", str)))
    for subset in field(at, meta, "subsets", list):
        if not isinstance(subset, str):
            raise InputError(f"{at}.subsets: must contain texts, found {str(subset)[:40]!r}")
        term.types.append(_end(subset))
    for name, value in _values(at, meta):
        if _end(name) == _ALTERNATIVE:
            term.xrefs.append(("alt_id", value))
        elif _end(name) == _NAMESPACE:
            term.types.append(value)
        elif match := match_predicate(name):
            term.xrefs.append((match, value))
        else:
            term.left_out[OTHER] += 1
    term.left_out[OTHER] += len(field(at, meta, "comments", list))
    return term


def _edge(where: str, edge: dict[str, Any]) -> tuple[str, str, str]:
    """Child, relation (empty for is_a) and parent."""
    child, relation, parent = (field(where, edge, end, str) for end in ("sub", "pred", "obj"))
    if not (child and relation and parent):
        raise InputError(f"{where}: an edge needs 'sub', 'pred' and 'obj', found {str(edge)[:80]!r}")
    return child, "" if relation == "is_a" else relation, parent


def _values(where: str, meta: dict[str, Any]) -> list[tuple[str, str]]:
    """Property and value of each entry of ``basicPropertyValues``."""
    where += ".basicPropertyValues"
    return [
        (field(where, value, "pred", str), field(where, value, "val", str))
        for value in objects(where, meta, "basicPropertyValues")
    ]


def _end(iri: str) -> str:
    """The part after the last slash or hash."""
    return re.split("[#/]", iri)[-1]
