"""DrugBank's open vocabulary: cells that hold several names or numbers."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

TABLE = FIXTURES / "drugbank_vocabulary.csv"


class TestDrugBank(ReaderContract):
    reader = "drugbank"
    path = TABLE


def test_synonyms_are_split_and_those_equal_to_the_common_name_counted() -> None:
    """Catches a bar without blanks taken for a separator, and the common name as its own synonym."""
    terminology = Terminology.read("drugbank", TABLE)
    assert terminology.concept_names("DRUGBANK:DB90001") == [
        "Mimpicol",
        "Mimpicolum",
        "Mimpicól",
        "[Flu1, Mim2]-63-mimpicol",
    ]
    assert terminology.concept_names("DRUGBANK:DB90003") == [
        "Drodthate (pruglic)",
        "Drodthate, left|right",
        "Gradthate",
    ]
    assert terminology.tallies["drugbank rows"].dropped == {
        "repeated synonyms of a drug": 1,
        "synonyms equal to the common name": 2,
    }


def test_numbers_elsewhere_are_cross_references() -> None:
    """Catches an empty cell as a reference, and a drug as its own former number."""
    terminology = Terminology.read("drugbank", TABLE)
    rows = terminology.xrefs.to_pylist()
    assert [(terminology.codes[r["concept"]][-1], r["predicate"], r["target"]) for r in rows] == [
        ("1", "alt_id", "DRUGBANK:MIMP90024"),
        ("1", "alt_id", "DRUGBANK:TRK90024"),
        ("1", "xref", "CAS:900138-68-9"),
        ("1", "xref", "UNII:Z43FL64M34"),
        ("2", "alt_id", "DRUGBANK:DB90901"),
        ("2", "xref", "INCHIKEY:TERKINFLUMPAZZ-QJVHKAFLSA-N"),
        ("3", "xref", "CAS:900152-12-3"),
    ]


def test_gzip_and_any_suffix_are_read(tmp_path: Path) -> None:
    (tmp_path / "drugbank vocabulary.gz").write_bytes(gzip.compress(TABLE.read_bytes()))
    read = Terminology.read("drugbank", tmp_path / "drugbank vocabulary.gz")
    assert read.digest == Terminology.read("drugbank", TABLE).digest
    assert read.sources["DRUGBANK"].redistributable


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("DB90002,DB", "APRD9,DB", r"x.csv:3: 'APRD9' is not a DrugBank ID; they look like DB00001"),
        ("DB90002,DB", "DB90001,DB", r"x.csv:3: DrugBank ID DB90001 is listed twice"),
        ("Drodthate (pruglic)", " ", r"x.csv:4: drug DB90003 has no common name"),
        ("DB90003,,", "DB90003,", r"x.csv:4: 6 cells, expected 7"),
        ("Common name", "Name", r"x.csv:1: no column 'common_name'; split at commas the columns are"),
        ('Gradthate",', "Gradthate,", r"x.csv:4: unexpected end of data \(a stray double quote\?\)"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = TABLE.read_text("utf-8")
    assert old in text
    (tmp_path / "x.csv").write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(InputError, match=message):
        Terminology.read("drugbank", tmp_path / "x.csv")


def test_a_path_is_needed() -> None:
    with pytest.raises(InputError, match="reader 'drugbank' needs the path of the vocabulary"):
        Terminology.read("drugbank")


@pytest.mark.realdata
def test_drugbank_has_19842_drugs_and_52154_synonyms(realdata: Path) -> None:
    """16,402 of the synonyms repeat the common name."""
    terminology = Terminology.read("drugbank", realdata / "ontologies" / "drugbank_vocabulary.csv.gz")
    assert terminology.n_concepts == 19_842
    assert terminology.tallies["drugbank rows"].n_read == 19_842 + 52_154
    assert terminology.tallies["drugbank rows"].dropped == {"synonyms equal to the common name": 16_402}
    targets = terminology.xrefs["target"].to_pylist()
    counts = {prefix: sum(t.startswith(f"{prefix}:") for t in targets) for prefix in ("CAS", "UNII", "INCHIKEY")}
    assert counts == {"CAS": 13_107, "UNII": 15_183, "INCHIKEY": 14_622}
