"""PheCodes 1.2 and X: the tree is in the decimals of the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract


class TestPhecode12(ReaderContract):
    reader = "phecode"
    path = FIXTURES / "phecode_1.2.csv"
    options = {"icd_names": FIXTURES / "phecode_icd_names.csv"}


class TestPhecodeX(ReaderContract):
    reader = "phecode"
    path = FIXTURES / "phecode_x.csv"


def parents(terminology: Terminology) -> dict[str, str]:
    rows = terminology.parents.to_pylist()
    return {terminology.codes[row["child"]]: terminology.codes[row["parent"]] for row in rows}


def test_parent_is_the_longest_shorter_code_that_is_defined() -> None:
    """Catches parents by number: 008.50 is not 8.5, and 008.61 has no 008.6 to be below."""
    assert parents(Terminology.read("phecode", FIXTURES / "phecode_1.2.csv")) == {
        "PHECODE:008.5": "PHECODE:008",
        "PHECODE:008.50": "PHECODE:008.5",
        "PHECODE:008.61": "PHECODE:008",
    }


def test_version_x_is_told_by_its_codes_and_loses_its_asterisks() -> None:
    """Catches the column "phenotype", which is the name in one version and the code in the other."""
    terminology = Terminology.read("phecode", FIXTURES / "phecode_x.csv")
    assert parents(terminology) == {
        "PHECODEX:FL_705.1": "PHECODEX:FL_705",
        "PHECODEX:FL_705.11": "PHECODEX:FL_705.1",
        "PHECODEX:FL_705.123": "PHECODEX:FL_705.1",
    }
    assert terminology.concept_names("PHECODEX:FL_705.1") == ["Mimpic flumpa disease"]
    assert terminology.sources["PHECODEX"].version == "X"


def test_category_is_the_type_and_null_is_none() -> None:
    """Catches a type called "NULL"."""
    terminology = Terminology.read("phecode", FIXTURES / "phecode_1.2.csv")
    assert terminology.types["type"].to_pylist() == ["flumpal"] * 4


def test_icd_names_become_synonyms_and_damaged_codes_are_counted() -> None:
    terminology = Terminology.read(
        "phecode", FIXTURES / "phecode_1.2.csv", icd_names=FIXTURES / "phecode_icd_names.csv"
    )
    assert terminology.concept_names("PHECODE:008.5") == ["Mimpic flumpa NOS", "Mimpic flumpa disease"]
    assert terminology.tallies["phecode rows"].dropped == {
        "ICD names of no defined phecode": 1,
        "empty ICD names": 1,
        "repeated names of a phecode": 1,
    }


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("008,a\n8.5,b\n", r"x.csv:3: '8.5' is no phecode of version 1.2"),
        ("8.5,b\n", r"x.csv:2: '8.5' is no phecode"),
        ("008,a\nCM_705,b\n", r"x.csv:3: 'CM_705' is no phecode of version 1.2"),
        ("008,a\n008,b\n", r"x.csv:3: phecode '008' is defined twice"),
        ("008,\n", r"x.csv:2: phecode '008' has an empty name"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, rows: str, message: str) -> None:
    (tmp_path / "x.csv").write_text("phecode,description\n" + rows)
    with pytest.raises(InputError, match=message):
        Terminology.read("phecode", tmp_path / "x.csv")


def test_a_path_is_needed() -> None:
    with pytest.raises(InputError, match="needs the path of the definitions"):
        Terminology.read("phecode")
