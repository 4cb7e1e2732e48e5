"""The lines of a file or a stream as text, also of one that is not UTF-8 throughout."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path

from st_biomed.files.delimited import check_file
from st_biomed.files.gzipped import opened


def raw_lines(source: Path | Iterable[bytes]) -> Iterator[str]:
    """Lines with their ends. A byte order mark is left out, and a byte that is not UTF-8 becomes a surrogate.

    Args:
        source: A file (``*.gz`` is decompressed), or the lines of a stream.

    Raises:
        InputError: No such file; while reading, a gzip file that is not complete.
    """
    return _of_file(check_file(source)) if isinstance(source, Path) else _decoded(source)


def _of_file(path: Path) -> Iterator[str]:
    with opened(path) as (stream, _):
        yield from _decoded(stream)


def _decoded(lines: Iterable[bytes]) -> Iterator[str]:
    for number, line in enumerate(lines):  # a text stream decodes ahead, and does not know where it is
        content = line.removeprefix(codecs.BOM_UTF8) if number == 0 else line
        yield content.decode("utf-8", "surrogateescape")


def flaw(text: str) -> str:
    """Why a text of :func:`raw_lines` cannot be taken; empty if it can."""
    if "\0" in text:
        return "contains a NUL character; the file is damaged or has another encoding"
    return "" if is_whole(text) else "is not UTF-8; convert it"


def is_whole(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False
