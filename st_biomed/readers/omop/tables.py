"""The tables of an OMOP vocabulary: those of Athena (tab-separated, no quoting) and of test sets (comma-separated)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError
from st_biomed.files.column_blocks import ENCODED, Block, block_of, column_blocks
from st_biomed.files.delimited import DIALECTS, read_header, read_table
from st_biomed.files.gzipped import plain_name
from st_biomed.readers._columns import CountedBlocks, filter_rows
from st_biomed.records import Tally

COLUMNS = {
    "CONCEPT": "concept_id concept_name domain_id vocabulary_id concept_class_id standard_concept concept_code "
    "invalid_reason",
    "CONCEPT_SYNONYM": "concept_id concept_synonym_name language_concept_id",
    "CONCEPT_RELATIONSHIP": "concept_id_1 concept_id_2 relationship_id invalid_reason",
    "CONCEPT_ANCESTOR": "ancestor_concept_id descendant_concept_id min_levels_of_separation",
    "VOCABULARY": "vocabulary_id vocabulary_name vocabulary_reference vocabulary_version",
    "RELATIONSHIP": "relationship_id reverse_relationship_id",
}
"""Table to the columns that are read."""

_PLAIN = ("concept_name", "concept_code", "concept_synonym_name")
_NUMBERS = (
    "concept_id",
    "language_concept_id",
    "concept_id_1",
    "concept_id_2",
    "ancestor_concept_id",
    "descendant_concept_id",
    "min_levels_of_separation",
)
_TALLIED = ("CONCEPT", "CONCEPT_SYNONYM", "CONCEPT_RELATIONSHIP", "CONCEPT_ANCESTOR")
_WITHOUT = {
    "CONCEPT_SYNONYM": "no synonyms",
    "CONCEPT_RELATIONSHIP": "no relations, 'Is a' or 'Maps to'",
    "CONCEPT_ANCESTOR": "no ancestors",
    "VOCABULARY": "no versions of vocabularies",
}
"""Table that may be missing, and what is not read without it."""

_CPT4 = "CONCEPT_CPT4"
"""A table of Athena's download in which the names are missing."""
_ROWS_AT_ONCE = 1 << 16
_LARGEST_ID = 2**31 - 1


class Tables:
    """The tables by name, and the tally of their rows.

    Args:
        path: The folder. Names of files and columns may be in upper or lower case.
        tally: Counts the rows of CONCEPT, CONCEPT_SYNONYM, CONCEPT_RELATIONSHIP and CONCEPT_ANCESTOR.

    Raises:
        InputError: There is no CONCEPT.csv, or a table exists twice.
    """

    def __init__(self, path: Path, tally: Tally) -> None:
        self.path, self.tally = path, tally
        self._files: dict[str, Path] = {}
        for file in sorted(path.iterdir()):
            table = plain_name(file).upper().removesuffix(".CSV")
            if table not in COLUMNS or not plain_name(file).lower().endswith(".csv") or not file.is_file():
                continue
            if table in self._files:
                raise InputError(f"{path}: {table} exists twice, as {self._files[table].name} and as {file.name}")
            self._files[table] = file
        if not self.has("CONCEPT"):
            raise InputError(f"{path}: contains no CONCEPT.csv")
        if any(plain_name(file).upper() == f"{_CPT4}.CSV" for file in path.iterdir()):
            tally.note(f"{_CPT4} is not read; the program in Athena's download puts its concepts into CONCEPT")

    def has(self, table: str) -> bool:
        return table in self._files

    def need(self, table: str, asked: str) -> None:
        """Reject a missing table.

        Args:
            asked: The option that needs it, and how to read without it.

        Raises:
            InputError: There is no such table.
        """
        if not self.has(table):
            raise InputError(f"{self.path}: contains no {table}.csv, which {asked}")

    def blocks(self, table: str) -> Iterator[Block]:
        """Blocks of at least one row with stripped cells; their lines are tallied. None if there is no such table.

        The tally gets a note of the number of rows, or of a missing table.

        Raises:
            InputError: A missing column; with file and line, a malformed row or a truncated last line.
        """
        if not self.has(table):
            self.tally.note(f"{table}.csv: not there, {_WITHOUT[table]} were read")
            return
        is_tallied = table in _TALLIED
        read = self._read(self._files[table], COLUMNS[table].split())
        blocks = CountedBlocks(read, table, self.tally if is_tallied else None)
        for block in blocks:
            yield Block({name: _stripped(column) for name, column in block.items()}, block.lines)
        if is_tallied:
            self.tally.note(f"{table}.csv: {blocks.n_rows + blocks.n_blank:,} rows read")

    def filter_rows(self, table: str, size: int, conditions: Mapping[str, np.ndarray | None]) -> np.ndarray:
        """See :func:`~st_biomed.readers._columns.filter_rows`."""
        return filter_rows(self.tally, table, size, conditions)

    def where(self, table: str, line: int) -> str:
        """``file:line``."""
        return f"{self._files[table]}:{line}"

    def _read(self, file: Path, columns: list[str]) -> Iterator[Block]:
        names = [name.lower() for name in read_header(file, dialect="tsv")]
        dialect = "tsv"
        if len(names) == 1:
            dialect = "csv"
            names = [name.lower() for name in read_header(file, dialect=dialect)]
        for column in columns:
            if names.count(column) != 1:
                found = "several columns" if column in names else "no column"
                raise InputError(
                    f"{file}:1: {found} {column!r}; split at {DIALECTS[dialect].name}s the columns are {names}"
                )
        types = {
            name: pa.int64() if name in _NUMBERS else pa.string() if name in _PLAIN else ENCODED for name in columns
        }
        if dialect == "tsv":
            form = DIALECTS[dialect]
            yield from column_blocks([file], str(file), names, types, form, header=True, largest=_LARGEST_ID)
            return
        rows = read_table(file, [(column,) for column in columns], dialect=dialect, ended=True)
        while some := list(islice(rows, _ROWS_AT_ONCE)):
            cells = dict(zip(columns, zip(*(row for _, row in some))))
            yield block_of(cells, types, [line for line, _ in some], str(file), largest=_LARGEST_ID)


def _stripped(column: pa.Array) -> pa.Array:
    if pa.types.is_integer(column.type):
        return column
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, pc.utf8_trim_whitespace(column.dictionary))
    return pc.utf8_trim_whitespace(column)
