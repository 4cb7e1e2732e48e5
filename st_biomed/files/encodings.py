"""The encoding of a text file: UTF-8, the one of its first bytes, or a named code page."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.gzipped import open_decompressed, plain_name
from st_biomed.records import Tally

UTF_8 = "utf-8"
WINDOWS = "cp1252"
"""The default of spreadsheets and R on Windows in Western Europe and the Americas."""

_UTF_8_NAMES = (UTF_8, "utf-8-sig")
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_BLOCK = 1 << 16


def resolve_encoding(path: Path, asked: str, tally: Tally, *, fallback: str = "") -> str:
    """The encoding of a file; the tally gets a note if it is not UTF-8.

    Args:
        path: The file, plain or gzipped.
        asked: The user's option; empty to detect the encoding: UTF-8, or UTF-16 if the file begins with its byte order
            mark, or else the fallback.
        fallback: The code page of the source's official files; empty if they are UTF-8. A file with letters in
            UTF-8 and a few invalid bytes is damaged, and not in the code page.

    Raises:
        InputError: An encoding that Python does not know. The first line that cannot be decoded, if the encoding is
            detected and there is no fallback or the file is damaged. A file that begins with the byte order mark of
            UTF-8, if another encoding is set.
    """
    with open_decompressed(path) as (stream, _):
        start = stream.read(3)
    encoding, why = (known_encoding(asked), "") if asked else _recognized(path, start, fallback)
    if start == codecs.BOM_UTF8 and encoding != UTF_8:
        raise InputError(f"{path}: begins with the byte order mark of UTF-8 and is therefore not {encoding}")
    if encoding != UTF_8:
        tally.note(f"{plain_name(path)} was read as {encoding}{why}")
    return encoding


def undecodable_line(path: Path, encoding: str) -> int:
    """The first line that is not text in an encoding; 0 if all lines are."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    with open_decompressed(path) as (stream, _):
        for block in _blocks(stream):
            try:
                line += decoder.decode(block, not block).count("\n")
            except UnicodeDecodeError as error:
                return line + error.object[: error.start].count(b"\n")
            except UnicodeError:
                return line
    return 0


def undecodable(path: Path, encoding: str) -> InputError:
    """The error for a file in another encoding than expected."""
    utf_8 = codecs.lookup(encoding).name in _UTF_8_NAMES
    expected, advice = ("UTF-8", "convert the file") if utf_8 else (encoding, "set encoding= to another")
    return InputError(f"{path}:{undecodable_line(path, encoding)}: is not {expected}; {advice}")


def known_encoding(encoding: str, name: str = "encoding") -> str:
    """An encoding of text, with one name for UTF-8.

    Args:
        encoding: Its name.
        name: The option, for errors.

    Raises:
        InputError: The encoding does not exist.
    """
    try:
        io.TextIOWrapper(io.BytesIO(), encoding)  # rejects base64 and other codecs that are not for text
    except (LookupError, ValueError) as error:
        raise InputError(f"{name}: {encoding!r} is unknown to Python; allowed are e.g. 'utf-8' or 'cp1252'") from error
    return UTF_8 if codecs.lookup(encoding).name in _UTF_8_NAMES else encoding


def _recognized(path: Path, start: bytes, fallback: str) -> tuple[str, str]:
    """An encoding, and the reason for it: the first bytes of the file, or all of them."""
    if start[:2] in _MARKS:
        return _MARKS[start[:2]], ", which its byte order mark says"
    line = undecodable_line(path, UTF_8)
    if not line:
        return UTF_8, ""
    if fallback and not _has_letters_in_utf_8(path):
        return fallback, f", since line {line} is not UTF-8"
    advice = "convert the file" if fallback else f"set another encoding, e.g. encoding={WINDOWS}"
    raise InputError(f"{path}:{line}: is not UTF-8; {advice}")


def _has_letters_in_utf_8(path: Path) -> bool:
    """Whether a file has characters beyond ASCII in UTF-8."""
    decoder = codecs.getincrementaldecoder(UTF_8)("ignore")
    with open_decompressed(path) as (stream, _):
        return any(not decoder.decode(block).isascii() for block in _blocks(stream))


def _blocks(stream: io.BufferedIOBase) -> Iterator[bytes]:
    """The bytes of a stream; the last block is empty."""
    while block := stream.read(_BLOCK):
        yield block
    yield block
