"""Saved folders with a JSON header that has the size and checksum of each file, and its own checksum.

The header is written last. Loading detects a file that is truncated, changed, missing or from another folder,
including the header, before anything is read from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xxhash

from st_biomed.errors import InputError
from st_biomed.files import replace_text

_OWN, _FILES, _KIND = "checksum", "files", "xxh3_128"
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Seal:
    """The way in which folders of one kind are sealed.

    Attributes:
        format: The number of the format, increased if older folders can no longer be read.
        made_by: The command that writes such a folder, for messages.
        remedy: The remedy for a damaged folder, for messages.
    """

    header: str
    format: int
    made_by: str
    remedy: str

    def write(self, folder: Path, content: Mapping[str, Any], files: Iterable[str]) -> dict[str, Any]:
        """Write the header of a folder whose other files exist.

        Args:
            content: Further contents of the header.
            files: Their paths in the folder, with ``/``.

        Returns:
            The contents of the header, without its own checksum.
        """
        described = {
            name: {"bytes": (folder / name).stat().st_size, _KIND: checksum_of(folder / name)} for name in files
        }
        record = {"format": self.format, **content, _FILES: described}
        replace_text(folder / self.header, sealed(record))
        return record

    def read(self, folder: Path) -> dict[str, Any]:
        """The contents of a header.

        Raises:
            InputError: The header is missing, damaged, or of another format.
        """
        path = folder / self.header
        if not path.is_file():
            what = "no such folder" if not folder.exists() else f"no {self.header} in it"
            raise InputError(f"{folder}: {what}; expected a folder written by {self.made_by}")
        record = read_sealed(path, self.remedy, self.format)
        if not isinstance(record.get(_FILES), dict):
            raise InputError(f"{path}: damaged (it lists no files); {self.remedy}")
        return record

    def check(
        self, folder: Path, record: Mapping[str, Any], files: Iterable[str], *, sizes_only: bool = False
    ) -> None:
        """Compare files with their entries in the header.

        Args:
            record: The result of :meth:`read`.
            files: The required files; a file that the header does not list does not belong to the folder.
            sizes_only: Whether to compare only sizes and not read the contents.

        Raises:
            InputError: With the first file that is missing, truncated, changed, or of another folder.
        """
        for name in files:
            path = folder / name
            if not isinstance(expected := record[_FILES].get(name), dict):
                raise InputError(
                    f"{folder / self.header}: does not list {name}, so they do not belong together; {self.remedy}"
                )
            if not path.is_file():
                raise InputError(f"{path}: is missing; {self.remedy}")
            n_bytes, size = path.stat().st_size, expected.get("bytes")
            if n_bytes != size:
                what = "truncated" if isinstance(size, int) and n_bytes < size else "changed"
                raise InputError(f"{path}: {what}, has {n_bytes:,} bytes and had {size:,}; {self.remedy}")
            if not sizes_only and checksum_of(path) != expected.get(_KIND):
                raise InputError(f"{path}: damaged or from another folder (its checksum differs); {self.remedy}")


def sealed(content: Mapping[str, Any], *, indent: int | None = 1) -> str:
    """JSON that has its own checksum and ends with a line end.

    Args:
        content: The contents; values of types unknown to JSON are converted to text.
        indent: Indentation of the lines; ``None`` for a single line.
    """
    content = json.loads(
        json.dumps(content, default=str)
    )  # as it will be read: tuples become lists, keys become strings
    return json.dumps({**content, _OWN: _checksum(content)}, indent=indent, ensure_ascii=False) + "\n"


def has_seal(content: Mapping[str, Any]) -> bool:
    """Whether some contents have a checksum, correct or not."""
    return _OWN in content


def unsealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The contents without their checksum.

    Raises:
        ValueError: The checksum is not that of the content.
    """
    record = dict(content)
    if record.pop(_OWN, None) != _checksum(record):
        raise ValueError("its checksum is not that of its content")
    return record


def read_sealed(path: Path, remedy: str, format: int | None = None) -> dict[str, Any]:
    """The contents that :func:`sealed` was given.

    Args:
        format: The required ``format``; ``None`` for files without one.

    Raises:
        InputError: It is damaged, cannot be read, or of another format.
    """
    try:
        record = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: damaged ({type(error).__name__}); {remedy}") from error
    if not isinstance(record, dict):
        raise InputError(f"{path}: damaged (not a JSON object); {remedy}")
    if format is not None and record.get("format") != format:
        raise InputError(
            f"{path}: is of format {record.get('format', 'unknown')!s:.20}, this version reads {format}; {remedy}"
        )
    try:
        return unsealed(record)
    except ValueError as error:
        raise InputError(f"{path}: damaged or edited ({error}); {remedy}") from None


def checksum(content: bytes) -> str:
    """XXH3 (128 bits)."""
    return xxhash.xxh3_128_hexdigest(content)


def checksum_of(path: Path) -> str:
    """XXH3 (128 bits) of a file: detects damage in a fraction of the time of SHA-256 (`benchmarks/checksums.py`)."""
    digest = xxhash.xxh3_128()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _checksum(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return checksum(text.encode())
