"""How the bytes of a text file become characters: UTF-8, what its first bytes say, or the code page that is named."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.gzipped import opened, plain_name
from st_biomed.records import Tally

UTF_8 = "utf-8"
WINDOWS = "cp1252"
"""What spreadsheets and R on Windows write by default in Western Europe and the Americas."""

_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_BLOCK = 1 << 16


def settled(path: Path, asked: str, tally: Tally, *, fallback: str = "") -> str:
    """The encoding that a file is to be read with; the tally gets a note where it is another than UTF-8.

    Args:
        path: The file, plain or gzipped.
        asked: The option of a person; empty to recognize the encoding, which is UTF-8, or UTF-16 if the file begins
            with its byte order mark, or else the fallback.
        tally: Gets the note.
        fallback: The code page of the source's official files; empty where they are UTF-8. A file with letters in
            UTF-8 and a few bytes that are not is a damaged one, and not in the code page.

    Raises:
        InputError: An encoding that Python does not know. The first line that cannot be decoded, if the encoding was
            to be recognized and there is no fallback, or the file is a damaged one. A file that begins with the byte
            order mark of UTF-8, if it is to be read as another.
    """
    with opened(path) as (stream, _):
        start = stream.read(3)
    encoding, why = (_known(asked), "") if asked else _recognized(path, start, fallback)
    if start == codecs.BOM_UTF8 and encoding != UTF_8:
        raise InputError(f"{path}: begins with the byte order mark of UTF-8 and is therefore not {encoding}")
    if encoding != UTF_8:
        tally.note(f"{plain_name(path)} was read as {encoding}{why}")
    return encoding


def undecodable_line(path: Path, encoding: str) -> int:
    """The first line that is no text in an encoding; 0 where all of them are."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    with opened(path) as (stream, _):
        for block in _blocks(stream):
            try:
                line += decoder.decode(block, not block).count("\n")
            except UnicodeDecodeError as error:
                return line + error.object[: error.start].count(b"\n")
            except UnicodeError:
                return line
    return 0


def undecodable(path: Path, encoding: str) -> InputError:
    """The error for a file that turned out to be in another encoding than the one it is read with."""
    utf_8 = codecs.lookup(encoding).name in (UTF_8, "utf-8-sig")
    expected, advice = ("UTF-8", "convert the file") if utf_8 else (encoding, "encoding= names another")
    return InputError(f"{path}:{undecodable_line(path, encoding)}: is not {expected}; {advice}")


def _known(encoding: str) -> str:
    """An encoding of text, UTF-8 by one name.

    Raises:
        InputError: There is none of this name.
    """
    try:
        io.TextIOWrapper(io.BytesIO(), encoding)  # refuses base64 and its like, which are codecs, too, but not of text
    except (LookupError, ValueError) as error:
        raise InputError(
            f"encoding: {encoding!r} is unknown to Python; allowed are e.g. 'utf-8' or 'cp1252'"
        ) from error
    return UTF_8 if codecs.lookup(encoding).name == UTF_8 else encoding


def _recognized(path: Path, start: bytes, fallback: str) -> tuple[str, str]:
    """An encoding, and how it was told: by the first bytes of the file, or by all of them."""
    if start[:2] in _MARKS:
        return _MARKS[start[:2]], ", which its byte order mark says"
    line = undecodable_line(path, UTF_8)
    if not line:
        return UTF_8, ""
    if fallback and not _has_letters_in_utf_8(path):
        return fallback, f", since line {line} is not UTF-8"
    advice = "convert the file" if fallback else f"encoding= names another, e.g. encoding={WINDOWS}"
    raise InputError(f"{path}:{line}: is not UTF-8; {advice}")


def _has_letters_in_utf_8(path: Path) -> bool:
    """Whether a file has characters beyond ASCII that are written as UTF-8 writes them."""
    decoder = codecs.getincrementaldecoder(UTF_8)("ignore")
    with opened(path) as (stream, _):
        return any(not decoder.decode(block).isascii() for block in _blocks(stream))


def _blocks(stream: io.BufferedIOBase) -> Iterator[bytes]:
    """The bytes of a stream; the last block is empty."""
    while block := stream.read(_BLOCK):
        yield block
    yield block
