"""Streaming documents from text files, JSON lines and UIMA XMI, plain, gzipped or in a tar archive, of any size."""

from __future__ import annotations

import codecs
import gzip
import re
import tarfile
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple
from xml.etree import ElementTree

from st_biomed.corpus.tokens import SEPARATOR
from st_biomed.errors import InputError, check_name
from st_biomed.readers._json import json_object
from st_biomed.records import Tally

FORMS = {
    "auto": "by the suffix: .jsonl, .xml and .xmi (UIMA XMI), .txt with a document a line",
    "lines": "text, a document a line",
    "paragraphs": "text, documents apart by blank lines",
    "files": "text, a document a file",
    "jsonl": "a JSON object a line",
    "xmi": "UIMA XMI, the text of each view",
}
"""The forms of documents in a file."""

LONGEST = 1 << 20
"""Maximum number of characters in memory; a longer document is cut into pieces at a line end or a space."""

_SUFFIXES = {".txt": "lines", ".jsonl": "jsonl", ".ndjson": "jsonl", ".xml": "xmi", ".xmi": "xmi"}
_ARCHIVES = (".tar", ".tar.gz", ".tgz")
_HIDDEN = re.compile(r"(^|/)\.(?!\.?(/|$))")  # a file, or a folder above it, that a system leaves, such as .DS_Store


class Document(NamedTuple):
    """A document, or a piece of a long one.

    Attributes:
        name: Its id in the file, or ``folder/file:line``, ``archive/member`` or similar, see :class:`TextFile`.
        text: Its text in Unicode's composed form (NFC), not empty.
        offset: Position of the piece in the document, in characters of the composed form.
    """

    name: str
    text: str
    offset: int = 0


class TextFile(NamedTuple):
    """A file of documents.

    Attributes:
        name: The prefix of its documents' names: its path below the given folder, or its own name.
    """

    path: Path
    name: str


def documents(
    paths: Iterable[str | Path | TextFile] | str | Path,
    *,
    form: str = "auto",
    field: str = "text",
    tally: Tally | None = None,
) -> Iterator[Document]:
    """Stream the documents of files and folders, in the order of the paths; the files of a folder are sorted by name.

    Args:
        paths: Files or folders, or what :func:`files_of` found; ``.gz`` is decompressed, and ``.tar``, ``.tar.gz`` and ``.tgz`` are read as archives. In
            folders and archives hidden files, and for ``auto`` those with an unknown suffix, are left out and counted.
        form: A key of ``FORMS``; another than ``auto`` is that of every file.
        field: The key of the text in JSON lines; a key ``id`` is the name of the document.
        tally: Counts the documents; empty ones and files without text are dropped.

    Raises:
        InputError: With file and line: no such file, bytes that are not UTF-8, malformed JSON or XML, an object
            without the field; an unknown form; or no path.
    """
    tally = Tally() if tally is None else tally
    end = 0
    for file in files_of(paths, form, tally):
        for name, piece, offset in _in_file(file, form, field, tally):
            tally.read()
            text = unicodedata.normalize("NFC", piece).replace(SEPARATOR, " ")
            start = end if offset else 0
            end = start + len(text)
            if text.strip():
                tally.keep()
                yield Document(name, text, start)
            else:
                tally.drop("empty documents")


def files_of(
    paths: Iterable[str | Path | TextFile] | str | Path, form: str = "auto", tally: Tally | None = None
) -> list[TextFile]:
    """The files that :func:`documents` reads, in order, under names of their own.

    Raises:
        InputError: No such file or folder, an unknown suffix, no files at all, or an unknown form.
    """
    check_name("form", form, FORMS)
    tally = Tally() if tally is None else tally
    files = list(_files([paths] if isinstance(paths, str | Path) else paths, form, tally))
    if not files:
        raise InputError(f"no file with text to read ({tally})")
    return _told_apart(files)


def _files(paths: Iterable[str | Path | TextFile], form: str, tally: Tally) -> Iterator[TextFile]:
    for given in paths:
        if isinstance(given, TextFile):
            yield given
            continue
        path = Path(given)
        if path.is_dir():
            for file in sorted(entry for entry in path.rglob("*") if entry.is_file()):
                name = file.relative_to(path).as_posix()
                if not _HIDDEN.search(name) and (_is_archive(name) or _form_of(name, form)):
                    yield TextFile(file, name)
                else:
                    tally.read_dropped("files of a folder that are hidden or that no suffix says are text")
        elif not path.is_file():
            raise InputError(f"{path}: no such file or folder")
        elif not _is_archive(path.name) and not _form_of(path.name, form):
            raise InputError(
                f"{path}: the suffix does not determine the form of its documents; give a form: "
                f"{', '.join(list(FORMS)[1:])}"
            )
        else:
            yield TextFile(path, path.name)


def _told_apart(files: list[TextFile]) -> list[TextFile]:
    """The files with one more folder in equal names until they differ; a file that is given twice keeps one name."""
    while True:
        times = Counter(name for _, name in {*files})
        longer = [
            TextFile(path, Path(*path.parts[-name.count("/") - 2 :]).as_posix() if times[name] > 1 else name)
            for path, name in files
        ]
        if longer == files:
            return files
        files = longer


def _is_archive(name: str) -> bool:
    return name.lower().endswith(_ARCHIVES)


def _form_of(name: str, form: str) -> str:
    """The form of a file or member; empty for an unknown suffix."""
    suffix = Path(name.removesuffix(".gz")).suffix.lower()
    return _SUFFIXES.get(suffix, "") if form == "auto" else form


