"""OMOP: bad rows and options, missing tables, and what damage leads to."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.readers.mutations import check_contract, check_survives, mutated
from tests.readers.test_omop import ATHENA, TEST_SET, read

FILES = ("CONCEPT", "CONCEPT_SYNONYM", "CONCEPT_RELATIONSHIP", "CONCEPT_ANCESTOR", "VOCABULARY", "RELATIONSHIP")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The tables of Athena in a folder of one's own, to be changed."""
    return Path(shutil.copytree(ATHENA, tmp_path / "copy"))


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("CONCEPT", "99000003\t", "99000001\t", r"CONCEPT.csv:5: concept 99000001 is listed twice"),
        ("CONCEPT", "\tSNOMED\t", "\t\t", r"CONCEPT.csv:3: vocabulary_id is empty"),
        ("CONCEPT", "Condition", " ", r"CONCEPT.csv:3: domain_id is empty"),
        ("CONCEPT", "99000001\t", "\t", r"CONCEPT.csv:3: concept_id must be a number up to 2147483647, found ''"),
        ("CONCEPT", "99000001\t", "-1\t", r"CONCEPT.csv:3: concept_id must be a number .*, found '-1'"),
        ("CONCEPT", "99000001\t", "0x63\t", r"CONCEPT.csv:3: concept_id must be a number .*, found '0x63'"),
        ("CONCEPT", "Condition", "Condi\0tion", r"CONCEPT.csv:3: contains a NUL character"),
        (
            "CONCEPT",
            "99000001\t",
            "9900000100\t",
            r"CONCEPT.csv:3: concept_id must be a number .*, found '9900000100'",
        ),
        ("CONCEPT", "Flumpa disease\t", "", r"CONCEPT.csv:3: 9 cells, expected 10 separated by tabs"),
        ("CONCEPT", "\tdomain_id", "\tdomain", r"CONCEPT.csv:1: no column 'domain_id'; split at tabs the columns are"),
        ("CONCEPT", "\tdomain_id", "\tconcept_id", r"CONCEPT.csv:1: several columns 'concept_id'"),
        ("CONCEPT_SYNONYM", "4182511", "es", r"CONCEPT_SYNONYM.csv:4: language_concept_id must be a number"),
        ("CONCEPT_RELATIONSHIP", "\tIs a", "", r"CONCEPT_RELATIONSHIP.csv:2: 5 cells, expected 6"),
        ("CONCEPT_ANCESTOR", "\t0\t0", "\tzero\t0", r"CONCEPT_ANCESTOR.csv:2: min_levels_of_separation must be"),
    ],
)
def test_bad_rows_are_named_by_line(copy: Path, file: str, old: str, new: str, message: str) -> None:
    path = copy / f"{file}.csv"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(InputError, match=message):
        read(copy)


@pytest.mark.parametrize("form", [ATHENA, TEST_SET], ids=["tabs", "commas"])
@pytest.mark.parametrize(("file", "line"), [("CONCEPT_SYNONYM", 16), ("VOCABULARY", 4)])
def test_a_file_that_ends_within_its_last_cell_is_refused(form: Path, file: str, line: int, tmp_path: Path) -> None:
    """Catches a language 418018 in place of 4180186, and a column that nobody reads."""
    path = Path(shutil.copytree(form, tmp_path / "copy")) / f"{file}.csv"
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(
        InputError, match=rf"{file}.csv:{line}: the file is truncated: its last line has no line break"
    ):
        read(path.parent)


def test_a_header_that_is_cut_is_refused(copy: Path) -> None:
    path = copy / "VOCABULARY.csv"
    path.write_bytes(path.read_bytes().partition(b"\n")[0][:-2])
    with pytest.raises(
        InputError, match=r"VOCABULARY.csv:1: the file is truncated: .* ends with .*vocabulary_concept_'"
    ):
        read(copy)


