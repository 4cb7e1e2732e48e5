"""A terminology on disk: one parquet file per table and a JSON header; and the digest that names its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from st_biomed.errors import InputError
from st_biomed.files import check_output, read_one_version, replacing
from st_biomed.files.sealed import Seal
from st_biomed.records import SourceInfo, Tally

TABLES = ("concepts", "texts", "terms", "parents", "relations", "types", "xrefs", "definitions")
HEADER = "terminology.json"
_FILES = [f"{name}.parquet" for name in TABLES]
_SEAL = Seal(HEADER, 4, "Terminology.save or `st-biomed read`", "read or save the terminology again")
_OPTIONAL = ("xrefs", "definitions")
"""Tables that the digest leaves out where they have no row, so that a terminology without them keeps its digest."""

_DISTINCT = ("code", "text", "target")
"""Columns whose values hardly repeat: parquet would build a dictionary of nearly all of them, in vain."""

_DIGESTED = 1 << 20  # rows that go into the digest at a time
_DESCRIBED = ("name", "title", "version", "licence", "url", "redistributable")
"""The words for a source in the digest; another word would make another digest of the same content."""


def check_folder(folder: str | Path, *, overwrite: bool = True) -> Path:
    """A folder that a terminology may be written to: new, empty, or holding one.

    Raises:
        InputError: See :func:`~st_biomed.files.check_output`.
    """
    own = {HEADER, *_FILES}
    return check_output(folder, what="a terminology", is_own=own.__contains__, marker=HEADER, overwrite=overwrite)


def write_tables(
    folder: str | Path,
    tables: Mapping[str, pa.Table],
    digest: str,
    sources: Mapping[str, SourceInfo],
    tallies: Mapping[str, Tally],
    readings: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Write a terminology, which replaces the one in the folder once it is whole.

    Raises:
        InputError: See :func:`check_folder`; or another process writes to the folder.
    """
    folder = check_folder(folder)
    header = {
        "digest": digest,
        "sources": [info.to_dict() for info in sources.values()],
        "tallies": {stage: tally.to_dict() for stage, tally in tallies.items()},
        "readings": list(readings),
    }
    with replacing(folder) as draft:
        for name in TABLES:
            repeating = [field.name for field in tables[name].schema if field.name not in _DISTINCT]
            pq.write_table(tables[name], draft / f"{name}.parquet", use_dictionary=repeating)
        _SEAL.write(draft, header, _FILES)
    return folder


def read_tables(
    folder: str | Path,
) -> tuple[dict[str, pa.Table], str, dict[str, SourceInfo], dict[str, Tally], list[dict[str, Any]]]:
    """Tables, digest, sources, tallies and readings of a saved terminology.

    Raises:
        InputError: Nothing saved there, another format, or a damaged file.
    """
    return read_one_version(folder, _read_tables)


def _read_tables(
    folder: Path,
) -> tuple[dict[str, pa.Table], str, dict[str, SourceInfo], dict[str, Tally], list[dict[str, Any]]]:
    header = _SEAL.read(folder)
    _SEAL.check(folder, header, _FILES)
    try:
        sources = {info["name"]: SourceInfo(**info) for info in header["sources"]}
        tallies = {stage: Tally.from_dict(counts) for stage, counts in header["tallies"].items()}
        tables = {name: pq.read_table(folder / f"{name}.parquet") for name in TABLES}
        return tables, header["digest"], sources, tallies, list(header["readings"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder}: cannot be read as a terminology ({error}); {_SEAL.remedy}") from error


def saved_digest(folder: str | Path) -> str:
    """The digest of a saved terminology, by its header alone; of the tables, only the sizes are compared.

    Raises:
        InputError: Nothing saved there, another format, or a file that is missing or of another size.
    """
    header = _SEAL.read(Path(folder))
    _SEAL.check(Path(folder), header, _FILES, sizes_only=True)
    return str(header["digest"])


def digest_of(tables: Mapping[str, pa.Table], sources: Mapping[str, SourceInfo]) -> str:
    """SHA-256 of the tables and of the sources' descriptions; those of ``_OPTIONAL`` count only where they have rows."""
    sha = hashlib.sha256()
    for name in TABLES:
        table = tables[name]
        if name in _OPTIONAL and not table.num_rows:
            continue
        sha.update(f"{name}:{table.num_rows}".encode())
        for column in table.column_names:
            sha.update(column.encode())
            for chunk in table[column].chunks:
                ended = _ended(chunk.dictionary) if pa.types.is_dictionary(chunk.type) else None
                for start in range(0, len(chunk), _DIGESTED):
                    part = chunk[start : start + _DIGESTED]
                    sha.update(_content(part if ended is None else ended.take(part.indices), ended is not None))
    described = [dict(zip(_DESCRIBED, astuple(info))) for info in sources.values()]
    sha.update(json.dumps(described).encode())
    return sha.hexdigest()


def _ended(strings: pa.Array) -> pa.Array:
    """The strings with a zero byte after each."""
    return pc.binary_join_element_wise(strings, "", "\0")


def _content(values: pa.Array, is_ended: bool) -> bytes | memoryview:
    """Integers as little-endian int32, strings in UTF-8 with a zero byte after each."""
    if pa.types.is_integer(values.type):
        return values.to_numpy().astype("<i4").tobytes()
    values = values if is_ended else _ended(values)
    _, offsets, data = values.buffers()
    if data is None:
        return b""
    ends = np.frombuffer(offsets, dtype=np.int32)[values.offset : values.offset + len(values) + 1]
    return memoryview(data)[ends[0] : ends[-1]]
