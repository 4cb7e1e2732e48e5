"""ICD-9-CM in four forms, of which the code files and the table with chapters are looked at here."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import ReaderContract
from tests.readers.icd9cm_files import CODES, TABLE, TABULAR, TREE, names, parents


class TestTable(ReaderContract):
    reader = "icd9cm"
    path = TABLE
    options = {"tabular": TABULAR, "includes": "all", "short_names": True}


class TestTabularList(ReaderContract):
    reader = "icd9cm"
    path = TABULAR
    options = {"includes": "all"}


class TestTree(ReaderContract):
    reader = "icd9cm"
    path = TREE
    options = {"includes": "all"}


# ---------------------------------------------------------------- code files


def test_points_stand_after_three_characters_and_after_four_of_an_e_code() -> None:
    """Catches E900.1 as E90.01, and a lost accent: CMS writes Latin-1."""
    terminology = Terminology.read("icd9cm", CODES)
    assert terminology.codes == [f"ICD9CM:{code}" for code in ("900.0", "900.01", "900.1", "E900.1", "V90.1")]
    assert parents(terminology) == {"900.01": "900.0"}
    assert names(terminology, "ICD9CM:900.1") == ["Mimpière's flumpa infection"]
    assert terminology.sources["ICD9CM"].version == "99"


def test_utf_8_and_gzip_read_like_the_published_code_page(tmp_path: Path) -> None:
    """Catches the published file refused, since it is not UTF-8, and read without a word of it."""
    (tmp_path / "CMS99_DESC_LONG_DX.txt.gz").write_bytes(gzip.compress(CODES.read_text("cp1252").encode()))
    read, published = (
        Terminology.read("icd9cm", tmp_path / "CMS99_DESC_LONG_DX.txt.gz"),
        Terminology.read("icd9cm", CODES),
    )
    assert read.digest == published.digest
    assert read.tallies["icd9cm rows"].notes == []
    assert published.tallies["icd9cm rows"].notes == [
        "CMS99_DESC_LONG_DX.txt was read as cp1252, since line 3 is not UTF-8"
    ]


@pytest.mark.parametrize("path", [TABULAR, TABLE, TREE])
def test_every_form_is_read_in_the_code_page_of_its_publisher(tmp_path: Path, path: Path) -> None:
    """Catches a file whose encoding is recognized and which is refused afterward, since it is not UTF-8."""
    copy = tmp_path / path.name
    copy.write_bytes(path.read_text("utf-8").replace("Gradt", "Grédt").encode("cp1252"))
    assert any("Grédt" in name for name in Terminology.read("icd9cm", copy).strings)


def test_the_list_of_inclusion_terms_is_read_in_its_own_code_page(tmp_path: Path) -> None:
    """Catches inclusion terms read in the encoding of the code file that they are read for."""
    copy = tmp_path / "tabular.txt"
    copy.write_bytes(TABULAR.read_text("utf-8").replace("Pruglemia", "Pruglémia").encode("cp1252"))
    assert "Pruglémia" in names(Terminology.read("icd9cm", TABLE, tabular=copy, parts=True), "ICD9CM:900.0")


def test_procedures_have_a_prefix_of_their_own(tmp_path: Path) -> None:
    """Catches procedure 00.10 as diagnosis 001.0."""
    for name in ("CMS99_DESC_LONG_SG.txt", "surgery.txt"):
        (tmp_path / name).write_text("0010 Incision of flumpa\n00   Operations on the flumpa\n")
    by_name = Terminology.read("icd9cm", tmp_path / "CMS99_DESC_LONG_SG.txt")
    by_option = Terminology.read("icd9cm", tmp_path / "surgery.txt", codes="procedures")
    assert by_name.codes == by_option.codes == ["ICD9PROC:00", "ICD9PROC:00.10"]
    assert parents(by_name) == {"ICD9PROC:00.10": "ICD9PROC:00"}
    assert list(by_name.sources) == ["ICD9PROC"]
    assert Terminology.read("icd9cm", tmp_path / "surgery.txt", codes="procedures").n_concepts == 2


def test_tabular_list_lends_its_inclusion_terms_to_a_code_file() -> None:
    """Catches its titles, which lean on those above, as synonyms."""
    terminology = Terminology.read("icd9cm", CODES, tabular=TABULAR, parts=True)
    assert names(terminology, "ICD9CM:900.0") == [
        "Drodthic flumpa infection",
        "Flumpic NOS",
        "Flumpic drodthitis",
        "Pruglemia",
        "Terkemia of flumpa",
    ]
    dropped = terminology.tallies["icd9cm rows"].dropped
    assert dropped["inclusion terms of codes that are not in the file"] == 2
    assert dropped["titles of a tabular list that is read for its inclusion terms"] == 18


# ---------------------------------------------------------------- tables


def test_chapters_and_blocks_of_a_table_are_ranges_of_their_categories() -> None:
    """Catches a chapter of a single block as its own parent, and categories without a row lost."""
    terminology = Terminology.read("icd9cm", TABLE)
    assert parents(terminology) == {
        "900-902": "900-910",
        "900": "900-902",
        "900.0": "900",
        "900.01": "900.0",
        "901": "900-902",
        "902": "900-902",
        "902.0": "902",
        "910-910": "900-910",
        "910": "910-910",
        "V90": "V90-V90",
        "V90.1": "V90",
        "E900-E900": "E900-E910",
        "E900": "E900-E900",
        "E900.1": "E900",
        "E910-E910": "E900-E910",
        "E910": "E910-E910",
        "E910.1": "E910",
    }
    assert names(terminology, "ICD9CM:V90-V90") == ["Supplementary Flumpa Factors"]
    assert names(terminology, "ICD9CM:901") == ["Flumposis", "Flumposis [terkic]"]
    assert names(terminology, "ICD9CM:902") == ["Untidy flumpa"]
    assert names(terminology, "ICD9CM:E910.1") == ['Fall of flumpa, "low"']


def test_short_names_are_synonyms_when_asked() -> None:
    terminology = Terminology.read("icd9cm", TABLE, short_names=True)
    assert names(terminology, "ICD9CM:900.0") == ["Drodthic flumpa infection", "Drdth flmp infection"]
    assert names(terminology, "ICD9CM:900") == ["Flumpa infection"]
