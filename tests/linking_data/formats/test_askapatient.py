from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "askapatient"


class TestAskAPatient(LinkingContract):
    format = "askapatient"
    path = FOLDER
    damaged = "AskAPatient.fold-0.train.txt"


def test_a_fold_its_splits_and_its_dictionary() -> None:
    """Catches Latin-1 read as something else, quotes read as quoting, and the other fold's files."""
    dataset = open_linking("askapatient", FOLDER, fold=1)
    assert {split: [m.text for m in found] for split, found in dataset.mentions.items()} == {
        "train": ["my flümp hurts", "skarky all day"],
        "dev": ["skarked"],
        "test": ['no "zorb"', "skarky"],
    }
    assert dataset.split("train")[0].ids == {"90001"}
    assert [dataset.dictionary.entry(i) for i in range(3)] == [
        ("Flumpa", {"90001"}),
        ("Skark", {"90002"}),
        ("Zorb", {"90003"}),
    ]
    assert dataset.name == "askapatient-fold-1"


def test_a_copy_with_the_mark_of_utf_8_is_refused(tmp_path: Path) -> None:
    """Catches "flÃ¼mp", since the published files are in Latin-1."""
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "AskAPatient.fold-1.train.txt"
    file.write_bytes(file.read_text("latin-1").encode("utf-8-sig"))
    with pytest.raises(
        InputError, match=r"fold-1.train.txt: begins with the byte order mark of UTF-8 and is therefore not latin-1"
    ):
        open_linking("askapatient", tmp_path, fold=1)
