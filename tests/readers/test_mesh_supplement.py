"""Supplementary records of MeSH in both forms, beside descriptors in any form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.readers import reader
from st_biomed.records import Record, Relation, Tally
from tests.readers.mutations import check_contract, check_survives, mutated
from tests.readers.test_mesh import ASCII, BESIDE, FORMS, SUPPLEMENT, SUPPLEMENT_ASCII, TABLE, XML, read

BOTH = pytest.mark.parametrize("supplement", [SUPPLEMENT, SUPPLEMENT_ASCII], ids=["xml", "ascii"])


def stream(path: Path, **options: Any) -> tuple[list[Record], Tally]:
    tally = Tally()
    return list(reader("mesh").records(path, tally=tally, **options)), tally


@BOTH
@FORMS
def test_records_are_the_same_in_every_form(path: Path, beside: dict[str, Any], supplement: Path) -> None:
    """Catches a qualifier that hides the heading, a star read as part of it, and a form with its own rules."""
    mesh = read(path, **beside, supplement=supplement)
    assert [mesh.concept_names(f"MESH:C99000{i}") for i in (1, 2)] == [
        ["ZL-7", "zorbolate", "zorbolate citrate"],
        ["Drod, Early", "Early Drod"],
    ]
    codes = mesh.codes
    triples = [(codes[row["head"]], row["relation"], codes[row["tail"]]) for row in mesh.relations.to_pylist()]
    assert [triple for triple in triples if triple[0].startswith("MESH:C")] == [
        ("MESH:C990001", "has_pharmacological_action", "MESH:D990005"),
        ("MESH:C990001", "mapped_to", "MESH:D990004"),
        ("MESH:C990001", "mapped_to", "MESH:D990005"),
        ("MESH:C990002", "mapped_to", "MESH:D990002"),
    ]
    dropped = mesh.tallies["mesh rows"].dropped
    assert (dropped["mappings to what is no descriptor"], dropped["repeated mappings to a heading"]) == (1, 1)
    assert dropped["notes of supplementary records"] == 2
    assert mesh.tallies["mesh rows"].notes == ["1 descriptors have no tree number, and so neither parents nor a type"]


def test_both_forms_give_the_same_records_and_tally() -> None:
    (of_xml, xml_tally), (of_ascii, ascii_tally) = (
        stream(ASCII, supplement=file, supplement_notes=True) for file in (SUPPLEMENT, SUPPLEMENT_ASCII)
    )
    assert of_xml == of_ascii
    assert xml_tally.to_dict() == ascii_tally.to_dict()


@BOTH
def test_options_apply_to_supplementary_records(supplement: Path) -> None:
    mesh = read(XML, supplement=supplement, concepts="preferred", without_tags="LAB", supplement_notes=True)
    assert mesh.concept_names("MESH:C990001") == ["zorbolate"]
    assert "A drod that begins before the age of nine." in mesh.definition_strings


def test_without_the_option_there_is_none() -> None:
    records, _ = stream(XML)
    assert not [record for record in records if isinstance(record, Relation) and record.relation == "mapped_to"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "s.xml",
            "<DescriptorRecordSet/>",
            r"s\.xml:1: root element is <DescriptorRecordSet>, expected <Supplemental",
        ),
        ("s.xml", "<SupplementalRecordSet/>", r"s\.xml: contains no supplementary record of MeSH"),
        ("s.tsv", "", r"s\.tsv: supplementary records must be \.xml or \.bin, found '\.tsv'"),
        ("c.bin", "*NEWRECORD\nRECTYPE = D\nMH = a\nUI = D990001\n", r"c\.bin: contains no supplementary record"),
        ("c.bin", "*NEWRECORD\nNM = a\nUI = D990001\n", r"c\.bin:1: 'D990001' is not a supplementary record of MeSH"),
        ("c.bin", "*NEWRECORD\nUI = C990001\n", r"c\.bin:1: supplementary record C990001 has no name"),
        (
            "c.bin",
            "*NEWRECORD\nNM = a\nUI = C990001\n*NEWRECORD\nNM = b\nUI = C990001\n",
            r"c\.bin:4: supplementary record C990001 occurs twice",
        ),
    ],
)
def test_bad_files_are_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        read(TABLE, **BESIDE, supplement=tmp_path / name)


def test_notes_of_no_file_are_refused() -> None:
    with pytest.raises(InputError, match="supplement_notes of reader 'mesh' needs supplement"):
        read(TABLE, **BESIDE, supplement_notes=True)


@pytest.mark.long
@pytest.mark.parametrize(("file", "separator"), [(SUPPLEMENT, b">"), (SUPPLEMENT_ASCII, b"|")], ids=["xml", "ascii"])
@given(data=st.data())
def test_a_damaged_supplement_is_one_line_or_read_by_the_contract(
    file: Path, separator: bytes, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"damaged_{file.name}"
    path.write_bytes(data.draw(mutated(file.read_bytes(), separator)))
    check_contract("mesh", check_survives("mesh", XML, supplement=path, supplement_notes=True))
