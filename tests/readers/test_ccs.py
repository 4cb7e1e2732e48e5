"""CCS: four levels of categories, and the ICD-9-CM codes in the lowest."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

TABLE = FIXTURES / "ccs_multi_dx_tool_2031.csv"


class TestCcs(ReaderContract):
    reader = "ccs"
    path = TABLE


@pytest.fixture(scope="module")
def ccs() -> Terminology:
    return Terminology.read("ccs", TABLE)


def xrefs(terminology: Terminology, predicate: str) -> list[tuple[str, str]]:
    rows = terminology.xrefs.to_pylist()
    return [(terminology.codes[r["concept"]], r["target"]) for r in rows if r["predicate"] == predicate]


def test_levels_are_parents(ccs: Terminology) -> None:
    rows = ccs.parents.to_pylist()
    assert {ccs.codes[r["child"]]: ccs.codes[r["parent"]] for r in rows} == {
        "CCS:1.1": "CCS:1",
        "CCS:1.1.1": "CCS:1.1",
        "CCS:1.1.2": "CCS:1.1",
        "CCS:1.1.2.1": "CCS:1.1.2",
    }
    assert ccs.sources["CCS"].version == "2031"


def test_codes_hang_from_the_lowest_level_with_their_points(ccs: Terminology) -> None:
    """Catches quotes and blanks left in a code, the point of an E code one place early, and a level too high."""
    assert xrefs(ccs, "contains") == [
        ("CCS:1.1.1", "ICD9CM:909.00"),
        ("CCS:1.1.1", "ICD9CM:909.01"),
        ("CCS:1.1.2.1", "ICD9CM:909"),
        ("CCS:2", "ICD9CM:E909.0"),
        ("CCS:2", "ICD9CM:V90.9"),
    ]
    assert ccs.tallies["ccs rows"].dropped == {"repeated rows": 1}


def test_single_level_numbers_are_no_part_of_names(ccs: Terminology) -> None:
    """Catches "Terkosis [901.]" as a name; another spelling of a label is a synonym."""
    assert ccs.strings == [
        "Flumpa infection",
        "Gradthemia (except in pruglum)",
        "Left gradthemia",
        "Mimpic and Drodthic Diseases",
        "Mimpic and drodthic diseases",
        "Residual codes; unclassified",
        "Terkosis",
    ]
    assert [target for _, target in xrefs(ccs, "xref")] == [
        "CCS_SINGLE:901",
        "CCS_SINGLE:9012",
        "CCS_SINGLE:902",
        "CCS_SINGLE:903",
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("'90.9','1',\"a\",' ',\" \",' ',\" \",' ',\" \"", r"x.csv:2: '90.9' is not an ICD-9-CM diagnosis code"),
        (
            "'909','1',\"a\",'2.1',\"b\",' ',\" \",' ',\" \"",
            r"x.csv:2: category '2.1' does not continue the number of '1'",
        ),
        ("'909','1',\"a\",' ',\" \",'1.1.1',\"b\",' ',\" \"", r"x.csv:2: level 2 is empty, but a lower level is not"),
        ("'909',' ',\" \",' ',\" \",' ',\" \",' ',\" \"", r"x.csv:2: level 1 needs a number like 1.1.2 and a label"),
        ("'909','1',\" \",' ',\" \",' ',\" \",' ',\" \"", r"x.csv:2: level 1 needs a number .*, found '1', ''"),
        ("'909','1',\"[4.]\",' ',\" \",' ',\" \",' ',\" \"", r"x.csv:2: category 1 has no name, found '\[4.\]'"),
        ("'909','1',\"a\"", r"x.csv:2: 3 cells, expected 9"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, row: str, message: str) -> None:
    header = TABLE.read_text("utf-8").splitlines()[0]
    (tmp_path / "x.csv").write_text(f"{header}\n{row}\n")
    with pytest.raises(InputError, match=message):
        Terminology.read("ccs", tmp_path / "x.csv")


def test_a_path_and_the_four_levels_are_needed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="reader 'ccs' needs the path of the multi-level table"):
        Terminology.read("ccs")
    (tmp_path / "x.csv").write_text("'ICD-9-CM CODE','CCS LVL 1','CCS LVL 1 LABEL'\n")
    with pytest.raises(InputError, match=r"x.csv:1: no column 'ccs_lvl_2' or "):
        Terminology.read("ccs", tmp_path / "x.csv")


@pytest.mark.realdata
def test_ccs_2015_has_727_categories_of_15072_codes(realdata: Path) -> None:
    """18, 135, 366 and 208 categories by level; "Mental illness" is spelt in two ways."""
    terminology = Terminology.read("ccs", realdata / "hierarchies" / "ccs_multi_dx_tool_2015.csv.gz")
    levels = [code.count(".") for code in terminology.codes]
    assert [levels.count(level) for level in range(4)] == [18, 135, 366, 208]
    assert terminology.parents.num_rows == 727 - 18
    assert terminology.n_texts == 728
    assert len(xrefs(terminology, "contains")) == 15_072
    assert terminology.tallies["ccs rows"].n_dropped == 0
