"""Ontologies as OBO graphs in JSON, the form in which HPO, NCIt, MAxO and their like are published beside OWL."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from st_biomed.errors import InputError
from st_biomed.files.tables import check_file, read_lines
from st_biomed.readers._curies import Header, match_predicate
from st_biomed.readers._ontology import LOGICAL, OTHER, Ontology, Statements
from st_biomed.records import Record, SourceInfo, Tally

SOURCE = SourceInfo(
    name="OBOGRAPH",
    title="An ontology as OBO graph",
    license="as each ontology states",
    url="https://github.com/geneontology/obographs",
)

_SYNONYM = re.compile(r"has(Exact|Broad|Narrow|Related)Synonym")
_NOT_CLASSES = {"PROPERTY": "properties", "INDIVIDUAL": "individuals", "": "nodes without a type"}
_AXIOMS = ("logicalDefinitionAxioms", "equivalentNodesSets", "domainRangeAxioms", "propertyChainAxioms")
# Where a property value becomes a type or a cross-reference; properties are compared by the end of their IRI.
_NAMESPACE, _ALTERNATIVE = "hasOBONamespace", "hasAlternativeId"
_KINDS = {str: "a text", list: "a list", dict: "an object", bool: "true or false"}
_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # half of a character beyond U+FFFF, which must not stand alone

Kind = TypeVar("Kind", str, list, dict, bool)


def records(
    path: Path | None = None,
    *,
    tally: Tally,
    scopes: str | Sequence[str] = "EXACT",
    obsolete: bool = False,
    prefixes: str | Sequence[str] = "",
    language: str = "en",
    definitions: bool = True,
) -> Iterator[Record]:
    """Read names, synonyms, definitions, is_a, other edges, cross-references and types of the classes of every graph.

    Alternative ids are cross-references with the predicate ``alt_id``, SKOS matches with theirs (``exactMatch``); subsets
    and namespaces are types. A relation is called what its property is, with underscores for spaces. IRIs become
    CURIEs: ``.../obo/HP_0000001`` HP:0000001, ``.../ORDO/Orphanet_123`` ORDO:123. Terms are obsolete that are
    deprecated or below an ``ObsoleteClass``.

    Codes that an ontology imports have a source of their own, e.g. ``HP-MAXO`` for those of HPO in MAxO's file.

    Args:
        path: The file, e.g. ``hp.json``.
        tally: Counts the nodes that are dropped whole, each statement of the others, edges, and axioms.
        scopes: Scopes of the synonyms to read, with commas between: ``EXACT`` (default), ``BROAD``, ``NARROW``,
            ``RELATED``.
        obsolete: Whether to read obsolete terms too; by default not.
        prefixes: Prefixes of the terms to read, with commas between, e.g. ``"MAXO,HP"``; all by default.
        language: ISO 639-1 code of the names and definitions; ``en`` by default.
        definitions: Whether to read definitions, as by default.

    Raises:
        InputError: No JSON (with its line), no OBO graph, a field of the wrong kind, a term that is defined twice in
            one graph, a prefix that no term has.
    """
    if path is None:
        raise InputError("reader 'obograph' needs the path of an OBO graph, e.g. hp.json")
    path = check_file(path)
    ontology = Ontology(
        path,
        tally,
        scopes=scopes,
        obsolete=obsolete,
        prefixes=prefixes,
        language=language,
        definitions=definitions,
    )
    labels: dict[str, str] = {}
    graphs = _objects(str(path), _document(path), "graphs")
    if not graphs:
        raise InputError(f"{path}: has no 'graphs'; is it an OBO graph?")
    for number, graph in enumerate(graphs):
        where = f"{path}: graphs[{number}]"
        ontology.begin(_header(where, graph))
        edges = [_edge(f"{where}.edges[{i}]", edge) for i, edge in enumerate(_objects(where, graph, "edges"))]
        withdrawn = {child for child, _, parent in edges if _end(parent) == "ObsoleteClass"}
        for i, node in enumerate(_objects(where, graph, "nodes")):
            at = f"{where}.nodes[{i}]"
            kind = _field(at, node, "type", str)
            if kind == "CLASS":
                term = _term(at, node)
                term.obsolete |= term.id in withdrawn
                yield from ontology.term(term, at)
            elif kind in _NOT_CLASSES:
                labels[_field(at, node, "id", str)] = _field(at, node, "lbl", str)
                tally.read()
                tally.drop(_NOT_CLASSES[kind])
            else:
                raise InputError(f"{at}: 'type' is CLASS, PROPERTY or INDIVIDUAL, found {kind[:40]!r}")
        for child, relation, parent in edges:
            ontology.edge(child, relation, parent)
        n_axioms = sum(len(_field(where, graph, key, list)) for key in _AXIOMS)
        tally.read(n_axioms)
        tally.drop(LOGICAL, n_axioms)
    yield from ontology.finish(labels)


def _document(path: Path) -> dict[str, Any]:
    text = "\n".join(text for _, text in read_lines(path))
    try:
        document = json.loads(text)
        if _HALF.search(text):
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: is not JSON ({error.msg})") from error
    except (RecursionError, ValueError) as error:  # too deep, a number of thousands of digits, half a character
        raise InputError(f"{path}: is not JSON that can be read ({type(error).__name__})") from error
    if not isinstance(document, dict):
        raise InputError(f"{path}: is no JSON object with 'graphs'; is it an OBO graph?")
    return document


def _header(where: str, graph: dict[str, Any]) -> Header:
    meta = _field(where, graph, "meta", dict)
    values = {_end(name): value for name, value in _values(f"{where}.meta", meta)}
    return Header(
        _field(where, graph, "id", str),
        values.get("title", ""),
        values.get("owl_versionInfo") or values.get("versionInfo") or _field(f"{where}.meta", meta, "version", str),
        values.get("license", ""),
    )


def _term(where: str, node: dict[str, Any]) -> Statements:
    meta, at = _field(where, node, "meta", dict), f"{where}.meta"
    term = Statements(_field(where, node, "id", str), _field(where, node, "lbl", str))
    term.obsolete = _field(at, meta, "deprecated", bool)
    for synonym in _objects(at, meta, "synonyms"):
        predicate = _field(f"{at}.synonyms", synonym, "pred", str)
        scope = _SYNONYM.fullmatch(_end(predicate))
        if not scope:
            raise InputError(f"{at}: 'pred' of a synonym is hasExactSynonym or the like, found {predicate[:40]!r}")
        term.synonyms.append((scope[1].upper(), _field(f"{at}.synonyms", synonym, "val", str)))
    if definition := _field(at, meta, "definition", dict):
        term.definitions.append(_field(f"{at}.definition", definition, "val", str))
    for xref in _objects(at, meta, "xrefs"):
        term.xrefs.append(("xref", _field(f"{at}.xrefs", xref, "val", str)))
    for subset in _field(at, meta, "subsets", list):
        term.types.append(_end(_text(f"{at}.subsets", subset)))
    for name, value in _values(at, meta):
        if _end(name) == _ALTERNATIVE:
            term.xrefs.append(("alt_id", value))
        elif _end(name) == _NAMESPACE:
            term.types.append(value)
        elif match := match_predicate(name):
            term.xrefs.append((match, value))
        else:
            term.left_out[OTHER] += 1
    term.left_out[OTHER] += len(_field(at, meta, "comments", list))
    return term


def _edge(where: str, edge: dict[str, Any]) -> tuple[str, str, str]:
    """Child, relation (empty for is_a) and parent."""
    child, relation, parent = (_field(where, edge, end, str) for end in ("sub", "pred", "obj"))
    if not (child and relation and parent):
        raise InputError(f"{where}: an edge has 'sub', 'pred' and 'obj', found {str(edge)[:80]!r}")
    return child, "" if relation == "is_a" else relation, parent


def _values(where: str, meta: dict[str, Any]) -> list[tuple[str, str]]:
    """Property and value of each ``basicPropertyValues``."""
    where += ".basicPropertyValues"
    return [
        (_field(where, value, "pred", str), _field(where, value, "val", str))
        for value in _objects(where, meta, "basicPropertyValues")
    ]


def _field(where: str, holder: dict[str, Any], key: str, kind: type[Kind]) -> Kind:
    """A field of an object; an empty one where it is missing or null."""
    value = holder.get(key)
    if value is None:
        return kind()
    if not isinstance(value, kind):
        raise InputError(f"{where}: {key!r} must be {_KINDS[kind]}, found {str(value)[:40]!r}")
    return value


def _objects(where: str, holder: dict[str, Any], key: str) -> list[dict[str, Any]]:
    values = _field(where, holder, key, list)
    for i, value in enumerate(values):
        if not isinstance(value, dict):
            raise InputError(f"{where}: {key}[{i}] must be an object, found {str(value)[:40]!r}")
    return values


def _text(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where}: must hold texts, found {str(value)[:40]!r}")
    return value


def _end(iri: str) -> str:
    """What stands behind the last slash or hash."""
    return re.split("[#/]", iri)[-1]
