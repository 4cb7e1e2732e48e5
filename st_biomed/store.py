"""A terminology on disk: one parquet file per table and a JSON header; and the digest that names its content."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from st_biomed.errors import InputError
from st_biomed.readers.records import SourceInfo, Tally

TABLES = ("concepts", "texts", "terms", "parents", "relations", "types", "xrefs")
FORMAT = 2
HEADER = "terminology.json"
_DIGESTED = 1 << 20  # rows that go into the digest at a time


def check_folder(folder: str | Path, *, overwrite: bool = True) -> Path:
    """A folder that a terminology may be written to: new, empty, or holding one.

    Args:
        folder: The folder.
        overwrite: Whether it may hold one already.

    Raises:
        InputError: It is a file or below one, or holds something else, or a terminology that is not to be overwritten.
    """
    folder = Path(folder)
    if (file := next((each for each in (folder, *folder.parents) if each.is_file()), None)) is not None:
        raise InputError(f"{file}: is a file, a folder for the terminology is needed")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / HEADER).is_file():
        raise InputError(f"{folder}: holds files that are not a terminology; choose an empty folder")
    if not overwrite and (folder / HEADER).is_file():
        raise InputError(f"{folder}: holds a terminology already; --overwrite replaces it")
    own = {HEADER, *(f"{name}.parquet" for name in TABLES)}
    if (folder / HEADER).is_file() and (other := sorted({path.name for path in folder.iterdir()} - own)):
        raise InputError(f"{folder}: holds {other[0]} besides the terminology, which would be lost; move it elsewhere")
    return folder


def check_parent(file: str | Path) -> Path:
    """A file that may be written: nothing above it is a file, and it is no folder.

    Raises:
        InputError: With what is in the way.
    """
    file = Path(file)
    if file.is_dir():
        raise InputError(f"{file}: is a folder, a file to write is needed")
    if (above := next((each for each in file.parents if each.is_file()), None)) is not None:
        raise InputError(f"{above}: is a file, a folder for {file.name} is needed")
    return file


def write_tables(
    folder: str | Path,
    tables: Mapping[str, pa.Table],
    digest: str,
    sources: Mapping[str, SourceInfo],
    tallies: Mapping[str, Tally],
    readings: Sequence[Mapping[str, Any]] = (),
) -> Path:
    """Write a terminology: all of it beside the folder, which it then replaces at once, so that no half is left there.

    Raises:
        InputError: See :func:`check_folder`.
    """
    folder = check_folder(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    for stale in folder.parent.glob(f".{folder.name}.*.partial"):  # of a process that was killed
        shutil.rmtree(stale)
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".partial", dir=folder.parent))
    try:
        for name in TABLES:
            pq.write_table(tables[name], partial / f"{name}.parquet")
        header = {
            "format": FORMAT,
            "digest": digest,
            "sources": [info.to_dict() for info in sources.values()],
            "tallies": {stage: tally.to_dict() for stage, tally in tallies.items()},
            "readings": list(readings),
        }
        (partial / HEADER).write_text(json.dumps(header, indent=1, ensure_ascii=False) + "\n", "utf-8")
        partial.chmod(0o755)
        if folder.is_dir():
            shutil.rmtree(folder)
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return folder


def read_tables(
    folder: str | Path,
) -> tuple[dict[str, pa.Table], str, dict[str, SourceInfo], dict[str, Tally], list[dict[str, Any]]]:
    """Tables, digest, sources, tallies and readings of a saved terminology.

    Raises:
        InputError: Nothing saved there, another format, or a damaged file.
    """
    folder = Path(folder)
    path = folder / HEADER
    if not path.is_file():
        what = "no such folder" if not folder.exists() else f"no {HEADER} in it"
        raise InputError(f"{folder}: {what}; expected a folder written by Terminology.save or `st-biomed read`")
    try:
        header = json.loads(path.read_text("utf-8"))
        if header["format"] != FORMAT:
            raise InputError(f"{path}: format {header['format']}, this version reads format {FORMAT}")
        sources = {info["name"]: SourceInfo(**info) for info in header["sources"]}
        tallies = {stage: Tally.from_dict(counts) for stage, counts in header["tallies"].items()}
        digest, readings = header["digest"], list(header["readings"])
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: damaged ({type(error).__name__}: {error}); save the terminology again") from error
    tables = {}
    for name in TABLES:
        path = folder / f"{name}.parquet"
        try:
            tables[name] = pq.read_table(path)
        except (OSError, pa.ArrowInvalid) as error:
            what = "is missing" if not path.is_file() else "is damaged"
            raise InputError(f"{path} {what}; save the terminology again") from error
    return tables, digest, sources, tallies, readings


def digest_of(tables: Mapping[str, pa.Table], sources: Mapping[str, SourceInfo]) -> str:
    """SHA-256 of the tables and of the sources' descriptions; cross-references count only where there are some."""
    sha = hashlib.sha256()
    for name in TABLES:
        table = tables[name]
        if name == "xrefs" and not table.num_rows:
            continue
        sha.update(f"{name}:{table.num_rows}".encode())
        for column in table.column_names:
            sha.update(column.encode())
            for chunk in table[column].chunks:
                for start in range(0, len(chunk), _DIGESTED):
                    sha.update(_content(chunk[start : start + _DIGESTED]))
    sha.update(json.dumps([info.to_dict() for info in sources.values()]).encode())
    return sha.hexdigest()


def _content(values: pa.Array) -> bytes | memoryview:
    """Integers as little-endian int32, strings in UTF-8 with a zero byte after each."""
    if pa.types.is_integer(values.type):
        return values.to_numpy().astype("<i4").tobytes()
    if pa.types.is_dictionary(values.type):
        ended = pc.binary_join_element_wise(values.dictionary, "", "\0")
        values = ended.take(values.indices)
    else:
        values = pc.binary_join_element_wise(values, "", "\0")
    _, offsets, data = values.buffers()
    if data is None:
        return b""
    ends = np.frombuffer(offsets, dtype=np.int32)[values.offset : values.offset + len(values) + 1]
    return memoryview(data)[ends[0] : ends[-1]]
