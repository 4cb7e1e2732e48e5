from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "cometa"


class TestGeneral(LinkingContract):
    format = "cometa"
    path = FOLDER
    damaged = "train.csv"


class TestSpecificOneFile(LinkingContract):
    format = "cometa"
    path = FOLDER / "test.csv"
    options = {"level": "specific"}
    damaged = ""


def test_general_and_specific_ids_differ_and_labels_are_the_dictionary() -> None:
    general, specific = open_linking("cometa", FOLDER), open_linking("cometa", FOLDER, level="specific")
    assert [m.ids for m in general.split("test")] == [{"SNOMEDCT:90004"}, frozenset()]
    assert [m.ids for m in specific.split("test")] == [{"SNOMEDCT:90014"}, {"SNOMEDCT:90005"}]
    assert "Chronic flumpa" in specific.dictionary.names
    assert "Chronic flumpa" not in general.dictionary.names
    assert (general.name, specific.name) == ("cometa-general", "cometa-specific")


def test_the_example_is_the_document() -> None:
    """Catches quotes of the table left in the sentence, and an offset where the term is not."""
    first, second = open_linking("cometa", FOLDER).split("train")
    dataset = open_linking("cometa", FOLDER)
    assert dataset.documents[first.document] == 'I feel "flumpy" today'
    assert (first.start, first.end, second.start) == (8, 14, -1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\t15\tvorbs", "\t14\tvorbs", r"test.csv:3: ID '14' occurs twice"),
        ("\tterk\t", "\t\t", r"test.csv:2: the Term is empty"),
        ("General SNOMED ID", "SNOMED", r"test.csv:1: no column 'General SNOMED ID'"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (FOLDER / "test.csv").read_text("utf-8")
    assert old in text
    (tmp_path / "test.csv").write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(InputError, match=message):
        open_linking("cometa", tmp_path / "test.csv")


def test_another_level_is_refused() -> None:
    with pytest.raises(InputError, match=r"unknown level 'generic': allowed are .*did you mean 'general'"):
        open_linking("cometa", FOLDER, level="generic")


def test_a_place_is_that_of_the_example_as_it_stands(tmp_path: Path) -> None:
    """Catches a place in the example in lower case, which may be longer: "İ" has two characters there."""
    header = (FOLDER / "test.csv").read_text("utf-8").split("\n")[0]
    row = {"ID": "1", "Term": "Fever", "Example": "İ have fever"}
    cells = [row.get(name.strip('"'), "90004") for name in header.split("\t")]
    (tmp_path / "test.csv").write_text(header + "\n" + "\t".join(cells) + "\n", "utf-8")
    dataset = open_linking("cometa", tmp_path / "test.csv")
    (mention,) = dataset.split("all")
    assert dataset.documents["1"][mention.start : mention.end] == "fever"
