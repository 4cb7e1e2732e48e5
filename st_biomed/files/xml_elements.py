"""XML of any size as the elements below its root, one by one; nothing is fetched and no entity is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from gzip import GzipFile
from pathlib import Path
from typing import IO, NamedTuple, NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from st_biomed.errors import InputError
from st_biomed.files.gzipped import open_decompressed

_BLOCK = 1 << 16


class XMLForm(NamedTuple):
    """The form of a kind of XML file.

    Attributes:
        name: Its name in errors.
        root: Tag of the root element; any if empty.
        element: Tag of the elements directly below it that are yielded, others are ignored; if empty, the root element
            itself is yielded.
        deepest: Maximum nesting of elements.
    """

    name: str
    root: str
    element: str
    deepest: int = 20


def read_elements(path: Path, form: XMLForm) -> Iterator[tuple[int, Element]]:
    """Stream the line and the content of each element.

    A document type is ignored, and a file that declares entities is rejected.

    Raises:
        InputError: With file and line: XML that is not well-formed, an entity, another root, elements nested too deep.
    """
    with open_decompressed(path) as (stream, _):
        yield from elements_of(path, stream, form)


def elements_of(path: object, stream: IO[bytes] | GzipFile, form: XMLForm) -> Iterator[tuple[int, Element]]:
    """Like :func:`read_elements`, for the bytes of a member of an archive, whose name in errors is ``path``."""
    reading = _Reading(path, form)
    while True:
        block = stream.read(_BLOCK)
        reading.feed(block)
        yield from reading.taken()
        if not block:
            return


class _Reading:
    """A parser that processes elements as they end."""

    def __init__(self, path: object, form: XMLForm) -> None:
        self.path = path
        self.form = form
        self.level = 2 if form.element else 1  # depth of the elements that are yielded
        self.depth = 0
        self.begun = 0
        self.builder: TreeBuilder | None = None
        self.elements: list[tuple[int, Element]] = []
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

    def taken(self) -> list[tuple[int, Element]]:
        elements, self.elements = self.elements, []
        return elements

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name, root, element, deepest = self.form
        self.depth += 1
        if self.depth == 1 and root and tag != root:
            raise self._error(f"root element is <{tag}>, expected <{root}> for {name}")
        if self.depth > deepest:
            raise self._error(f"elements are nested more than {deepest} deep, which {name} does not allow")
        if self.depth == self.level and tag == (element or tag):
            self.begun, self.builder = self.parser.CurrentLineNumber, TreeBuilder()
        if self.builder is not None:
            self.builder.start(tag, attributes)

    def _end(self, tag: str) -> None:
        self.depth -= 1
        if self.builder is not None:
            self.builder.end(tag)
            if self.depth == self.level - 1:
                self.elements.append((self.begun, self.builder.close()))
                self.builder = None

    def _text(self, text: str) -> None:
        if self.builder is not None:
            self.builder.data(text)

    def _entity(self, name: str, *_: object) -> NoReturn:
        raise self._error(
            f"entity {name[:40]!r} is declared or used; {self.form.name} has only the predefined entities of XML"
        )

    def _error(self, problem: str) -> InputError:
        return InputError(f"{self.path}:{self.parser.CurrentLineNumber}: {problem}")
