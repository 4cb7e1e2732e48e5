"""Ontologies as OBO flat files, format 1.2 or 1.4: stanzas of ``tag: value`` lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file, read_lines
from st_biomed.readers._curies import Header, match_predicate
from st_biomed.readers._ontology import LOGICAL, OTHER, SCOPES, Ontology, Statements
from st_biomed.records import Record, SourceInfo, Tally

SOURCE = SourceInfo(
    name="OBO",
    title="An ontology in OBO format",
    license="as each ontology states",
    url="https://owlcollab.github.io/oboformat/doc/GO.format.obo-1_4.html",
)
PATH = "an ontology, e.g. doid.obo"

_HEAD = re.compile(r"\[([A-Za-z]+)\]\s*(!.*)?")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(\w*)(?:\s+([^\s\[\]{}!]+))?')  # a text, a scope and a type
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "W": " "}
# A value ends at its qualifiers, {key="value"}, or at a comment, which begins with a separate exclamation mark.
_END = re.compile(r'(?<!\S)(?:!(?!\S)|\{(?=[^{}"]*="))')
_LOGICAL = {"intersection_of", "union_of", "equivalent_to", "disjoint_from"}
_SYNONYM_SCOPE = {"synonym": "RELATED"} | {
    f"{scope.lower()}_synonym": scope for scope in SCOPES
}  # format 1.0 has four
_CONDITION = re.compile(r'\{.*\bgci_relation="')
_ZERO = re.compile(r'\{.*\b(?:c|maxC)ardinality="0"')


class _Stanza(NamedTuple):
    """Lines of a stanza: its kind and number, and ``(line, tag, value)`` of each line; the header has no kind."""

    line: int
    kind: str
    tags: list[tuple[int, str, str]]


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
    """Read names, synonyms, definitions, is_a, relationships, cross-references and types.

    ``alt_id`` and property values such as ``exactMatch`` are cross-references with that predicate. Subsets and the
    namespaces that a term states are types. The name of a relation is that of its typedef, with underscores for
    spaces. Parts of logical definitions (``intersection_of`` and similar), relations of cardinality 0 and statements
    under a condition (``gci_relation``) are left out and counted.

    The license is that of the header (``property_value: http://purl.org/dc/terms/license``, an IRI), else the
    published license of a known ontology. CC0 and CC-BY allow redistribution of names.

    Imported codes have their own source, e.g. ``CHEBI-GO`` for those of ChEBI in a file of GO.

    Args:
        path: The file, e.g. ``doid.obo``.
        tally: Counts the terms that are dropped whole, each statement (a line) of the others, and other stanzas.
        scopes: Scopes of the synonyms to read, separated by commas: ``EXACT`` (default), ``BROAD``, ``NARROW``,
            ``RELATED``.
        without_types: Types of synonyms to leave out, separated by commas, e.g. ``"ABBREVIATION,LATIN"`` or
            ``"OMO:0003012"`` for acronyms; an IRI by its CURIE or else its last part; none by default.
        obsolete: Whether to read obsolete terms too; off by default.
        prefixes: Prefixes of the terms to read, separated by commas, e.g. ``"CL,UBERON"``; all by default.
        language: ISO 639-1 code of the names and definitions; ``en`` by default.
        definitions: Whether to read definitions; on by default.

    Raises:
        InputError: With file and line: no ``tag: value``, a term without an id, with two names or defined twice, a
            synonym or definition without quotes, a synonym of an unknown scope. Also: no terms, a prefix that no term
            has.
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
    empty = True
    for stanza in _stanzas(path):
        if stanza.kind == "Term":
            empty = False
            yield from ontology.term(_term(path, stanza), f"{path}:{stanza.line}")
        elif not stanza.kind:
            ontology.begin(_header(stanza))
        else:
            tags = {tag: _plain(value) for _, tag, value in stanza.tags}
            if stanza.kind == "Typedef":
                labels[tags.get("id", "")] = tags.get("name", "")
            tally.read_dropped("typedefs" if stanza.kind == "Typedef" else "stanzas that are neither term nor typedef")
    if empty:
        raise InputError(f"{path}: has no [Term] stanza; is it an ontology in OBO format?")
    yield from ontology.finish(labels)


def _stanzas(path: Path) -> Iterator[_Stanza]:
    stanza = _Stanza(1, "", [])
    for line, text in read_lines(path):
        text = text.strip()
        if not text or text.startswith("!"):
            continue
        if head := _HEAD.fullmatch(text):
            yield stanza
            stanza = _Stanza(line, head[1], [])
            continue
        tag, colon, value = text.partition(":")
        if not colon:
            raise InputError(f"{path}:{line}: expected 'tag: value' or a stanza like '[Term]', found {text[:40]!r}")
        stanza.tags.append((line, tag.rstrip(), value.strip()))
    yield stanza


def _header(stanza: _Stanza) -> Header:
    tags = {tag: value for _, tag, value in stanza.tags if tag != "property_value"}
    properties = {}
    for _, tag, value in stanza.tags:
        if tag == "property_value":
            name, _, rest = value.partition(" ")
            quoted = _QUOTED.match(rest)
            properties[re.split("[#/:]", name)[-1]] = _unescaped(quoted[1]) if quoted else rest.partition(" ")[0]
    return Header(
        _plain(tags.get("ontology", "")),
        properties.get("title", ""),
        _plain(tags.get("data-version", "")) or properties.get("versionInfo", "") or tags.get("date", ""),
        properties.get("license", ""),
    )


def _term(path: Path, stanza: _Stanza) -> Statements:
    term = Statements(id="")
    for line, tag, value in stanza.tags:
        _state(term, f"{path}:{line}", tag, value)
    if not term.id:
        raise InputError(f"{path}:{stanza.line}: [Term] has no id")
    return term


def _state(term: Statements, where: str, tag: str, value: str) -> None:
    """Add what a line of a term states."""
    if tag == "id":
        term.id = _plain(value)
    elif tag == "name":
        if term.name:
            raise InputError(f"{where}: term {term.id!r} has a second name, {value[:40]!r}")
        term.name = _plain(value)
    elif tag in _SYNONYM_SCOPE:
        term.synonyms.append(_synonym(where, tag, value))
    elif tag == "def":
        quoted = _QUOTED.match(value)
        if not quoted:
            raise InputError(f"{where}: expected a definition in double quotes, found {value[:40]!r}")
        term.definitions.append(_unescaped(quoted[1]))
    elif tag in ("is_a", "relationship"):
        _state_edge(term, where, tag, value)
    elif tag in ("xref", "alt_id"):
        term.xrefs.append((tag, _plain(value.partition(' "')[0])))
    elif tag in ("subset", "namespace"):
        term.types.append(_plain(value))
    elif tag == "is_obsolete":
        term.obsolete = _plain(value) == "true"
    elif tag == "property_value" and (match := match_predicate(value.partition(" ")[0])):
        target = value.partition(" ")[2].strip()
        term.xrefs.append((match, _plain(target).split(" ")[0].strip('"')))
    else:
        term.left_out[LOGICAL if tag in _LOGICAL else OTHER] += 1


def _synonym(where: str, tag: str, value: str) -> tuple[str, str, str]:
    """Scope, type and text of a synonym."""
    quoted = _QUOTED.match(value)
    if not quoted:
        raise InputError(f"{where}: expected a synonym with a text in double quotes and a scope, found {value[:40]!r}")
    scope = quoted[2] or _SYNONYM_SCOPE[tag]
    if scope not in SCOPES:
        raise InputError(f"{where}: scope {scope[:40]!r} of a synonym must be one of {', '.join(SCOPES)}")
    return scope, _unescaped(quoted[3] or ""), _unescaped(quoted[1])


def _state_edge(term: Statements, where: str, tag: str, value: str) -> None:
    """Add a parent or a relation that holds without a condition."""
    words = _plain(value).split()
    if len(words) != 1 + (tag == "relationship"):
        needed = "a term" if tag == "is_a" else "a relation and a term"
        raise InputError(f"{where}: {tag} needs {needed}, found {value[:40]!r}")
    if _CONDITION.search(value):
        term.left_out["parents and relations under a condition (gci_relation)"] += 1
    elif _ZERO.search(value):
        term.left_out["relations of cardinality 0"] += 1
    else:
        term.edges.append(("" if tag == "is_a" else words[0], words[-1]))


def _plain(value: str) -> str:
    """A value without its qualifiers and comment, unescaped."""
    end = _END.search(value)
    return _unescaped(value[: end.start()] if end else value).strip()


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), text)
