"""The lines of a file or a stream as text, also of one that is not in its encoding throughout."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file
from st_biomed.files.encodings import UTF_8, known_encoding
from st_biomed.files.gzipped import SUFFIX, opened

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_GZIP = b"\x1f\x8b"


def raw_lines(source: Path | Iterable[bytes], encoding: str = "") -> Iterator[str]:
    """Lines with their ends. A byte order mark is left out, and a byte that is not UTF-8 becomes a surrogate.

    Args:
        source: A file (``*.gz`` is decompressed), or the lines of a stream.
        encoding: The encoding, e.g. ``cp1252``; by default UTF-8, or UTF-16 if its byte order mark comes first.

    Raises:
        InputError: No such file, or an unknown encoding; while reading, a gzip file that is not complete or has
            another suffix, or a line that is not in the encoding, if this is not UTF-8.
    """
    known = known_encoding(encoding, "--encoding") if encoding else ""
    if isinstance(source, Path):
        return _of_file(check_file(source), known)
    return _decoded(source, known, "standard input")


def _of_file(path: Path, encoding: str) -> Iterator[str]:
    with opened(path) as (stream, _):
        yield from _decoded(stream, encoding, str(path))


def _decoded(lines: Iterable[bytes], encoding: str, name: str) -> Iterator[str]:
    lines = iter(lines)
    first = next(lines, b"")
    if first.startswith(_GZIP):
        raise InputError(f"{name}: is compressed with gzip; decompress it, or give it the suffix {SUFFIX}")
    if not encoding and first.startswith(_UTF_16):
        encoding = "utf-16"
    if encoding not in ("", UTF_8):
        yield from _strict(chain([first], lines), encoding, name)
        return
    start = first.removeprefix(codecs.BOM_UTF8)
    for line in chain([start] if start else [], lines):  # a text stream decodes ahead, and does not know where it is
        yield line.decode(UTF_8, "surrogateescape")


def _strict(lines: Iterable[bytes], encoding: str, name: str) -> Iterator[str]:
    """Lines of another encoding than UTF-8, in which a byte of 10 need not be the end of a line."""
    decoder = codecs.getincrementaldecoder(encoding)()
    rest, number = "", 0
    try:
        for part in chain(lines, [b""]):
            *whole, rest = (rest + decoder.decode(part, not part)).split("\n")
            for line in whole:
                number += 1
                yield f"{line}\n".removeprefix("\ufeff" if number == 1 else "")
    except UnicodeError as error:
        raise InputError(f"{name}:{number + 1}: is not {encoding}; name another --encoding") from error
    if rest:
        yield rest


def flaw(text: str) -> str:
    """Why a text of :func:`raw_lines` cannot be taken; empty if it can."""
    if "\0" in text:
        return "contains a NUL character; the file is damaged or has another encoding"
    return "" if is_whole(text) else "is not UTF-8; convert it, or name its --encoding, e.g. cp1252"


def is_whole(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False
