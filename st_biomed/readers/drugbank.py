"""DrugBank's open vocabulary: drugs, their synonyms, and their identifiers in other sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_table
from st_biomed.records import Record, SourceInfo, Tally, Term, Xref

SOURCE = SourceInfo(
    name="DRUGBANK",
    title="DrugBank Vocabulary",
    license="CC0-1.0",
    url="https://go.drugbank.com/releases/latest#open-data",
    redistributable=True,
)
PATH = "the vocabulary, e.g. 'drugbank vocabulary.csv'"

_CODE = re.compile(r"DB\d{5,}")
_SEPARATOR = "|"  # within a cell, with spaces around it
_COLUMNS = (
    ("drugbank_id",),
    ("common_name",),
    ("synonyms",),
    ("accession_numbers",),
    ("cas", "cas_number"),
    ("unii",),
    ("standard_inchi_key", "inchikey"),
)
_PREFIXES = ("CAS", "UNII", "INCHIKEY")  # of the last three columns


def records(path: Path, *, tally: Tally) -> Iterator[Record]:
    """Read common names as preferred names, synonyms, and cross-references.

    The file does not state the language of a synonym ("Cétuximab"); all are read as English. Former and
    secondary accession numbers become cross-references ``alt_id`` to ``DRUGBANK:``; CAS numbers, UNII and InChI keys
    become cross-references ``xref`` to ``CAS:``, ``UNII:`` and ``INCHIKEY:``.

    Args:
        path: ``drugbank vocabulary.csv``, or the same with the suffix ``.csv.gz``.
        tally: Counts the names: one for each row of the table, and one for each synonym in it.

    Raises:
        InputError: With file and line: an invalid code, a code listed twice, a drug without a name, a malformed
            row. Also: no such file, no such column.
    """
    yield SOURCE
    listed: set[str] = set()
    for line, row in read_table(path, _COLUMNS, dialect="csv"):
        number, name, synonyms, accessions, *elsewhere = (cell.strip() for cell in row)
        if not _CODE.fullmatch(number):
            raise InputError(f"{path}:{line}: {number!r} is not a DrugBank ID; they look like DB00001")
        if number in listed:
            raise InputError(f"{path}:{line}: DrugBank ID {number} is listed twice")
        if not name:
            raise InputError(f"{path}:{line}: drug {number} has no common name")
        listed.add(number)
        code = f"{SOURCE.name}:{number}"
        tally.read_kept()
        yield Term(code, name)
        seen = {name}
        for synonym in _parts(synonyms):
            tally.read()
            if synonym in seen:
                tally.drop("synonyms equal to the common name" if synonym == name else "repeated synonyms of a drug")
                continue
            seen.add(synonym)
            tally.keep()
            yield Term(code, synonym, "synonym")
        for accession in dict.fromkeys(_parts(accessions)):
            if accession != number:
                yield Xref(code, f"{SOURCE.name}:{accession}", "alt_id")
        for prefix, identifier in zip(_PREFIXES, elsewhere):
            if identifier:
                yield Xref(code, f"{prefix}:{identifier}")


def _parts(cell: str) -> list[str]:
    """The entries of a cell, which are separated by bars; nothing if it is empty."""
    return [part.strip() for part in re.split(rf"\s+\{_SEPARATOR}\s+", cell) if part.strip()]
