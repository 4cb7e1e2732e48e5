"""Vocabularies of the Comparative Toxicogenomics Database: ``CTD_diseases`` (MEDIC) and ``CTD_chemicals``, tsv or csv.

Lines that begin with ``#`` are comments; the last but one names the fields. Ids of several sources have a prefix
(``MESH:``, ``OMIM:``); lists are separated by ``|``.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import DIALECTS, dialect_name, read_lines
from st_biomed.linking_data.gold_ids import known_ids
from st_biomed.records import Tally

NAME = ("DiseaseName", "ChemicalName")
ID = ("DiseaseID", "ChemicalID")
ALTERNATIVES = "AltDiseaseIDs"
SYNONYMS = ("Synonyms", "CTDCuratedSynonyms", "MESHSynonyms")


def entries(path: Path, *, tally: Tally) -> Iterator[tuple[str, list[str]]]:
    """Stream the entries: a concept's name and synonyms, each with its id and alternative ids.

    Raises:
        InputError: No comment line with the names of the fields, a row of the wrong length, without a name or an id,
            or a repeated concept.
    """
    dialect = DIALECTS[dialect_name(path)]
    fields: list[str] = []
    line_of: dict[str, int] = {}
    for line, content in read_lines(path):
        if not content.strip():
            continue
        if content.startswith("#"):
            cells = [cell.strip() for cell in content.lstrip("#").split(dialect.separator)]
            fields = cells if set(cells) & set(NAME) else fields
            continue
        if not fields:
            raise InputError(f"{path}:{line}: no earlier comment names the fields ({' or '.join(NAME)}, ...)")
        row = _row(f"{path}:{line}", content, fields, dialect.separator, dialect.quoted)
        name = next((row[column] for column in NAME if row.get(column)), "")
        ids = known_ids(
            [next((row[column] for column in ID if column in row), ""), *row.get(ALTERNATIVES, "").split("|")]
        )
        if not name or not ids:
            raise InputError(f"{path}:{line}: expected a name and an id, found {name!r} and {' '.join(ids)!r}")
        if line_of.setdefault(ids[0], line) != line:
            raise InputError(f"{path}:{line}: concept {ids[0]} is also listed in line {line_of[ids[0]]}")
        synonyms = [cell.strip() for column in SYNONYMS for cell in row.get(column, "").split("|")]
        for text in dict.fromkeys(filter(None, (name, *synonyms))):
            tally.read()
            yield text, ids


def _row(where: str, content: str, fields: list[str], separator: str, quoted: bool) -> dict[str, str]:
    try:
        cells = next(csv.reader([content], delimiter=separator, strict=True)) if quoted else content.split(separator)
    except csv.Error as error:
        raise InputError(f"{where}: {error} (a stray double quote?)") from error
    if len(cells) != len(fields):
        raise InputError(f"{where}: {len(cells)} cells, expected {len(fields)}, the number of fields in the comment")
    return dict(zip(fields, (cell.strip() for cell in cells)))
