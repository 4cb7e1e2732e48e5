"""The files of a META folder, and the shared steps of reading them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError
from st_biomed.files.column_blocks import Block
from st_biomed.readers._columns import CountedBlocks, among, filter_rows
from st_biomed.readers.umls.rrf import find_parts, read_columns
from st_biomed.records import Tally

N_NUMBERS = 10**7
"""Upper bound of a concept's number: identifiers have seven digits."""

_IDENTIFIER = r"^C\d{7}$"

COLUMNS = {
    "MRCONSO": "CUI LAT TS LUI STT SUI ISPREF AUI SAUI SCUI SDUI SAB TTY CODE STR SRL SUPPRESS CVF",
    "MRREL": "CUI1 AUI1 STYPE1 REL CUI2 AUI2 STYPE2 RELA RUI SRUI SAB SL RG DIR SUPPRESS CVF",
    "MRSTY": "CUI TUI STN STY ATUI CVF",
    "MRCUI": "CUI1 VER REL RELA MAPREASON CUI2 MAPIN",
    "MRSAB": "VCUI RCUI VSAB RSAB SON SF SVER VSTART VEND IMETA RMETA SLC SCC SRL TFR CFR CXTY TTYL ATNL LAT CENC "
    "CURVER SABIN SSN SCIT",
    "MRDEF": "CUI AUI ATUI SATUI SAB DEF SUPPRESS CVF",
    "MRDOC": "DOCKEY VALUE TYPE EXPL",
    "MRFILES": "FIL DES FMT CLS RWS BTS",
}
"""File to its columns in every release; MRFILES.RRF overrides them if it exists."""

_TALLIED = ("MRCONSO", "MRREL", "MRSTY", "MRCUI", "MRDEF")


class MetaFolder:
    """The files by name, and the tally of their rows.

    Args:
        tally: Counts the rows of MRCONSO, MRREL, MRSTY, MRCUI and MRDEF.
        keep_suppressed: Whether rows with SUPPRESS = O, E or Y are kept.

    Raises:
        InputError: There is no MRCONSO.RRF, or MRFILES.RRF has an invalid number of rows.
    """

    def __init__(self, path: Path, tally: Tally, *, keep_suppressed: bool) -> None:
        self.path, self.tally, self.keep_suppressed = path, tally, keep_suppressed
        self._columns = {name: columns.split() for name, columns in COLUMNS.items()}
        if not self.has("MRCONSO"):
            raise InputError(
                f"{path}: no MRCONSO.RRF in it (plain, .gz or in pieces .aa.gz); expected the META folder"
            )
        self._n_rows: dict[str, int] = {}
        for block in self.blocks("MRFILES", ("FIL", "FMT", "RWS")):
            for line, name, columns, n_rows in zip(block.lines, *(column.to_pylist() for column in block.values())):
                file = name.removesuffix(".RRF")
                if file not in COLUMNS or file == "MRFILES":
                    continue
                if n_rows and not (n_rows.isascii() and n_rows.isdecimal()):
                    raise InputError(f"{path / 'MRFILES.RRF'}:{line}: RWS must be a number of rows, found {n_rows!r}")
                self._columns[file] = columns.split(",")
                if n_rows:
                    self._n_rows[file] = int(n_rows)

    def has(self, file: str) -> bool:
        return bool(find_parts(self.path, f"{file}.RRF"))

    def need(self, file: str, asked: str) -> None:
        """Reject a missing file.

        Args:
            asked: The option that needs it, and how to read without it.

        Raises:
            InputError: There is no such file.
        """
        if not self.has(file):
            raise InputError(f"{self.path}: no {file}.RRF in it, which {asked}")

    def blocks(self, file: str, columns: Sequence[str], plain: Sequence[str] = ()) -> Iterator[Block]:
        """Blocks of at least one row, see :func:`~st_biomed.readers.umls.rrf.read_columns`; their lines are tallied.

        No blocks if the file does not exist.

        Raises:
            InputError: An error of ``read_columns``, a column that is missing from MRFILES, or another number of rows
                than in MRFILES, which reveals a truncated file.
        """
        names = self._columns[file]
        for column in columns:
            if column not in names:
                raise InputError(f"{self.path / 'MRFILES.RRF'}: {file}.RRF has no column {column}, found {names}")
        parts = find_parts(self.path, f"{file}.RRF")
        if not parts:
            return
        blocks = CountedBlocks(
            read_columns(parts, names, columns, plain=plain), file, self.tally if file in _TALLIED else None
        )
        yield from blocks
        if blocks.n_rows != self._n_rows.get(file, blocks.n_rows):
            raise InputError(
                f"{self.path / file}.RRF: {blocks.n_rows:,} rows were read, but MRFILES.RRF lists {self._n_rows[file]:,}: "
                "part of the file is missing, or MRFILES.RRF is of another release; without MRFILES.RRF nothing is "
                "compared"
            )

    def filter_rows(self, file: str, size: int, conditions: dict[str, np.ndarray | None]) -> np.ndarray:
        """See :func:`~st_biomed.readers._columns.filter_rows`."""
        return filter_rows(self.tally, file, size, conditions)

    def not_suppressed(self, flags: pa.Array) -> np.ndarray | None:
        return None if self.keep_suppressed else among(flags, ("N", ""))

    def numbers(self, file: str, block: Block, column: str, *, optional: bool = False) -> np.ndarray:
        """A column of CUIs as the integers after the C, int32 ``[N]``.

        Args:
            optional: Whether a cell may be empty, with the number -1.

        Raises:
            InputError: With file and line: an invalid CUI.
        """
        codes = block[column]
        index = codes.indices.to_numpy()
        right = pc.match_substring_regex(codes.dictionary, _IDENTIFIER).to_numpy(zero_copy_only=False)
        allowed = right | (pc.equal(codes.dictionary, "").to_numpy(zero_copy_only=False) & optional)
        for row in np.flatnonzero(~allowed[index])[:1]:
            where = f"{self.path / file}.RRF:{block.lines[row]}"
            raise InputError(f"{where}: {codes[row].as_py()!r} is not a concept identifier, they look like C0000000")
        values = pc.if_else(pa.array(right), pc.utf8_slice_codeunits(codes.dictionary, 1), "-1")
        return values.cast(pa.int32()).to_numpy()[index]

    def keep_known(self, file: str, known: np.ndarray) -> pa.Array:
        """Count rows of concepts with a name as kept and others as dropped; return the kept rows as an arrow mask."""
        self.tally.drop(f"{file}: of a concept without a kept name", int((~known).sum()))
        self.tally.keep(int(known.sum()))
        return pa.array(known)


def curies(numbers: np.ndarray) -> pa.Array:
    """Numbers of concepts as dictionary-encoded CURIEs."""
    distinct, index = np.unique(numbers, return_inverse=True)
    digits = pc.utf8_lpad(pa.array(distinct).cast(pa.string()), 7, "0")
    return pa.DictionaryArray.from_arrays(index.astype(np.int32), pc.binary_join_element_wise("UMLS:C", digits, ""))
