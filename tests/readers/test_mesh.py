"""MeSH in three forms of one content: parents from tree numbers, and which terms are names."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.readers._years import year_in_name
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES, ReaderContract
from tests.readers.mutations import check_contract, check_survives, mutated

TABLE, TREES, ACTIONS = (
    FIXTURES / name for name in ("mesh_terms_2031.tsv", "mtrees2031.bin", "mesh_actions_2031.tsv")
)
XML, ASCII = FIXTURES / "desc2031.xml", FIXTURES / "d2031.bin"
SUPPLEMENT, SUPPLEMENT_ASCII = FIXTURES / "supp2031.xml", FIXTURES / "c2031.bin"
BESIDE: dict[str, Any] = {"trees": TREES, "actions": ACTIONS}
FORMS = pytest.mark.parametrize(
    ("path", "beside"), [(TABLE, BESIDE), (XML, {}), (ASCII, {})], ids=["table", "xml", "ascii"]
)


class TestMeshTable(ReaderContract):
    reader = "mesh"
    path = TABLE
    options = BESIDE
    separator = b"\t"
    damaged_options = {"permuted": True}


class TestMeshXML(ReaderContract):
    reader = "mesh"
    path = XML
    separator = b">"
    damaged_options = {"permuted": True}


class TestMeshASCII(ReaderContract):
    reader = "mesh"
    path = ASCII
    separator = b"|"


class TestMeshSupplement(ReaderContract):
    reader = "mesh"
    path = XML
    options = {"supplement": SUPPLEMENT}
    separator = b">"


def read(path: Path, **options: Any) -> Terminology:
    return Terminology.read("mesh", path, **options)


def edges(terminology: Terminology) -> list[tuple[str, str]]:
    codes = terminology.codes
    return sorted((codes[row["child"]][5:], codes[row["parent"]][5:]) for row in terminology.parents.to_pylist())


@FORMS
def test_names_types_parents_and_actions_are_the_same_in_every_form(path: Path, beside: dict[str, Any]) -> None:
    """Catches a form that is read by other rules than its neighbors."""
    mesh = read(path, **beside)
    assert [mesh.concept_names(code) for code in mesh.codes] == [
        ["Flumpa Disease", "Flumpa Diseases"],
        ["Flumpa Drod, Mimpic", "MFD", "Voglic Drod"],
        ["Gruddle Neoplasms"],
        ["TKM-99", "Terkimab", "Terkira"],
        ["Flumpa Agents"],
        ["Zorbling"],
    ]
    assert edges(mesh) == [("D990002", "D990001"), ("D990002", "D990003"), ("D990003", "D990001")]
    assert [(row["head"], row["relation"], row["tail"]) for row in mesh.relations.to_pylist()] == [
        (3, "has_pharmacological_action", 4)
    ]
    assert [(row["concept"], row["type"]) for row in mesh.types.to_pylist()] == [
        (0, "C"),
        (1, "C"),
        (2, "C"),
        (3, "D"),
        (4, "D"),
    ]
    assert mesh.sources["MESH"].version == "2031"


@pytest.mark.parametrize("path", [XML, ASCII], ids=["xml", "ascii"])
def test_scope_notes_of_the_preferred_concept_are_definitions(path: Path) -> None:
    """Catches the note of a narrower concept taken for that of the heading, and line breaks."""
    mesh = read(path)
    assert mesh.definition_strings == [
        "Conditions in which the FLUMPA & its ducts make too much juice.",
        "A drod of the flumpa.",
    ]
    without = read(path, definitions=False)
    assert without.n_definitions == 0
    assert without.tallies["mesh rows"].dropped["definitions"] >= 2


def test_every_row_of_the_table_is_told_of() -> None:
    tally = read(TABLE, **BESIDE).tallies["mesh rows"]
    assert tally.dropped == {
        "permuted names": 2,
        "tree numbers of a name that no descriptor has": 1,
        "tree numbers below a parent that another number leads to": 1,
        "tree numbers below one that no descriptor has": 2,
        "pharmacological actions of what is no descriptor": 1,
        "pharmacological actions that are no other descriptor": 1,
    }
    assert tally.notes == ["1 descriptors have no tree number, and so neither parents nor a type"]
    assert read(ASCII).tallies["mesh rows"].dropped["records that are no descriptors"] == 1


@FORMS
def test_options_leave_terms_out_and_count_them(path: Path, beside: dict[str, Any]) -> None:
    """Catches a field of the ASCII form taken for its neighbor: letters say which it is."""
    mesh = read(path, **beside, without_tags="TRD,LAB", concepts="preferred")
    assert mesh.concept_names("MESH:D990004") == ["Terkimab"]
    assert mesh.concept_names("MESH:D990002") == ["Flumpa Drod, Mimpic", "MFD"]
    dropped = mesh.tallies["mesh rows"].dropped
    assert (dropped["names tagged TRD"], dropped["names of further concepts"]) == (1, 1)
    notes = read(path, **beside, without_tags="TRADE").tallies["mesh rows"].notes
    assert any(note.startswith("without_tags: no name is tagged 'TRADE'; found ") for note in notes)


@pytest.mark.parametrize("path", [XML, ASCII], ids=["xml", "ascii"])
def test_gzipped_files_are_read_by_the_names_that_nlm_gives_them(path: Path, tmp_path: Path) -> None:
    named = tmp_path / f"{path.stem}.gz"
    named.write_bytes(gzip.compress(path.read_bytes()))
    assert read(named).digest == read(path).digest


@pytest.mark.parametrize(("path", "beside"), [(TABLE, BESIDE), (XML, {})], ids=["table", "xml"])
def test_permuted_terms_are_read_where_asked_for(path: Path, beside: dict[str, Any]) -> None:
    mesh = read(path, **beside, permuted=True)
    assert mesh.concept_names("MESH:D990001") == ["Diseases, Flumpa", "Flumpa Disease", "Flumpa Diseases"]
    assert "permuted names" not in mesh.tallies["mesh rows"].dropped


def test_descriptors_above_one_another_in_two_trees_are_a_cycle(tmp_path: Path) -> None:
    """Catches a reader that hides what ``without_cycles`` has to count."""
    trees = tmp_path / "mtrees.bin"
    trees.write_text("Flumpa Diseases;C90\nTerkimab;C90.100\nTerkimab;C91\nFlumpa Diseases;C91.100\n")
    mesh = read(TABLE, trees=trees)
    assert mesh.n_cyclic_parents == 2
    assert mesh.without_cycles().parents.num_rows == 0


def test_a_table_without_trees_has_no_parents() -> None:
    mesh = read(TABLE)
    assert (mesh.n_concepts, mesh.parents.num_rows, mesh.relations.num_rows) == (6, 0, 0)


BOMB = '<?xml version="1.0"?>\n<!DOCTYPE d [<!ENTITY a "aaaa">]>\n<DescriptorRecordSet>&a;</DescriptorRecordSet>\n'


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("d.xml", BOMB, r"d\.xml:2: entity 'a' is declared or used; the XML of descriptors has only the predefined"),
        ("d.xml", "<SupplementalRecordSet/>", r"d\.xml:1: root element is <SupplementalRecordSet>"),
        ("d.xml", "<DescriptorRecordSet/>", r"d\.xml: contains no descriptor of MeSH"),
        ("d.xml", "<DescriptorRecordSet>\n<a>", r"d\.xml:2: is not well-formed XML"),
        ("d.bin", "MH = Flumpa\n", r"d\.bin:1: expected \*NEWRECORD, or 'MH = Heading' in a record"),
        ("d.bin", "\n", r"d\.bin: has no \*NEWRECORD"),
        ("d.bin", "*NEWRECORD\nMH = Flumpa\n", r"d\.bin:1: '' is not a descriptor of MeSH; they look like D000001"),
        ("d.bin", "*NEWRECORD\nUI = D990001\n", r"d\.bin:1: descriptor D990001 has no name"),
        (
            "d.bin",
            "*NEWRECORD\nUI = D990001\nMH = Flumpa\n*NEWRECORD\nUI = D990001\nMH = Drod\n",
            r"d\.bin:4: descriptor 'D990001' occurs twice",
        ),
        (
            "d.bin",
            "*NEWRECORD\nUI = D990001\nMH = Flumpa\nMN = c90\n",
            r"d\.bin:1: 'c90' is not a tree number; they look like C01",
        ),
        (
            "d.bin",
            "*NEWRECORD\nUI = D990001\nMH = Flumpa\nMN = C90\nMN = C90\n",
            r"d\.bin:1: tree number C90 occurs twice",
        ),
    ],
)
def test_bad_files_are_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\tY\tN\tNON\tY\n", "\tY\tno\tNON\tY\n", r"x\.tsv:2: expected the flag Y or N, found 'no'"),
        ("\tMFD", "\tMFD\t", r"x\.tsv:6: 10 cells, expected 9"),
        (
            "Drod, Mimpic\tM9900003",
            "Drod\tM9900003",
            r"x\.tsv:7: D990002 has the name 'Flumpa Drod' here and 'Flumpa D",
        ),
        ("LexicalTag", "Tag", r"x\.tsv:1: no column 'LexicalTag'"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "x.tsv").write_text(TABLE.read_text().replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        read(tmp_path / "x.tsv")


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        (None, {}, "reader 'mesh' needs the path of MeSH"),
        (TABLE, {"concepts": "every"}, "concepts must be all or preferred, found 'every'"),
        (XML, {"trees": TREES}, "contains its trees and actions"),
        (TABLE, {"trees": ACTIONS}, r"mesh_actions_2031.tsv:1: expected 'Name;C01.100'"),
        (TABLE, {"trees": "nowhere.bin"}, "nowhere.bin: no such file"),
    ],
)
def test_bad_options_are_one_line(path: Path | None, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Terminology.read("mesh", path, **options)


@pytest.mark.long
@pytest.mark.parametrize(("option", "separator"), [("trees", b";"), ("actions", b"\t")])
@given(data=st.data())
def test_a_damaged_file_beside_the_table_is_one_line_or_read_by_the_contract(
    option: str, separator: bytes, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Catches a traceback for a damaged tree number or action, and rows that no count has."""
    path = tmp_path_factory.getbasetemp() / f"damaged_{BESIDE[option].name}"
    path.write_bytes(data.draw(mutated(BESIDE[option].read_bytes(), separator)))
    check_contract("mesh", check_survives("mesh", TABLE, **{**BESIDE, option: path}))


@pytest.mark.parametrize(("name", "year"), [("desc2031.xml", "2031"), ("d102031.bin", ""), ("v12099x.csv", "")])
def test_a_year_is_no_part_of_a_longer_number(name: str, year: str) -> None:
    assert year_in_name(Path(name)) == year