def _in_file(file: TextFile, form: str, field: str, tally: Tally) -> Iterator[Document]:
    path, name = file
    with _reading(path):
        if not _is_archive(path.name):
            with path.open("rb") as raw:
                yield from _in_stream(_unpacked(raw, path.name), str(path), name, _form_of(path.name, form), field)
            return
        with tarfile.open(path, "r|*") as archive:
            for member in archive:
                inner = "" if _HIDDEN.search(member.name) else _form_of(member.name, form)
                stream = archive.extractfile(member) if member.isfile() and inner else None
                if stream is not None:
                    yield from _in_stream(
                        _unpacked(stream, member.name), f"{path}/{member.name}", f"{name}/{member.name}", inner, field
                    )
                elif member.isfile():
                    tally.read_dropped("members of an archive that are hidden or that no suffix says are text")


def _unpacked(stream: IO[bytes], name: str) -> IO[bytes]:
    return gzip.GzipFile(fileobj=stream) if name.endswith(".gz") else stream  # type: ignore[return-value]


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Name the archive in errors of damaged archives."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error, tarfile.TarError) as error:
        raise InputError(f"{path}: is not a complete gzip or tar file ({error})") from error


def _in_stream(raw: IO[bytes], where: str, name: str, form: str, field: str) -> Iterator[Document]:
    """The documents of one file.

    Args:
        name: The prefix of its documents' names.
        form: A key of ``FORMS``, not ``auto``.
        field: The key of the text in JSON lines.
    """
    if form == "xmi":
        yield from _in_xmi(raw, where, name)
    elif form == "jsonl":
        for line, text in _whole_lines(raw, where):
            if text.strip():
                yield from _pieces(*_in_object(where, line, text, f"{name}:{line}", field))
    else:
        yield from _in_text(raw, where, name, form)


def _in_text(raw: IO[bytes], where: str, name: str, form: str) -> Iterator[Document]:
    """Documents of plain text, with one piece in memory at a time."""
    called, held, offset = "", "", 0
    for line, text, whole in _lines(raw, where):
        apart = form == "paragraphs" and not text.strip()
        if not apart:
            called = called or (name if form == "files" else f"{name}:{line}")
            held += text
        if len(held) > LONGEST:
            held = unicodedata.normalize("NFC", held)  # so that no cut parts a letter from its accent
        while len(held) > LONGEST:
            cut = _cut(held)
            yield Document(called, held[:cut], offset)
            held, offset = held[cut:], offset + cut
        if apart or (form == "lines" and whole):
            if called:
                yield Document(called, held.rstrip("\r\n"), offset)
            called, held, offset = "", "", 0
    if held:
        yield Document(called, held, offset)


def _lines(raw: IO[bytes], where: str) -> Iterator[tuple[int, str, bool]]:
    """Number and text of each line with its end, and whether it is complete: a long line comes in parts."""
    decoder = codecs.getincrementaldecoder("utf-8")()  # a block may end within a character
    line, whole = 1, True
    try:
        while piece := raw.readline(LONGEST):
            begins, whole = whole, piece.endswith(b"\n")
            text = piece.decode("utf-8") if begins and whole else decoder.decode(piece, final=whole)
            yield line, text.removeprefix("\ufeff") if line == 1 else text, whole
            line += whole
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise InputError(f"{where}:{line}: is not UTF-8; convert the file") from error


def _whole_lines(raw: IO[bytes], where: str) -> Iterator[tuple[int, str]]:
    held: list[str] = []
    line = 0
    for line, text, whole in _lines(raw, where):
        held.append(text)
        if whole:
            yield line, "".join(held)
            held = []
    if held:
        yield line, "".join(held)


def _in_object(path: str, line: int, text: str, name: str, field: str) -> tuple[str, str]:
    """Name and text of the document in a line of JSON."""
    row = json_object(path, text, line)
    if not isinstance(row.get(field), str):
        raise InputError(f"{path}:{line}: expected an object with text under {field!r}, found the keys {sorted(row)}")
    return name if row.get("id") in (None, "") else str(row["id"]), row[field]


def _in_xmi(raw: IO[bytes], where: str, name: str) -> Iterator[Document]:
    """The text of each view; annotations are ignored."""
    n_views = 0
    try:
        for _, element in ElementTree.iterparse(raw):
            if element.tag.endswith("}Sofa") and "sofaString" in element.attrib:
                n_views += 1
                called = name if n_views == 1 else f"{name}#{n_views}"
                yield from _pieces(called, element.attrib["sofaString"])
            element.clear()
    except ElementTree.ParseError as error:
        raise InputError(f"{where}:{error.position[0]}: not XML: {error}") from error
    except (LookupError, ValueError) as error:  # an encoding that Python or the parser does not know
        raise InputError(f"{where}:1: cannot be decoded as XML ({error}); use UTF-8") from error
    if not n_views:
        raise InputError(f"{where}: no view with a text (sofaString), so it is not UIMA XMI")


def _pieces(name: str, text: str) -> Iterator[Document]:
    text, offset = unicodedata.normalize("NFC", text), 0
    while len(text) > LONGEST:
        cut = _cut(text)
        yield Document(name, text[:cut], offset)
        text, offset = text[cut:], offset + cut
    yield Document(name, text, offset)


def _cut(text: str) -> int:
    """Where to cut a long text: after the last line end or space of its first ``LONGEST`` characters, if any."""
    return next((at for end in ("\n", " ") if (at := text.rfind(end, 0, LONGEST) + 1) > LONGEST // 2), LONGEST)
