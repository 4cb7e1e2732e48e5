"""The files of a META folder, and what every reading of them shares."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError
from st_biomed.readers.columns import Block, find_parts, read_columns
from st_biomed.readers.records import SourceInfo, Tally

N_NUMBERS = 10**7
"""Concept identifiers have seven digits: a concept's number is below this."""

_IDENTIFIER = r"^C\d{7}$"

# Columns as every release has them; MRFILES.RRF, where it is there, has the last word.
_COLUMNS = {
    "MRCONSO": "CUI LAT TS LUI STT SUI ISPREF AUI SAUI SCUI SDUI SAB TTY CODE STR SRL SUPPRESS CVF",
    "MRREL": "CUI1 AUI1 STYPE1 REL CUI2 AUI2 STYPE2 RELA RUI SRUI SAB SL RG DIR SUPPRESS CVF",
    "MRSTY": "CUI TUI STN STY ATUI CVF",
    "MRCUI": "CUI1 VER REL RELA MAPREASON CUI2 MAPIN",
    "MRSAB": "VCUI RCUI VSAB RSAB SON SF SVER VSTART VEND IMETA RMETA SLC SCC SRL TFR CFR CXTY TTYL ATNL LAT CENC CURVER "
    "SABIN SSN SCIT",
    "MRDOC": "DOCKEY VALUE TYPE EXPL",
    "MRFILES": "FIL DES FMT CLS RWS BTS",
}


class MetaFolder:
    """The files by name, and the tally of their rows.

    Args:
        path: The folder.
        tally: Counts the rows.
        keep_suppressed: Whether rows with SUPPRESS = O, E or Y are kept.

    Raises:
        InputError: There is no MRCONSO.RRF in it.
    """

    def __init__(self, path: Path, tally: Tally, *, keep_suppressed: bool) -> None:
        self.path, self.tally, self.keep_suppressed = path, tally, keep_suppressed
        self._columns = {name: columns.split() for name, columns in _COLUMNS.items()}
        if not self.has("MRCONSO"):
            raise InputError(f"{path}: no MRCONSO.RRF in it (nor .gz, nor pieces .aa.gz); the META folder is needed")
        for block in self.blocks("MRFILES", ("FIL", "FMT")):
            for name, columns in zip(block["FIL"].to_pylist(), block["FMT"].to_pylist()):
                if name.removesuffix(".RRF") in _COLUMNS:
                    self._columns[name.removesuffix(".RRF")] = columns.split(",")

    def has(self, file: str) -> bool:
        return bool(find_parts(self.path, f"{file}.RRF"))

    def blocks(self, file: str, columns: Sequence[str], plain: Sequence[str] = ()) -> Iterator[Block]:
        """Blocks of columns, see :func:`~st_biomed.readers.columns.read_columns`; none where the file is not there."""
        names = self._columns[file]
        for column in columns:
            if column not in names:
                raise InputError(f"{self.path / 'MRFILES.RRF'}: {file}.RRF has no column {column}, found {names}")
        parts = find_parts(self.path, f"{file}.RRF")
        if parts:
            yield from read_columns(parts, names, columns, plain=plain)

    def sieve(self, file: str, size: int, conditions: dict[str, np.ndarray | None]) -> np.ndarray:
        """Rows that meet every condition, boolean ``[size]``; the others are counted under the first that they fail.

        Args:
            file: The file's name.
            size: Rows.
            conditions: What those are that do not meet it, and boolean ``[size]``, or ``None`` for no condition.
        """
        keep = np.ones(size, dtype=bool)
        for reason, condition in conditions.items():
            if condition is not None:
                self.tally.drop(f"{file}: {reason}", int((keep & ~condition).sum()))
                keep &= condition
        return keep

    def not_suppressed(self, flags: pa.Array) -> np.ndarray | None:
        return None if self.keep_suppressed else among(flags, ("N", ""))

    def numbers(self, file: str, block: Block, column: str) -> np.ndarray:
        """A column of CUIs as the integers behind the C, int32 ``[N]``; -1 where the cell is empty.

        Raises:
            InputError: With file and line, one of another form.
        """
        codes = block[column]
        index = codes.indices.to_numpy()
        right = pc.match_substring_regex(codes.dictionary, _IDENTIFIER).to_numpy(zero_copy_only=False)
        empty = pc.equal(codes.dictionary, "").to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(~(right | empty)[index])[:1]:
            where = f"{self.path / file}.RRF:{block.line + row}"
            raise InputError(f"{where}: {codes[row].as_py()!r} is no concept identifier, they look like C0011849")
        values = pc.if_else(pa.array(right), pc.utf8_slice_codeunits(codes.dictionary, 1), "-1")
        return values.cast(pa.int32()).to_numpy()[index]

    def keep_known(self, file: str, known: np.ndarray) -> pa.Array:
        """Count rows whose concepts have a name as kept and the others as dropped; the former as an arrow mask."""
        self.tally.drop(f"{file}: of a concept without a kept name", int((~known).sum()))
        self.tally.keep(int(known.sum()))
        return pa.array(known)

    def sources(self, whole: SourceInfo) -> Iterator[SourceInfo]:
        """Every vocabulary with its current version and restriction level, and the release as a whole."""
        release = ""
        for block in self.blocks("MRSAB", ("RSAB", "SON", "SVER", "SRL", "CURVER", "IMETA")):
            for name, title, version, level, current, first in zip(*(column.to_pylist() for column in block.values())):
                if current == "Y":
                    release = max(release, first)
                    licence = f"UMLS source restriction level {level}"
                    yield SourceInfo(name, title, version, licence, whole.url, redistributable=level == "0")
        yield replace(whole, version=release)


def among(column: pa.Array, values: Collection[str]) -> np.ndarray:
    """Whether each value of a dictionary-encoded column is one of some, boolean ``[N]``."""
    wanted = set(values)
    found = np.array([value in wanted for value in column.dictionary.to_pylist()], dtype=bool)
    return found[column.indices.to_numpy()]


def concept_numbers(codes: pa.Array, where: str) -> np.ndarray:
    """Identifiers such as C0011849 as the integers behind the C, int32.

    Raises:
        InputError: One of another form.
    """
    right = pc.match_substring_regex(codes, _IDENTIFIER)
    wrong = codes.filter(pc.invert(right))
    if len(wrong):
        wrong = wrong[0].as_py()
        raise InputError(f"{where}: {wrong!r} is no concept identifier, they look like C0011849")
    return pc.utf8_slice_codeunits(codes, 1).cast(pa.int32()).to_numpy()


def curies(numbers: np.ndarray) -> pa.Array:
    """Numbers of concepts as dictionary-encoded CURIEs."""
    distinct, index = np.unique(numbers, return_inverse=True)
    digits = pc.utf8_lpad(pa.array(distinct).cast(pa.string()), 7, "0")
    return pa.DictionaryArray.from_arrays(index.astype(np.int32), pc.binary_join_element_wise("UMLS:C", digits, ""))
