"""Packets of Orphanet in files, and the lists within a packet, which have several forms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError
from st_biomed.files.delimited import check_file, read_lines
from st_biomed.files.gzipped import matching
from st_biomed.readers._json import field, json_object


def read_packets(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """``file:line`` and content of each packet in a file of lines, or in a folder.

    Raises:
        InputError: With file and line: no JSON, no packet. Also: no such file.
    """
    if path.is_dir():
        for file in matching(path, "ORPHApacket_*.json"):
            text = "\n".join(text for _, text in read_lines(file))
            yield f"{file}:1", _content(f"{file}:1", json_object(file, text))
        return
    for line, text in read_lines(check_file(path)):
        if text.strip():
            yield f"{path}:{line}", _content(f"{path}:{line}", json_object(path, text, line))


def _content(where: str, document: dict[str, Any]) -> dict[str, Any]:
    packet = field(where, document, "Orphapacket", dict)
    if not packet:
        raise InputError(f"{where}: has no 'Orphapacket'; is it a packet of Orphanet?")
    return packet


def listed_below(where: str, holder: dict[str, Any], key: str, single: str) -> list[Any]:
    """The entries of a list below a key, in any form of the packets: ``[{single: x}]``, ``{single: [x]}``, ``[x]``."""
    value = holder.get(key)
    entries = []
    for wrapped in value if isinstance(value, list) else [] if value is None else [value]:
        if not isinstance(wrapped, dict):
            raise InputError(f"{where}: {key!r} must contain objects, found {str(wrapped)[:40]!r}")
        inner = wrapped.get(single, wrapped)
        entries += inner if isinstance(inner, list) else [inner]
    return entries


def objects_below(where: str, holder: dict[str, Any], key: str, single: str) -> list[dict[str, Any]]:
    """Like :func:`listed_below`, for objects only."""
    entries = listed_below(where, holder, key, single)
    for entry in entries:
        if not isinstance(entry, dict):
            raise InputError(f"{where}: {key!r} must contain objects, found {str(entry)[:40]!r}")
    return entries


def texts_below(where: str, holder: dict[str, Any], key: str, single: str) -> list[str]:
    """Like :func:`listed_below`, for texts only, stripped."""
    entries = listed_below(where, holder, key, single)
    for entry in entries:
        if not isinstance(entry, str):
            raise InputError(f"{where}: {single!r} must be a text, found {str(entry)[:40]!r}")
    return [entry.strip() for entry in entries]


def text_of(where: str, holder: dict[str, Any], key: str) -> str:
    """A text of a packet, stripped; empty if it is missing."""
    return field(where, holder, key, str).strip()
