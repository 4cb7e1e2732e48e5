from __future__ import annotations

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "quaero"
NAMES = FOLDER / "names.txt"


class TestQuaero(LinkingContract):
    format = "quaero"
    path = FOLDER
    dictionary = "names.txt"
    damaged = "corpus/test/MEDLINE/test1.ann"


def test_several_ids_are_alternatives() -> None:
    dataset = open_linking("quaero", FOLDER, dictionary=NAMES)
    assert [(m.text, m.gold) for m in dataset.split("test")] == [
        ("zorbes", (frozenset({"UMLS:X0001", "UMLS:X0002"}),)),
        ("vorbe", (frozenset({"UMLS:X0003", "UMLS:X0004"}),)),
        ("Prévention", ()),
    ]
    assert list(dataset.mentions) == ["train", "dev", "test"]


def test_units_are_apart_and_the_inner_folder_will_do() -> None:
    dataset = open_linking("quaero", FOLDER / "corpus", dictionary=NAMES, units="EMEA")
    assert [m.text for m in dataset.split("test")] == ["zorbe"]
    with pytest.raises(InputError, match=r"unknown units 'Medline': allowed are 'EMEA', 'MEDLINE'"):
        open_linking("quaero", FOLDER, dictionary=NAMES, units="Medline")
