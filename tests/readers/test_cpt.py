"""CPT: a table of the user's own, with headings above the procedures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract

TABLE = FIXTURES / "cpt_2031.csv"


class TestCpt(ReaderContract):
    reader = "cpt"
    path = TABLE
    options = {"synonyms": "short_description"}
    damaged_options = {"missing": "drop"}


class TestCptUnderNamelessCategories(ReaderContract):
    reader = "cpt"
    path = FIXTURES / "cpt_categories.csv"
    options = {"missing": "group", "synonyms": "short_description"}


def parents(terminology: Terminology) -> set[tuple[str, str]]:
    codes = [code.split(":")[1] for code in terminology.codes]
    return {(codes[row["child"]], codes[row["parent"]]) for row in terminology.parents.to_pylist()}


def test_headings_stand_above_procedures_and_a_code_may_have_two_parents() -> None:
    terminology = Terminology.read("cpt", TABLE)
    assert parents(terminology) == {
        ("90001-90009", "00001-69999"),
        ("90001", "90001-90009"),
        ("90002", "90001-90009"),
        ("90002", "00001-69999"),
        ("0001T", "90001-90009"),
    }
    assert terminology.n_concepts == terminology.n_texts == 5
    source = terminology.sources["CPT"]
    assert (source.version, source.redistributable) == ("2031", False)


def test_without_headings_procedures_stand_alone_and_the_lost_parents_are_counted() -> None:
    """Catches a row of a category III code, which has a letter, taken for a heading."""
    terminology = Terminology.read("cpt", TABLE, headings=False)
    assert terminology.codes == ["CPT:0001T", "CPT:90001", "CPT:90002"]
    assert terminology.tallies["cpt rows"].dropped == {
        "headings": 2,
        "parents of headings": 1,
        "parents that are headings": 4,
        "repeated names of a code": 2,
        "repeated parents of a code": 1,
    }


def test_categories_without_a_description_group_procedures() -> None:
    """Catches procedures that lose their parents, a category with nothing below it, and an empty name."""
    table = FIXTURES / "cpt_categories.csv"
    terminology = Terminology.read("cpt", table, missing="group")
    assert [code for code, named in zip(terminology.codes, terminology.has_name) if not named] == [
        "CPT:G1",
        "CPT:G2",
        "CPT:TOP",
    ]
    assert parents(terminology) == {
        ("90001", "G1"),
        ("90002", "G1"),
        ("90003", "G2"),
        ("G1", "TOP"),
        ("G2", "TOP"),
        ("90004", "90003"),
    }
    assert "" not in terminology.strings
    assert terminology.tallies["cpt rows"].dropped == {
        "empty names": 3,
        "parents of codes without a described code below them": 1,
    }
    assert terminology.tallies["records"].notes == ["3 nameless grouping nodes"]
    hierarchy = Hierarchy(terminology)
    labels = torch.tensor([terminology.strings.index(f"Excision {letter}") for letter in "abcd"])
    assert hierarchy.distance(labels[:1], labels).tolist() == [[-1, 1, 3, 3]]
    assert hierarchy.depth[[terminology.concept(f"CPT:{code}") for code in ("TOP", "G2", "90004")]].tolist() == [
        0,
        1,
        3,
    ]
    hops = Hierarchy(terminology, "hops", max_distance=6)
    assert hops.distance(labels[:1], labels).tolist() == [[-1, 2, 4, 5]]


def test_columns_of_further_names_become_synonyms() -> None:
    """Catches an empty cell as a text, and the first synonym as a second preferred name."""
    terminology = Terminology.read("cpt", TABLE, synonyms="short_description")
    assert terminology.concept_names("CPT:0001T") == ["GRADTHA IMPLANT", "Gradtha implant"]
    assert terminology.stats()["terms by kind"] == {"preferred": 5, "synonym": 5}
    assert terminology.tallies["cpt rows"].dropped == {
        "empty names": 2,
        "repeated names of a code": 2,
        "repeated parents of a code": 1,
    }


def test_usual_names_of_columns_and_tabs_are_understood(tmp_path: Path) -> None:
    (tmp_path / "codes.tsv").write_text("concept_code\tname\tparent\n90001\tExcision\t\n90002\tIncision\t90001\n")
    assert parents(Terminology.read("cpt", tmp_path / "codes.tsv")) == {("90002", "90001")}
    (tmp_path / "codes.txt").write_text("code;descriptor\n90001;Excision\n")
    assert Terminology.read("cpt", tmp_path / "codes.txt", dialect="semicolon", hierarchy=False).n_concepts == 1


def test_a_parent_may_come_after_its_child_and_a_lost_one_is_dropped_when_asked(tmp_path: Path) -> None:
    (tmp_path / "cpt.csv").write_text("code,parent,description\n90002,90001,b\n90001,,a\n90003,9,c\n")
    terminology = Terminology.read("cpt", tmp_path / "cpt.csv", missing="drop")
    assert parents(terminology) == {("90002", "90001")}
    assert terminology.tallies["cpt rows"].dropped == {"parents without a row of their own": 1}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("90001,9,a\n", r"x.csv:2: parent '9' of '90001' has no row; missing=drop leaves it out"),
        ("9,,a\n,9,b\n", r"x.csv:3: description 'b' has no code"),
        ("90001,,\n", r"x.csv:2: code '90001' has an empty description"),
        ("90001,90001,a\n", r"x.csv:2: code '90001' is its own parent"),
        ("90001,9,a\n", r"missing=group keeps it without a name"),
        ("90001 a,,a\n", r"x.csv:2: code '90001 a' contains characters other than letters, digits"),
        ("90001,a\n", r"x.csv:2: 2 cells, expected 3, split at commas"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, rows: str, message: str) -> None:
    (tmp_path / "x.csv").write_text("code,parent,description\n" + rows)
    with pytest.raises(InputError, match=message):
        Terminology.read("cpt", tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        (None, {}, "reader 'cpt' needs the path of your own table"),
        (TABLE, {"missing": "keep"}, "unknown missing of reader 'cpt' 'keep'"),
        (TABLE, {"missing": "group", "headings": False}, "keeps headings without a name, which headings=false leaves"),
        (TABLE, {"name": "my table"}, "name of reader 'cpt' 'my table' contains characters other than letters"),
        (TABLE, {"synonyms": "medium_description"}, r"cpt_2031.csv:1: no column 'medium_description'"),
    ],
)
def test_bad_arguments_are_refused(path: Path | None, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Terminology.read("cpt", path, **options)


def test_the_table_and_the_cpt_of_umls_are_merged_under_two_names(tmp_path: Path) -> None:
    """Catches codes, parents or grouping nodes that keep the reader's own name."""
    own = Terminology.read("cpt", FIXTURES / "cpt_categories.csv", missing="group", name="CPT_TABLE")
    assert {code.split(":")[0] for code in own.codes} == {"CPT_TABLE"} and own.n_nameless
    assert set(own.parents["source"].to_pylist()) == set(own.sources) == {"CPT_TABLE"}
    other = tmp_path / "cpt.csv"
    other.write_text("code,description,parent\n90001,flumpa,\n")
    umls = Terminology.read("cpt", other)
    assert set(Terminology.merge(umls, own).sources) == {"CPT", "CPT_TABLE"}
