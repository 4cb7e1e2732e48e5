"""The snapshot files of RF2 folders, and which of their rows are current."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from st_biomed.errors import InputError
from st_biomed.files.column_blocks import ENCODED, column_blocks
from st_biomed.files.delimited import DIALECTS, read_header
from st_biomed.files.gzipped import plain_name
from st_biomed.readers._columns import CountedBlocks, filter_rows
from st_biomed.readers._unpacked import unpacked
from st_biomed.readers.snomed.identifiers import CONCEPTS, DESCRIPTIONS, RELATIONSHIPS
from st_biomed.readers.snomed.versions import Versions
from st_biomed.records import Tally

# FileType_ContentType_ContentSubType_CountryNamespace_VersionDate.FileExtension
_NAME = re.compile(
    r"x?(?:sct2|der2)_(?P<content>[A-Za-z]+)_(?P<summary>[A-Za-z0-9]*?)(?P<release>Snapshot|Full|Delta)(?:-[A-Za-z-]+)?_"
    r"(?P<edition>[A-Z]{2,3}|(?:[A-Z]{2})?\d{7})_(?P<date>\d{8})\.txt"
)
_CONTENT = {
    "Concept": (r"Concept", r""),
    "Description": (r"Description", r""),
    "TextDefinition": (r"TextDefinition", r""),
    "Relationship": (r"Relationship", r""),
    "StatedRelationship": (r"StatedRelationship", r""),
    "Language": (r"cRefset", r"Language"),
    "ExtendedMap": (r"ii\w*Refset", r"(Extended|Complex)Map"),
    "SimpleMap": (r"sRefset", r"Map(?!.*ToSCT)"),
}
"""Kind to its content type, and to what its summary contains: editions put their names beside it (``LanguageSpanishExtension``)."""

_COMPONENTS = {
    "Concept": CONCEPTS,
    "Description": DESCRIPTIONS,
    "TextDefinition": DESCRIPTIONS,
    "Relationship": RELATIONSHIPS,
    "StatedRelationship": RELATIONSHIPS,
}
"""Kind to what its identifiers stand for; the rows of the others, reference sets, have UUIDs."""

_NUMBERS = frozenset(
    (
        *(
            "id",
            "effectiveTime",
            "active",
            "conceptId",
            "typeId",
            "refsetId",
            "referencedComponentId",
            "acceptabilityId",
        ),
        *("sourceId", "destinationId", "characteristicTypeId", "mapGroup"),
    )
)
_PLAIN = ("term",)


class ActiveRows(NamedTuple):
    """Active rows of a file.

    Attributes:
        columns: Column name to its cells: int64 ``[N]``, or an arrow array of strings.
        at: Where each row stands among all rows of its kind, ``[N]``.
    """

    columns: dict[str, np.ndarray | pa.Array]
    at: np.ndarray

    def numbers(self, column: str) -> np.ndarray:
        return np.asarray(self.columns[column])

    def strings(self, column: str) -> pa.Array:
        return self.columns[column]


class Release:
    """The files by kind, and the tally of their rows.

    Attributes:
        version: Editions and dates, ``INT_20240101``.

    Args:
        folders: Folders, searched with all below them.

    Raises:
        InputError: No such folder, or an archive in place of it; no snapshot of concepts or of descriptions.
    """

    def __init__(self, folders: Sequence[Path], tally: Tally) -> None:
        self.tally, self._folders = tally, folders
        self._files: dict[str, list[Path]] = {kind: [] for kind in _CONTENT}
        self._versions: dict[str, Versions] = {}
        editions: set[str] = set()
        others: set[str] = set()
        files = {file.resolve(): file for folder in reversed(folders) for file in _text_files(folder)[::-1]}
        for file in reversed(files.values()):
            name = _NAME.fullmatch(plain_name(file))
            if not name:
                continue
            if name["release"] != "Snapshot":
                others.add(name["release"])
                continue
            for kind, (content, summary) in _CONTENT.items():
                if re.fullmatch(content, name["content"]) and re.search(summary, name["summary"]):
                    self._files[kind].append(file)
                    editions.add(f"{name['edition']}_{name['date']}")
        self.version = ", ".join(sorted(editions))
        for kind in ("Concept", "Description"):
            self.need(kind, f" (only {' and '.join(sorted(others))} files, and a snapshot is read)" if others else "")

    def has(self, kind: str) -> bool:
        return bool(self._files[kind])

    def need(self, kind: str, why: str) -> None:
        """Reject a missing kind of file.

        Raises:
            InputError: There is none.
        """
        if not self.has(kind):
            name = "sct2_" + kind if kind in _COMPONENTS else f"der2_*Refset_{kind}"
            between = "_" if kind in _COMPONENTS else ""
            raise InputError(f"{self._folders[0]}: no {name}{between}Snapshot file in it or below{why}")

    def rows(self, kind: str, *columns: str) -> Iterator[ActiveRows]:
        """The active rows of all files of a kind, a block at a time; all rows are tallied, and noted by file.

        Args:
            kind: A key of the table of contents.
            *columns: The columns to read besides ``id``.

        Raises:
            InputError: With file and line: a missing column, a malformed row, a truncated last line, an id, time or
                active of another form.
        """
        versions = self._versions[kind] = Versions()
        types = {name: _type(name, kind) for name in ("id", "effectiveTime", "active", *columns)}
        for file in self._files[kind]:
            names = read_header(file, dialect="tsv")
            for name in types:
                if names.count(name) != 1:
                    raise InputError(f"{file}:1: {names.count(name)} columns are called {name!r}, found {names}")
            read = column_blocks([file], str(file), names, types, DIALECTS["tsv"], header=True)
            blocks = CountedBlocks(read, kind, self.tally)
            for block in blocks:
                start, active = versions.add(file, block, _COMPONENTS.get(kind))
                at = np.flatnonzero(active)
                wanted = {name: block[name] for name in ("id", *columns) if not _is_member(name, kind)}
                yield ActiveRows({name: _taken(column, active) for name, column in wanted.items()}, start + at)
            self.tally.note(f"{plain_name(file)}: {blocks.n_rows + blocks.n_blank:,} rows read")

    def identifiers(self, kind: str) -> np.ndarray:
        """The ids of all rows of a kind that were read, current or not, int64."""
        return self._versions[kind].identifiers()

    def current(self, kind: str) -> np.ndarray:
        """Whether each row of a kind is active and the latest of its component, boolean by row; call it when all are read.

        Rows that another one replaces and, among the others, inactive ones are counted as dropped.
        """
        versions = self._versions.pop(kind)
        latest, active = versions.latest(), versions.active()
        self.tally.drop(f"{kind}: replaced by a later or equal row of the same id", int((~latest).sum()))
        self.tally.drop(f"{kind}: inactive", int((latest & ~active).sum()))
        return latest & active

    def filter_rows(self, kind: str, size: int, conditions: dict[str, np.ndarray | None]) -> np.ndarray:
        """As :func:`~st_biomed.readers._columns.filter_rows`."""
        return filter_rows(self.tally, kind, size, conditions)


def _text_files(folder: Path) -> list[Path]:
    """Text files in a folder and all below it, plain or gzipped, sorted; the plain one if both exist."""
    unpacked(folder, "unpacked folder of a SNOMED CT release (RF2)")
    files = {file.with_name(plain_name(file)): file for file in sorted(folder.rglob("*.txt.gz"), reverse=True)}
    files.update((file, file) for file in folder.rglob("*.txt"))
    return [files[plain] for plain in sorted(files)]


def _is_member(column: str, kind: str) -> bool:
    return column == "id" and kind not in _COMPONENTS


def _type(column: str, kind: str) -> pa.DataType:
    if column in _PLAIN or _is_member(column, kind):
        return pa.string()
    return pa.int64() if column in _NUMBERS else ENCODED


def _taken(column: pa.Array, mask: np.ndarray) -> np.ndarray | pa.Array:
    if pa.types.is_integer(column.type):
        return column.to_numpy()[mask]
    return column.filter(pa.array(mask))
