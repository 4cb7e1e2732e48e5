from __future__ import annotations

from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "cantemist"


class TestCantemist(LinkingContract):
    format = "cantemist"
    path = FOLDER
    dictionary = "names.txt"
    damaged = "test-set/cantemist-norm/test-set_1.ann"


def test_a_code_with_slashes_is_one_id_and_development_sets_are_one() -> None:
    dataset = open_linking("cantemist", FOLDER, dictionary=FOLDER / "names.txt")
    assert {split: len(found) for split, found in dataset.mentions.items()} == {"train": 2, "dev": 4, "test": 2}
    assert [m.ids for m in dataset.split("test")] == [{"ICDO:9999/3/H"}, {"ICDO:9998/0"}]
    assert dataset.missing("test") == []
