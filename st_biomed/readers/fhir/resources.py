"""FHIR resources of terminologies in files: JSON, XML or lines of JSON; alone, in a folder, an archive or a bundle."""

from __future__ import annotations

import codecs
import gzip
import re
import tarfile
import zlib
from collections.abc import Iterator
from gzip import GzipFile
from pathlib import Path
from typing import IO, Any
from xml.etree.ElementTree import Element

from st_biomed.errors import InputError
from st_biomed.files.gzipped import SUFFIX, matching, open_decompressed, plain_name
from st_biomed.files.xml_elements import XMLForm, elements_of
from st_biomed.readers._json import field, json_object, objects
from st_biomed.records import Tally

KINDS = ("CodeSystem", "ValueSet", "ConceptMap")

_SUFFIXES = (".json", ".ndjson", ".xml")
_ARCHIVES = (".tar", ".tar.gz", ".tgz")
_FORM = XMLForm("FHIR", "", "", 200)
_NARRATIVE = ("text", "extension", "modifierExtension")
# Elements that are lists in JSON; `property` and `target` may also be a single value, which has an attribute in XML.
_LISTS = {
    *(
        "concept",
        "contains",
        "dependsOn",
        "designation",
        "element",
        "entry",
        "exclude",
        "group",
        "include",
        "property",
    ),
    "target",
}
_KIND = re.compile(r"[A-Z][A-Za-z]{1,40}")

Resource = dict[str, Any]


def read_resources(path: Path, tally: Tally) -> Iterator[tuple[str, Resource]]:
    """The place and content of each ``CodeSystem``, ``ValueSet`` and ``ConceptMap``; others are dropped and counted.

    XML has the form of JSON: objects, lists and texts.

    Args:
        path: A file, an archive (``.tar.gz``, ``.tgz``, ``.tar``) or a folder, which is searched at every depth.
        tally: Counts resources of other kinds, and files in a folder or archive that contain no resource.

    Raises:
        InputError: With file and line: no JSON, no well-formed XML, an entity in XML. Also: no such file, another
            suffix, a file without a resource.
    """
    for where, document in _documents(path, tally):
        alone = not path.is_dir() and not _is_archive(path)
        yield from _resources(where, document, tally, alone)


def _is_archive(path: Path) -> bool:
    return path.name.lower().endswith(_ARCHIVES)


def _documents(path: Path, tally: Tally) -> Iterator[tuple[str, Resource]]:
    if path.is_dir():
        files = sorted(file for suffix in _SUFFIXES for file in matching(path, f"**/*{suffix}") if file.is_file())
        for file in files:
            yield from _in_file(file)
    elif not path.is_file():
        raise InputError(f"{path}: no such file or folder")
    elif _is_archive(path):
        yield from _in_archive(path, tally)
    elif _suffix(plain_name(path)) not in _SUFFIXES:
        raise InputError(
            f"{path}: suffix {_suffix(plain_name(path))!r} is no form of FHIR; expected "
            f"{', '.join((*_SUFFIXES, *_ARCHIVES))} or a folder"
        )
    else:
        yield from _in_file(path)


def _suffix(name: str) -> str:
    return Path(name).suffix.lower()


def _in_file(path: Path) -> Iterator[tuple[str, Resource]]:
    with open_decompressed(path) as (stream, _):
        yield from _in_stream(str(path), plain_name(path), stream)


def _in_archive(path: Path, tally: Tally) -> Iterator[tuple[str, Resource]]:
    try:
        with tarfile.open(path, "r|" if _suffix(path.name) == ".tar" else "r|gz") as archive:
            for member in archive:
                name = member.name.removesuffix(SUFFIX)
                stream = archive.extractfile(member) if member.isfile() else None
                if stream is None:
                    continue
                if _suffix(name) not in _SUFFIXES:
                    tally.read_dropped("files of an archive that are neither JSON nor XML")
                    continue
                unpacked = stream if name == member.name else GzipFile(fileobj=stream)
                yield from _in_stream(f"{path}/{member.name}", name, unpacked)
    except (EOFError, gzip.BadGzipFile, zlib.error, tarfile.TarError) as error:
        raise InputError(f"{path}: is not a complete gzip or tar file ({error})") from error


def _in_stream(where: str, name: str, stream: IO[bytes] | GzipFile) -> Iterator[tuple[str, Resource]]:
    """The documents of a file or a member of an archive."""
    suffix = _suffix(name)
    if suffix == ".xml":
        for _, root in elements_of(where, stream, _FORM):
            yield where, {"resourceType": root.tag, **_content(root)}
    elif suffix == ".json":
        yield where, json_object(where, _decoded(where, stream.read()))
    else:
        for line, text in enumerate(stream, 1):
            if text.strip():
                yield f"{where}:{line}", json_object(where, _decoded(where, text, line), line)


def _decoded(where: str, data: bytes, line: int = 1) -> str:
    try:
        return data.removeprefix(codecs.BOM_UTF8).decode()
    except UnicodeDecodeError as error:
        line += data[: error.start].count(b"\n")
        raise InputError(f"{where}:{line}: is not UTF-8; convert the file") from error


def _content(element: Element) -> Resource:
    """An element in the form of JSON; narratives and extensions are left out."""
    holder: Resource = {}
    for child in element:
        key, value = child.tag, child.get("value")
        content: object = _content(child) if value is None else value
        if key in _NARRATIVE:
            continue
        if key == "resource":
            holder[key] = {"resourceType": child[0].tag, **_content(child[0])} if len(child) else {}
        elif key in _LISTS and value is None:
            if not isinstance(holder.get(key), list):
                holder[key] = []
            holder[key].append(content)
        else:
            holder[key] = content
    return holder


def _resources(where: str, document: Resource, tally: Tally, alone: bool) -> Iterator[tuple[str, Resource]]:
    """The resources of a document: itself, or those of a bundle."""
    waiting = [(where, document)]
    while waiting:
        where, resource = waiting.pop()
        kind = resource.get("resourceType")
        if kind == "Bundle":
            entries = enumerate(objects(where, resource, "entry"))
            inner = [(f"{where}: entry[{i}]", field(where, entry, "resource", dict)) for i, entry in entries]
            waiting += reversed(inner)
        elif kind in KINDS:
            yield where, resource
        elif not isinstance(kind, str) or not _KIND.fullmatch(kind):
            if alone and resource is document:
                raise InputError(f"{where}: has no 'resourceType'; is it a resource of FHIR?")
            tally.read_dropped("files and entries without a resource of FHIR")
        else:
            tally.read_dropped(f"resources of other kinds ({kind})")
