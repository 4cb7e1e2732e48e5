"""BioC as XML, one document after the other, in the form that its JSON has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn
from xml.etree import ElementTree
from xml.parsers import expat

from st_biomed.errors import InputError
from st_biomed.files.gzipped import opened

_BLOCK = 1 << 16
_DEEPEST = 20  # elements within one another; BioC has eight


def element_documents(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Stream ``file:line`` and the content of each document.

    Nothing is fetched and no entity is replaced: a document type that is named is passed over, and a file that declares
    entities is refused, whatever they stand for.

    Raises:
        InputError: With file and line: no well-formed XML, an entity, no ``<collection>``.
    """
    reading = _Reading(path)
    with opened(path) as (stream, _):
        while True:
            block = stream.read(_BLOCK)
            reading.feed(block)
            yield from reading.taken()
            if not block:
                return


class _Reading:
    """A parser that takes documents apart as they end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.depth = 0
        self.begun = 0
        self.builder: ElementTree.TreeBuilder | None = None
        self.documents: list[tuple[str, dict[str, Any]]] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._entity
        self.parser.SkippedEntityHandler = self._entity

    def feed(self, block: bytes) -> None:
        try:
            self.parser.Parse(block, not block)
        except expat.ExpatError as error:
            raise InputError(f"{self.path}:{error.lineno}: is not well-formed XML ({error})") from error
        except (LookupError, ValueError) as error:  # an encoding that Python or the parser does not know
            if isinstance(error, InputError):
                raise
            raise InputError(f"{self.path}:1: cannot be decoded as XML ({error}); use UTF-8") from error

    def taken(self) -> list[tuple[str, dict[str, Any]]]:
        documents, self.documents = self.documents, []
        return documents

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth == 1 and tag != "collection":
            raise self._error(f"root element is <{tag}>, BioC has <collection>")
        if self.depth > _DEEPEST:
            raise self._error(f"elements are nested more than {_DEEPEST} deep, which BioC does not allow")
        if self.depth == 2 and tag == "document":
            self.begun, self.builder = self.parser.CurrentLineNumber, ElementTree.TreeBuilder()
        if self.builder is not None:
            self.builder.start(tag, attributes)

    def _end(self, tag: str) -> None:
        self.depth -= 1
        if self.builder is not None:
            self.builder.end(tag)
            if self.depth == 1:
                self.documents.append((f"{self.path}:{self.begun}", _content(self.builder.close())))
                self.builder = None

    def _text(self, text: str) -> None:
        if self.builder is not None:
            self.builder.data(text)

    def _entity(self, name: str, *_: object) -> NoReturn:
        raise self._error(f"entity {name[:40]!r} is declared or used; BioC has only the predefined entities of XML")

    def _error(self, found: str) -> InputError:
        return InputError(f"{self.path}:{self.parser.CurrentLineNumber}: {found}")


def _content(element: ElementTree.Element) -> dict[str, Any]:
    """A document, passage, sentence or annotation as JSON has it."""
    content: dict[str, Any] = {
        "infons": {infon.get("key", ""): (infon.text or "").strip() for infon in element.findall("infon")},
        "relations": [{} for _ in element.findall("relation")],
        "locations": [dict(place.attrib) for place in element.findall("location")],
        "text": element.findtext("text"),
    }
    for tag, key in (("passage", "passages"), ("sentence", "sentences"), ("annotation", "annotations")):
        content[key] = [_content(one) for one in element.findall(tag)]
    for tag in ("id", "offset"):
        if (text := element.findtext(tag)) is not None:
            content[tag] = text.strip()
    return content
