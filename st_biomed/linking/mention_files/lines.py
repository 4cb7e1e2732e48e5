"""The lines of a file or a stream as text, also of one that is not in its encoding throughout."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file
from st_biomed.files.encodings import UTF_8, known_encoding
from st_biomed.files.gzipped import SUFFIX, open_decompressed

STREAM = "standard input"
"""The name of a source that is no file, for errors."""

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_GZIP = b"\x1f\x8b"
_ASCII = bytes(range(128)) + b"\x1b$B" + rb"\u0041"
"""Every byte of ASCII, and the sequences that change what the bytes after them mean."""


class RawLines(Iterator[str]):
    """Lines with their ends, and what is noticed while they are read.

    A byte order mark is left out. In UTF-8, a byte that is none becomes a surrogate character. In another encoding that
    writes ASCII as it is, all bytes beyond ASCII do in a line that cannot be decoded.

    Args:
        source: A file (``*.gz`` is decompressed), or the lines of a stream.
        encoding: The encoding, e.g. ``cp1252``; by default UTF-8, or UTF-16 if its byte order mark comes first.

    Attributes:
        name: The file, or ``standard input``, for errors.
        encoding: The encoding; UTF-16 once its byte order mark is read.
        n_blank: Blank lines that a reader has skipped.
        misread: How the encoding reads a character of a source that has been UTF-8 so far; empty if it has not, or has
            ASCII alone.

    Raises:
        InputError: No such file, or an unknown encoding; while reading, a gzip file that is not complete or has
            another suffix, the byte order mark of UTF-8 before another encoding, or a line that is not in an encoding
            such as UTF-16, in which the end of a line cannot be told after it.
    """

    def __init__(self, source: Path | Iterable[bytes], encoding: str = "") -> None:
        self.encoding = known_encoding(encoding, "--encoding") if encoding else UTF_8
        self.n_blank, self.misread = 0, ""
        self._detects = not encoding
        if isinstance(source, Path):
            self.name = str(source)
            self._lines = self._of_file(check_file(source))
        else:
            self.name = STREAM
            self._lines = self._decoded(source)

    def __next__(self) -> str:
        return next(self._lines)

    def flaw(self, text: str) -> str:
        """Why a text of these lines cannot be taken; empty if it can."""
        if "\0" in text:
            return "contains a NUL character; the file is damaged or has another encoding"
        if is_valid_utf8(text):
            return ""
        if self.encoding == UTF_8:
            return "is not UTF-8; convert it, or name its --encoding, e.g. cp1252"
        return f"is not {self.encoding}; name another --encoding"

    def escaped(self, text: str) -> str:
        """A text of these lines with its bytes in the source: those beyond ASCII as surrogate characters."""
        return text.encode(self.encoding, "surrogateescape").decode("ascii", "surrogateescape")

    def _of_file(self, path: Path) -> Iterator[str]:
        with open_decompressed(path) as (stream, _):
            yield from self._decoded(stream)

    def _decoded(self, lines: Iterable[bytes]) -> Iterator[str]:
        lines = iter(lines)
        first = next(lines, b"")
        if first.startswith(_GZIP):
            raise InputError(f"{self.name}: is compressed with gzip; decompress it, or give it the suffix {SUFFIX}")
        if self._detects and first.startswith(_UTF_16):
            self.encoding = "utf-16"
        if self.encoding == UTF_8:
            start = first.removeprefix(codecs.BOM_UTF8)
            # Lines are decoded one by one: a text stream decodes ahead, and does not know where it is.
            for line in chain([start] if start else [], lines):
                yield line.decode(UTF_8, "surrogateescape")
        elif _extends_ascii(self.encoding):
            if first.startswith(codecs.BOM_UTF8):
                raise InputError(
                    f"{self.name}: begins with the byte order mark of UTF-8 and is therefore not {self.encoding}; "
                    "leave --encoding out"
                )
            yield from self._line_by_line(chain([first] if first else [], lines))
        else:
            yield from self._strict(chain([first], lines))

    def _line_by_line(self, lines: Iterable[bytes]) -> Iterator[str]:
        """Lines of an encoding in which a byte of 10 is the end of a line."""
        may_be_utf_8 = True
        for line in lines:
            if may_be_utf_8 and not line.isascii():
                may_be_utf_8 = self._compare(line)
            try:
                text = line.decode(self.encoding)
            except UnicodeError:
                text = line.decode("ascii", "surrogateescape")
            yield text

    def _compare(self, line: bytes) -> bool:
        """Whether a line beyond ASCII is UTF-8; the first character beyond ASCII is noted for ``misread``."""
        try:
            text = line.decode(UTF_8)
        except UnicodeDecodeError:
            self.misread = ""
            return False
        if not self.misread:
            character = next(character for character in text if not character.isascii())
            read = character.encode().decode(self.encoding, "replace")
            self.misread = f"--encoding {self.encoding} reads {read!r} where UTF-8 has {character!r}"
        return True

    def _strict(self, lines: Iterable[bytes]) -> Iterator[str]:
        """Lines of an encoding in which a byte of 10 need not be the end of a line."""
        decoder = codecs.getincrementaldecoder(self.encoding)()
        rest, number = "", 0
        try:
            for part in chain(lines, [b""]):
                *whole, rest = (rest + decoder.decode(part, not part)).split("\n")
                for line in whole:
                    number += 1
                    yield f"{line}\n".removeprefix("\ufeff" if number == 1 else "")
        except UnicodeError as error:
            raise InputError(f"{self.name}:{number + 1}: is not {self.encoding}; name another --encoding") from error
        if rest := rest.removeprefix("" if number else "\ufeff"):
            yield rest


def _extends_ascii(encoding: str) -> bool:
    """Whether lines can be split in bytes: ASCII stands for itself, and other bytes can be kept through a text."""
    try:
        return (
            _ASCII.decode(encoding) == _ASCII.decode("ascii")
            and "\udc81".encode(encoding, "surrogateescape") == b"\x81"
        )
    except UnicodeError:
        return False


def is_valid_utf8(text: str) -> bool:
    """Whether a text can be written as UTF-8."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False
