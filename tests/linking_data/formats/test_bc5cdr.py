from __future__ import annotations

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "bc5cdr"


class TestDiseases(LinkingContract):
    format = "bc5cdr"
    path = FOLDER
    dictionary = "CTD_diseases.tsv"
    damaged = "CDR_TrainingSet.PubTator.txt"


class TestChemicals(LinkingContract):
    format = "bc5cdr"
    path = FOLDER
    dictionary = "CTD_chemicals.csv"
    options = {"entity": "Chemical"}
    damaged = "CDR_TrainingSet.PubTator.txt"


def test_parts_of_a_composite_mention_are_those_of_the_annotators() -> None:
    dataset = open_linking("bc5cdr", FOLDER, dictionary=FOLDER / "CTD_diseases.tsv")
    assert dataset.name == "bc5cdr-disease"
    vorb, composite, unknown = dataset.split("train")
    assert composite.parts == ("mimpic lesions", "skark lesions")
    assert composite.gold == (frozenset({"MESH:X0001"}), frozenset({"MESH:X0003"}))
    assert (vorb.parts, unknown.gold) == (("vorb",), ())
    assert dataset.tallies["mentions"].dropped == {"mentions of type Chemical": 4, "relations between concepts": 1}


def test_fewer_parts_than_ids_are_not_used() -> None:
    """Catches a part looked up for the ids of two."""
    chemical = open_linking("bc5cdr", FOLDER, dictionary=FOLDER / "CTD_chemicals.csv", entity="Chemical")
    assert chemical.split("train")[-1].parts == ("gradthines A and B",)
    assert len(chemical.split("train")[-1].gold) == 2


def test_another_entity_is_refused() -> None:
    with pytest.raises(InputError, match=r"unknown entity 'disease': allowed are 'Chemical', 'Disease'; did you mean"):
        open_linking("bc5cdr", FOLDER, dictionary=FOLDER / "CTD_diseases.tsv", entity="disease")