@pytest.mark.parametrize("form", [ATHENA, TEST_SET], ids=["tabs", "commas"])
def test_the_rows_of_each_file_are_told(form: Path, tmp_path: Path) -> None:
    """Catches a file that ends at a line too early, which only a comparison with the publisher's shows."""
    copy = Path(shutil.copytree(form, tmp_path / "copy"))
    path = copy / "CONCEPT_SYNONYM.csv"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:6]))
    tally = read(copy).tallies["omop rows"]
    told = dict(note.split(".csv: ") for note in tally.notes)
    assert told == {
        "CONCEPT": "13 rows read",
        "CONCEPT_SYNONYM": "5 rows read",
        "CONCEPT_RELATIONSHIP": "18 rows read",
        "CONCEPT_ANCESTOR": "8 rows read",
    }
    assert tally.n_read == 13 + 5 + 18 + 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocabularies": "SNOMD"}, "value of option vocabularies .*'SNOMD'.*did you mean 'SNOMED'"),
        ({"domains": "Conditions"}, "value of option domains .*did you mean 'Condition'"),
        ({"concept_classes": "Ingredients"}, "value of option concept_classes .*did you mean 'Ingredient'"),
        ({"languages": "en,sp"}, "value of option languages .*'sp'.*allowed are 'en', 'es', 'it', 'und'"),
        ({"relations": "May Treat"}, "value of option relations .*did you mean 'May treat'"),
        ({"parents": "isa"}, "unknown parents of reader 'omop' 'isa'.*did you mean 'is_a'"),
        ({"types": "domains"}, "unknown types of reader 'omop' 'domains'.*did you mean 'domain'"),
    ],
)
def test_what_no_row_has_is_refused(options: dict[str, str], message: str) -> None:
    """Catches concepts that are left out without a word after a slip of the pen."""
    with pytest.raises(InputError, match=message):
        read(**options)


def test_missing_and_repeated_tables_are_named(copy: Path, tmp_path: Path) -> None:
    (copy / "RELATIONSHIP.csv").unlink()
    with pytest.raises(InputError, match=r"contains no RELATIONSHIP.csv, which inverses=false needs"):
        read(copy, inverses=False)
    (copy / "CONCEPT_RELATIONSHIP.csv").unlink()
    with pytest.raises(InputError, match=r"contains no CONCEPT_RELATIONSHIP.csv, which relations needs"):
        read(copy, relations="May treat")
    (copy / "concept.csv.gz").write_bytes(gzip.compress((copy / "CONCEPT.csv").read_bytes()))
    with pytest.raises(InputError, match=r"CONCEPT exists twice, as CONCEPT.csv and as concept.csv.gz"):
        read(copy)
    with pytest.raises(InputError, match=r"contains no CONCEPT.csv"):
        read(tmp_path)
    with pytest.raises(InputError, match=r"CONCEPT.csv: no such folder; expected the folder with CONCEPT.csv"):
        read(copy / "CONCEPT.csv")
    with pytest.raises(InputError, match="reader omop: expected the folder"):
        Terminology.read("omop")


@pytest.mark.long
@pytest.mark.parametrize("form", [ATHENA, TEST_SET], ids=["tabs", "commas"])
@given(data=st.data())
def test_a_damaged_file_is_one_line(form: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / f"damaged_{form.name}"
    shutil.copytree(form, folder, dirs_exist_ok=True)
    file = data.draw(st.sampled_from(FILES))
    separator = b"\t" if form == ATHENA else b","
    (folder / f"{file}.csv").write_bytes(data.draw(mutated((form / f"{file}.csv").read_bytes(), separator)))
    records = check_survives("omop", folder)
    if file in FILES[:2]:  # a repeated row of the others is for the tables to count
        check_contract("omop", [one for record in records for one in _one_by_one(record)])


def _one_by_one(record: Any) -> list[Any]:
    return list(record.one_by_one()) if hasattr(record, "one_by_one") else [record]
