"""BioC as XML, one document after the other, in the structure of its JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from st_biomed.files.xml_elements import XMLForm, read_elements

_FORM = XMLForm("BioC", "collection", "document")


def element_documents(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Stream ``file:line`` and the content of each document.

    Raises:
        InputError: See :func:`~st_biomed.files.xml_elements.read_elements`.
    """
    for line, element in read_elements(path, _FORM):
        yield f"{path}:{line}", _content(element)


def _content(element: Element) -> dict[str, Any]:
    """A document, passage, sentence or annotation in the structure of the JSON."""
    content: dict[str, Any] = {
        "infons": _infons(element),
        "relations": [{} for _ in element.findall("relation")],
        "locations": [dict(place.attrib) for place in element.findall("location")],
        "text": element.findtext("text"),
    }
    for tag, key in (("passage", "passages"), ("sentence", "sentences"), ("annotation", "annotations")):
        content[key] = [_content(part) for part in element.findall(tag)]
    for tag in ("id", "offset"):
        if (text := element.findtext(tag)) is not None:
            content[tag] = text.strip()
    return content


def _infons(element: Element) -> dict[str, list[str]]:
    """The values of each key, of which XML may have several."""
    infons: dict[str, list[str]] = {}
    for infon in element.findall("infon"):
        infons.setdefault(infon.get("key", ""), []).append((infon.text or "").strip())
    return infons
