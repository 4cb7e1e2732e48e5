"""A file of RDF as a graph: Turtle, N-Triples and RDF/XML. Nothing is fetched and no external entity is replaced."""

from __future__ import annotations

import codecs
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from st_biomed.errors import InputError, one_line
from st_biomed.files.delimited import check_file
from st_biomed.files.gzipped import open_decompressed, plain_name

if TYPE_CHECKING:
    from rdflib import Graph

BASE = "http://relative.invalid/"
"""What a relative IRI begins with if its file states no base."""

_FORMS = {".ttl": "turtle", ".nt": "nt", ".rdf": "xml", ".xml": "xml", ".owl": "xml"}
_ENTITY = 1000  # characters of an entity, which is an abbreviated IRI
_SHOWN = 120


def read_graph(path: Path) -> Graph:
    """Parse a whole file.

    Raises:
        InputError: With file and line: a syntax error; in XML an entity that is external, long, undeclared or refers to
            another. Also: no such file, another suffix, rdflib is not installed.
    """
    try:
        from rdflib import Graph
    except ImportError as error:
        raise InputError("reader 'skos' needs rdflib: pip install 'st-biomed[skos]'") from error
    path = check_file(path)
    suffix = Path(plain_name(path)).suffix.lower()
    if suffix not in _FORMS:
        raise InputError(f"{path}: suffix {suffix!r} is no form of RDF; expected {', '.join(_FORMS)}")
    with open_decompressed(path) as (stream, _):
        data = stream.read().removeprefix(codecs.BOM_UTF8)
    if _FORMS[suffix] == "xml":
        _check_xml(path, data)
    else:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise InputError(f"{path}:{line}: is not UTF-8; convert the file") from error
    graph = Graph(bind_namespaces="none")
    with _without_warnings():
        try:
            return graph.parse(data=data, format=_FORMS[suffix], publicID=BASE)
        except Exception as error:  # the parsers of rdflib have no common exception
            lines = getattr(error, "lines", None)
            place = f"{path}:{lines + 1}" if isinstance(lines, int) else str(path)
            raise InputError(f"{place}: is not readable {_FORMS[suffix]} ({_why(error)})") from error


def _check_xml(path: Path, data: bytes) -> None:
    """Reject XML that is not well-formed and entities that are no abbreviations of IRIs."""
    parser = expat.ParserCreate()

    def declared(name: str, _: bool, value: str | None, *__: Any) -> None:
        if value is None or len(value) > _ENTITY or "&" in value:
            raise InputError(
                f"{path}:{parser.CurrentLineNumber}: entity {name[:40]!r} must abbreviate an IRI; others are not replaced"
            )

    def skipped(name: str, _: bool) -> None:
        raise InputError(f"{path}:{parser.CurrentLineNumber}: entity {name[:40]!r} is not declared in the file")

    parser.EntityDeclHandler = declared
    parser.SkippedEntityHandler = skipped
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError(f"{path}:{error.lineno}: is not well-formed XML ({error})") from error
    except (LookupError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}:1: cannot be decoded as XML ({error}); use UTF-8") from error


@contextmanager
def _without_warnings() -> Iterator[None]:
    """rdflib logs or warns of each IRI and literal that is not valid."""
    logger = logging.getLogger("rdflib.term")
    before, logger.disabled = logger.disabled, True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield
    finally:
        logger.disabled = before


def _why(error: Exception) -> str:
    return one_line(getattr(error, "_why", None) or error or type(error).__name__)[:_SHOWN]
