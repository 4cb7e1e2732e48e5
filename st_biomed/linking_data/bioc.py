"""BioC: documents of passages or sentences, with annotations at offsets of the document; as XML and as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file, read_lines
from st_biomed.files.gzipped import plain_name
from st_biomed.linking_data.annotated import OFFSET
from st_biomed.linking_data.bioc_xml import element_documents
from st_biomed.readers._json import json_value

SUFFIXES = {".xml": "xml", ".json": "json", ".jsonl": "json"}
"""Suffix to form, ignoring case and ``.gz``."""

_DOCUMENTS = (
    "documents",
    "PubTator3",
)  # keys with the documents of a collection; the second one is PubTator3's


class BioCAnnotation(NamedTuple):
    """An annotation: its infons by lower-case key, the annotated string, offset and length of its pieces."""

    infons: dict[str, str]
    text: str
    locations: list[tuple[int, int]]


class BioCPassage(NamedTuple):
    """A passage, or a sentence if the passage has no text of its own; its text begins at its offset."""

    offset: int
    text: str
    annotations: list[BioCAnnotation]


class BioCDocument(NamedTuple):
    """A document.

    Attributes:
        where: ``file:line`` of its beginning.
        passages: Passages in the order of the file.
    """

    where: str
    id: str
    passages: list[BioCPassage]
    n_relations: int


def composite_parts(annotations: Sequence[BioCAnnotation]) -> dict[int, list[int]]:
    """The parts of each composite mention, by ``CompositeRole`` in BC5CDR.

    Returns:
        Index of a composite mention to the indices of the individual mentions within its span.
    """
    parts_of: dict[int, list[int]] = {}
    whole: dict[int, tuple[int, int]] = {}
    for i, annotation in enumerate(annotations):
        if annotation.infons.get("compositerole", "") == "CompositeMention" and annotation.locations:
            parts_of[i], whole[i] = [], _extent(annotation)
    for i, annotation in enumerate(annotations):
        if annotation.infons.get("compositerole", "") == "IndividualMention" and annotation.locations:
            start, end = _extent(annotation)
            around = next((j for j, (first, last) in whole.items() if first <= start and end <= last), None)
            if around is not None:
                parts_of[around].append(i)
    return parts_of


def _extent(annotation: BioCAnnotation) -> tuple[int, int]:
    return annotation.locations[0][0], max(offset + length for offset, length in annotation.locations)


def bioc_form(path: Path) -> str:
    """``"xml"`` or ``"json"`` by the suffix of a file; empty for any other suffix."""
    return SUFFIXES.get(Path(plain_name(path)).suffix.lower(), "")


def read_bioc(path: Path) -> Iterator[BioCDocument]:
    """Stream the documents of a file, plain or gzipped.

    XML is read one document after the other; entities are rejected, and a document type is not fetched. JSON is one
    collection (also in PubTator3's wrapper), a list of documents or of collections, or one of these on each line.

    Args:
        path: A file with the suffix ``.xml``, ``.json`` or ``.jsonl``.

    Raises:
        InputError: With file and line: invalid XML or JSON, no document, an invalid field, a document without an id.
    """
    form = bioc_form(check_file(path))
    if not form:
        raise InputError(f"{path}: the suffix of a BioC file must be .xml, .json or .jsonl")
    empty = True
    documents = element_documents(path) if form == "xml" else _json_documents(path)
    for where, document in documents:
        empty = False
        yield _document(where, document)
    if empty:
        raise InputError(f"{path}: contains no document; is it BioC?")


def _json_documents(path: Path) -> Iterator[tuple[str, Any]]:
    """``file:line`` and object of each document."""
    held: list[str] = []
    by_line = False
    for line, text in read_lines(path):
        if held or not text.strip():
            held += [text] if held else []
            continue
        try:
            value = json_value(path, text, line)
        except InputError:
            if by_line:
                raise
            held, first = [text], line
            continue
        by_line = True
        yield from _in_value(f"{path}:{line}", value)
    if held:
        yield from _in_value(f"{path}:{first}", json_value(path, "\n".join(held), first))


def _in_value(where: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The documents in a document, a collection, or a list of either."""
    if isinstance(value, dict) and "passages" in value:
        yield where, value
        return
    held = next((value[key] for key in _DOCUMENTS if key in value), None) if isinstance(value, dict) else value
    if not isinstance(held, list) or depth > 1:  # a list of collections is the deepest nesting
        raise InputError(
            f"{where}: a document must have 'passages', and a collection a list of 'documents', found "
            f"{str(value)[:60]!r}"
        )
    for member in held:
        yield from _in_value(where, member, depth + 1)


def _document(where: str, document: dict[str, Any]) -> BioCDocument:
    name = document.get("id")
    if not isinstance(name, str | int) or not str(name).strip():
        raise InputError(f"{where}: a document must have an 'id', found {str(name)[:40]!r}")
    where, name = f"{where}: document {name}", str(name).strip()
    passages = [part for passage in _list(where, document, "passages") for part in _parts(where, passage)]
    loose = _annotations(where, document)
    if loose and not passages:
        raise InputError(f"{where} has annotations but no passage")
    if loose:
        passages[0].annotations.extend(loose)  # offsets count from the document's beginning wherever the annotation is
    n_relations = len(_list(where, document, "relations"))
    for passage in _list(where, document, "passages"):
        n_relations += len(_list(where, passage, "relations"))
        n_relations += sum(len(_list(where, sentence, "relations")) for sentence in _list(where, passage, "sentences"))
    return BioCDocument(where, name, passages, n_relations)


def _parts(where: str, passage: Any) -> Iterator[BioCPassage]:
    """A passage with all its annotations, or its sentences if it has no text."""
    offset, text = _offset(where, passage), _text(where, passage)
    sentences = _list(where, passage, "sentences")
    if text or not sentences:
        yield BioCPassage(
            offset, text, [annotation for part in (passage, *sentences) for annotation in _annotations(where, part)]
        )
        return
    held = _annotations(where, passage)
    for sentence in sentences:
        yield BioCPassage(_offset(where, sentence), _text(where, sentence), [*held, *_annotations(where, sentence)])
        held = []


def _annotations(where: str, holder: dict[str, Any]) -> list[BioCAnnotation]:
    annotations = []
    for annotation in _list(where, holder, "annotations"):
        infons = annotation.get("infons")
        if infons is not None and not isinstance(infons, dict):
            raise InputError(f"{where}: 'infons' of an annotation must be an object, found {str(infons)[:40]!r}")
        notes = {key.lower(): _said(value) for key, value in (infons or {}).items()}
        locations = [
            (_offset(where, place), _number(where, place, "length")) for place in _list(where, annotation, "locations")
        ]
        annotations.append(BioCAnnotation(notes, _text(where, annotation), sorted(locations)))
    return annotations


def _said(value: Any) -> str:
    """The value of an infon as text: ids may be numbers, and lists of ids."""
    if isinstance(value, list):
        return ",".join(map(_said, value))
    return "" if value is None or isinstance(value, dict) else str(value)


def _text(where: str, holder: dict[str, Any]) -> str:
    text = holder.get("text")
    if text is not None and not isinstance(text, str):
        raise InputError(f"{where}: 'text' must be a string, found {str(text)[:40]!r}")
    return text or ""


def _list(where: str, holder: Any, key: str) -> list[dict[str, Any]]:
    """A list of objects; an empty list if it is missing."""
    if not isinstance(holder, dict):
        raise InputError(f"{where}: expected an object that may have {key!r}, found {str(holder)[:40]!r}")
    values = holder.get(key)
    if values is None:
        return []
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise InputError(f"{where}: {key!r} must be a list of objects, found {str(values)[:40]!r}")
    return values


def _offset(where: str, holder: dict[str, Any]) -> int:
    return _number(where, holder, "offset")


def _number(where: str, holder: dict[str, Any], key: str) -> int:
    value = str(holder.get(key))
    if not re.fullmatch(OFFSET, value):
        raise InputError(f"{where}: {key!r} must be a number of characters, found {value[:20]!r}")
    return int(value)
