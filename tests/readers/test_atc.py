"""ATC: the tree is in the lengths of the codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

TABLE = FIXTURES / "atc_2031.csv"


class TestAtc(ReaderContract):
    reader = "atc"
    path = TABLE


def parents(terminology: Terminology) -> dict[str, str]:
    codes = [code.split(":")[1] for code in terminology.codes]
    return {codes[row["child"]]: codes[row["parent"]] for row in terminology.parents.to_pylist()}


def test_parent_is_the_nearest_level_that_is_listed() -> None:
    """Catches prefixes of other lengths, and a code without its level above left alone."""
    assert parents(Terminology.read("atc", TABLE)) == {
        "X90": "X",
        "X90A": "X90",
        "X90AB": "X90A",
        "X90AB01": "X90AB",
        "X90CA02": "X90",
    }


def test_rows_of_further_doses_are_counted_and_other_names_are_synonyms() -> None:
    terminology = Terminology.read("atc", TABLE)
    assert terminology.concept_names("ATC:X90AB01") == ["mimpicol", "mimpicolum"]
    assert terminology.tallies["atc rows"].dropped == {"repeated rows of a code": 1}
    assert terminology.sources["ATC"].version == "2031"
    assert not terminology.sources["ATC"].redistributable


def test_usual_names_of_columns_and_dialects_are_understood(tmp_path: Path) -> None:
    (tmp_path / "atc.txt").write_text("Name;Code\nMIMPIC SYSTEM;X\nDRUGS FOR FLUMPA;X90\n")
    assert parents(Terminology.read("atc", tmp_path / "atc.txt", dialect="semicolon")) == {"X90": "X"}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("X90,a\nX9,b\n", r"x.csv:3: 'X9' is not an ATC code; they look like A, A10"),
        ("x90,a\n", r"x.csv:2: 'x90' is not an ATC code"),
        ("X90AB1,a\n", r"x.csv:2: 'X90AB1' is not an ATC code"),
        ("X90,a\nX90A,\n", r"x.csv:3: ATC code X90A has an empty name"),
        ("X90\n", r"x.csv:2: 1 cells, expected 2"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, rows: str, message: str) -> None:
    (tmp_path / "x.csv").write_text("ATC code,ATC level name\n" + rows)
    with pytest.raises(InputError, match=message):
        Terminology.read("atc", tmp_path / "x.csv")


def test_a_path_and_a_known_column_are_needed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="reader 'atc' needs the path of a table"):
        Terminology.read("atc")
    (tmp_path / "x.csv").write_text("drug,level\nX,a\n")
    with pytest.raises(InputError, match=r"x.csv:1: no column 'atc_code' or 'code' or "):
        Terminology.read("atc", tmp_path / "x.csv")
