"""The strings in a file, and whether its content matches its name."""

from __future__ import annotations

import io
import json
import lzma
import pickletools
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

READ_BYTES = 5_000_000
"""Limit in bytes for reading files that are rejected anyway, and for unpacking an archive."""

_WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
_ENCODINGS = (*_WIDE, "cp1252", "gb18030", "big5", "shift_jis", "euc_jp", "euc_kr")
"""Possible encodings of text that is not UTF-8."""

_LATIN = rb"[\x20-\x7e\xa0-\xff]"
_WIDE_RUNS = {
    encoding: re.compile(rb"(?:%b){4,}" % (before + _LATIN + after))
    for encoding, before, after in zip(_WIDE, (b"", rb"\0", b"", rb"\0\0\0"), (rb"\0", b"", rb"\0\0\0", b""))
}
_DAMAGED = (
    RuntimeError,
    NotImplementedError,
    OSError,
    EOFError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
"""Exceptions for locked or damaged archives; no archive may be published."""

_CONTROL = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
_RUN = re.compile("[^\x00-\x08\x0e-\x1f\x7f\ufffd]{4,}")


def fault_of(path: Path) -> str:
    """The reason that a file cannot be searched completely; empty if it can be.

    A ``.safetensors`` file must be a header and the tensors that it describes, without gaps or trailing bytes. Any
    other file must be UTF-8 text without a zero byte, and JSON if its name says so.
    """
    if path.suffix == ".safetensors":
        try:
            with safe_open(path, "np"):
                return ""
        except SafetensorError as error:
            return f"is not a whole safetensors file and nothing else ({error})"
    content = path.read_bytes()
    if not _is_text(content):
        return "is not UTF-8 text, so it cannot be searched"
    try:
        if path.suffix == ".json":
            json.loads(content)
    except ValueError as error:
        return f"is not JSON ({error})"
    except RecursionError:
        return "is not readable JSON (nested too deep)"
    return ""


def strings_in(path: Path) -> list[str]:
    """The strings in a file.

    JSON is parsed (keys and values). Pickles, archives and those of ``torch.save`` are read without being executed.
    The text of safetensors is in the header. Any other file is one string. A file that is not UTF-8 is read in every
    possible encoding; of a binary file, the runs of printable characters are read. Strings that a binary block stores
    without separators are not separated.
    """
    if path.suffix == ".safetensors" and not fault_of(path):
        with path.open("rb") as file:
            return list(json_strings(file.read(int.from_bytes(file.read(8), "little")).decode("utf-8", "replace")))
    strings = list(_strings_of(path.name, path.read_bytes()))
    if zipfile.is_zipfile(path):
        strings += _archived(path)
    return strings


def json_strings(text: str) -> Iterator[str]:
    """All keys and string values of a JSON text; the text itself if it is not JSON."""
    try:
        value = json.loads(text, object_pairs_hook=list)  # pairs: a repeated key hides nothing
    except (ValueError, RecursionError):
        yield text
        return
    waiting: list[Any] = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, (list, tuple)):
            waiting.extend(reversed(value))


def decodings(content: bytes) -> list[str]:
    """The possible texts of some bytes.

    Args:
        content: A file's content, or a part of it.

    Returns:
        UTF-8. If the bytes are not UTF-8, or contain a zero byte, also every other encoding in which they are text
        from beginning to end, and the runs of two- and four-byte characters among them.
    """
    text = content.decode("utf-8", "replace")
    if _is_text(content):
        return [text]
    texts = ["\n".join(_RUN.findall(text))]
    for encoding in _ENCODINGS:
        try:
            if not _CONTROL.search(other := content.decode(encoding)):
                texts.append(other.replace("\0", "\n"))
        except UnicodeDecodeError:
            continue
    return texts + [run.decode(name) for name, runs in _WIDE_RUNS.items() for run in runs.findall(content)]


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def _archived(path: Path) -> list[str]:
    """The names and strings of an archive's members, as far as they can be unpacked."""
    strings: list[str] = []
    left = READ_BYTES
    with suppress(*_DAMAGED), zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            strings.append(member.filename)
            with suppress(*_DAMAGED), archive.open(member) as file:
                content = file.read(left)
                left -= len(content)
                strings += _strings_of(member.filename, content)
    return strings


def _strings_of(name: str, content: bytes) -> Iterator[str]:
    if name.endswith(".json") and _is_text(content):
        yield from json_strings(content.decode("utf-8"))
    elif content.startswith(b"\x80"):
        yield from _pickled_strings(content)
    else:
        yield from decodings(content)


def _pickled_strings(content: bytes) -> Iterator[str]:
    stream = io.BytesIO(content)
    while (start := stream.tell()) < len(content):  # older archives of torch are several pickles in a row
        try:
            for _, argument, _ in pickletools.genops(stream):
                if isinstance(argument, str):
                    yield argument
                    argument = argument.encode("latin-1", "replace")  # the bytes of the older protocols
                if isinstance(argument, (bytes, bytearray)):
                    yield from decodings(bytes(argument))
        except ValueError:
            yield from decodings(content[start:])
            return
