from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from st_biomed.linking_data.formats.codiesp import LABELS
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "codiesp"
NAMES = FOLDER / "names.txt"


class TestDiagnoses(LinkingContract):
    format = "codiesp"
    path = FOLDER
    dictionary = "names.txt"
    damaged = "test/testX.tsv"


class TestProcedures(LinkingContract):
    format = "codiesp"
    path = FOLDER
    dictionary = "names.txt"
    options = {"label": "PROCEDIMIENTO"}
    damaged = "test/testX.tsv"


def test_diagnoses_and_procedures_have_their_own_vocabulary() -> None:
    """Catches lower-case codes that no ICD-10-CM dictionary has, and procedures called ICD-10-CM."""
    diagnoses = open_linking("codiesp", FOLDER, dictionary=NAMES)
    procedures = open_linking("codiesp", FOLDER, dictionary=NAMES, label="PROCEDIMIENTO")
    assert [(m.text, set(m.ids)) for m in diagnoses.split("test")] == [("flumpa aguda", {"ICD10CM:X01.1"})]
    assert [(m.text, set(m.ids)) for m in procedures.split("test")] == [("terkin", {"ICD10PCS:0XX"})]
    assert diagnoses.tallies["mentions"].dropped == {"rows of PROCEDIMIENTO": 3}
    assert diagnoses.missing("test") == procedures.missing("test") == []


def test_bare_codes_take_the_prefix_of_their_label_or_the_given_one(tmp_path: Path) -> None:
    """Catches procedures whose dictionary has the prefix of diagnoses, so that all of them miss."""
    (tmp_path / "names.txt").write_text("X01.1||flumpa\n0XX||terkin\n")
    for label, code in (("DIAGNOSTICO", "X01.1"), ("PROCEDIMIENTO", "0XX")):
        for prefix in (None, "", "ZORB"):
            found = open_linking("codiesp", FOLDER, dictionary=tmp_path / "names.txt", label=label, prefix=prefix)
            begin = {None: LABELS[label] + ":", "": ""}.get(prefix, "ZORB:")
            assert found.missing("test") == [] and {id_ for m in found.split("test") for id_ in m.ids} == {
                begin + code
            }


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "DIAGNOSTICO",
            "DIAGNOSIS",
            r"testX.tsv:1: the label must be DIAGNOSTICO or PROCEDIMIENTO, found 'DIAGNOSIS'",
        ),
        ("13 19;", "13;", r"testX.tsv:1: expected a text and its positions"),
        ("\tflumpa aguda\t", "\t", r"testX.tsv:1: 4 cells, expected 5"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "test" / "testX.tsv"
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(InputError, match=message):
        open_linking("codiesp", tmp_path, dictionary=NAMES)
