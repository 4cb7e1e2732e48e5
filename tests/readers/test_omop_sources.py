"""OMOP: a vocabulary is the same whether it is read alone or taken from all of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from st_biomed.terminology import Terminology
from tests.readers.test_omop import ATHENA, mappings, names, read

TABLES = ("terms", "parents", "relations", "xrefs")


def rows(terminology: Terminology, table: str) -> list[dict[str, Any]]:
    """The rows of a table, with codes and strings for indices."""
    texts, codes = terminology.strings, terminology.codes
    words = {"text": texts, **dict.fromkeys(("concept", "child", "parent", "head", "tail"), codes)}
    found = getattr(terminology, table).to_pylist()
    return [{name: words[name][value] if name in words else value for name, value in row.items()} for row in found]


@pytest.mark.parametrize("vocabulary", ["SNOMED", "ICD10CM", "RxNorm Extension"])
@pytest.mark.parametrize("table", TABLES)
def test_a_subset_by_source_has_what_reading_the_vocabulary_alone_has(vocabulary: str, table: str) -> None:
    """Catches codes, 'Maps to' and parents by CONCEPT_ANCESTOR that belong to no vocabulary, and are lost with the others."""
    part = read().subset(sources=[f"OMOP_{'_'.join(vocabulary.split())}"])
    assert rows(part, table) == rows(read(vocabularies=vocabulary), table)
    assert rows(part, "xrefs")


def test_a_parent_in_another_vocabulary_is_of_omop() -> None:
    sources = {(row["child"], row["parent"]): row["source"] for row in rows(read(), "parents")}
    assert sources["OMOP:1990007", "OMOP:99000011"] == "OMOP"


def test_white_space_within_a_name_stays(tmp_path: Path) -> None:
    """Catches a name that differs from that of the same row read from UMLS or SNOMED CT, which keep it, too."""
    copy = Path(shutil.copytree(ATHENA, tmp_path / "copy"))
    for file, old, new in (
        ("CONCEPT", b"Flumpa diseases", b"Flumpa  diseases"),
        ("CONCEPT_SYNONYM", b"flumpa zurda", b"flumpa  zurda "),
    ):
        path = copy / f"{file}.csv"
        path.write_bytes(path.read_bytes().replace(old, new))
    assert names(read(copy)) >= {("99000006", "Flumpa  diseases"), ("99000002", "flumpa  zurda")}


@pytest.mark.parametrize(
    ("vocabulary", "prefix"), [("ICD9Proc", "ICD9PROC"), ("MedDRA", "MEDDRA"), ("CPT4", "CPT"), ("ICD 10", "ICD_10")]
)
def test_codes_have_the_prefix_of_the_other_readers(tmp_path: Path, vocabulary: str, prefix: str) -> None:
    """Catches the vocabulary's own spelling as prefix, by which no code meets that of the classification."""
    copy = Path(shutil.copytree(ATHENA, tmp_path / "copy"))
    for file in ("CONCEPT", "VOCABULARY"):
        path = copy / f"{file}.csv"
        path.write_bytes(path.read_bytes().replace(b"ICD10CM", vocabulary.encode()))
    assert mappings(read(copy), "xref")["99000005"] == f"{prefix}:X99.9"
