"""Any corpus in PubTator: BioRED's files, whose relations have a fifth cell."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "pubtator"
NAMES = FOLDER / "names.txt"


class TestPubTator(LinkingContract):
    format = "pubtator"
    path = FOLDER
    dictionary = "names.txt"
    damaged = "Train.PubTator"


def test_relations_of_any_width_are_passed_over_and_counted() -> None:
    """Catches BioRED refused for the cell that says whether a relation is novel, and wider ones."""
    dataset = open_linking("pubtator", FOLDER, dictionary=NAMES)
    assert dataset.tallies["mentions"].to_dict() == {
        "read": 17,
        "kept": 11,
        "dropped": {"relations between concepts": 6},
    }
    assert [(m.text, m.ids) for m in dataset.split("test")] == [
        ("flumpa", frozenset({"X0001"})),
        ("Skark", frozenset({"X0002"})),
    ]
    assert dataset.split("train")[5].gold == (frozenset({"99001", "99002"}),)


@pytest.mark.parametrize("tail", ["", "\tNo", "\tNovel\t0.5", "\tNovel\t0.5\tx", "\t" * 9])
def test_a_relation_may_have_any_number_of_cells(tmp_path: Path, tail: str) -> None:
    file = tmp_path / "a.txt"
    file.write_text(f"1|t|Zorb.\n1|a|None.\n1\t0\t4\tZorb\tDisease\tX0003\n1\tAssociation\t12\tX0001{tail}\n")
    dataset = open_linking("pubtator", file, dictionary=NAMES)
    assert dataset.tallies["mentions"].dropped == {"relations between concepts": 1}
    assert [mention.text for mention in dataset.split("all")] == ["Zorb"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1\tx\t4\tZorb\tDisease\tX0003", r"a.txt:3: offsets must be two numbers, found 'x' and '4'"),
        ("1\t0\t4\tZorb\tDisease", r"a.txt:3: 5 cells, expected 6 .* or a relation"),
        ("1\t0\tZorb\tDisease", r"a.txt:3: 4 cells, expected 6"),
        ("1\tAssociation\tX0001", r"a.txt:3: 3 cells, expected 6"),
    ],
)
def test_a_damaged_annotation_is_not_taken_for_a_relation(tmp_path: Path, row: str, message: str) -> None:
    """Catches mentions that are lost among the relations."""
    (tmp_path / "a.txt").write_text(f"1|t|Zorb.\n1|a|None.\n{row}\n")
    with pytest.raises(InputError, match=message):
        open_linking("pubtator", tmp_path / "a.txt", dictionary=NAMES)


def test_types_are_chosen_and_the_others_counted() -> None:
    dataset = open_linking("pubtator", FOLDER, dictionary=NAMES, types="GeneOrGeneProduct")
    assert [len(found) for found in dataset.mentions.values()] == [2, 0, 0]
    assert dataset.tallies["mentions"].dropped["mentions of type DiseaseOrPhenotypicFeature"] == 7


def test_a_document_of_two_splits_counts_once(tmp_path: Path) -> None:
    """Catches a test document that is trained on, and one that is measured twice."""
    for name in ("Train.PubTator", "Test.PubTator"):
        shutil.copy(FOLDER / "Train.PubTator", tmp_path / name)
    dataset = open_linking("pubtator", tmp_path, dictionary=NAMES)
    assert [len(found) for found in dataset.mentions.values()] == [7, 0]
    assert dataset.tallies["mentions"].dropped["mentions of a document that came before"] == 7
