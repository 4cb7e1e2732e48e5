from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "mcn"
NAMES = FOLDER / "names.txt"


class TestMCN(LinkingContract):
    format = "mcn"
    path = FOLDER
    dictionary = "names.txt"
    damaged = "test/test_norm/0002.norm"


def test_mentions_are_cut_out_of_their_notes() -> None:
    """Catches pieces of one mention that run together, and a line break within a mention."""
    dataset = open_linking("mcn", FOLDER, dictionary=NAMES)
    assert [(m.text, set(m.ids), m.document) for m in dataset.split("train")] == [
        ("flumpa", {"UMLS:X0000001"}, "0001"),
        ("left terkia", {"UMLS:X0000002"}, "0001"),
        ("acute", set(), "0001"),
    ]
    assert [m.text for m in dataset.split("test")] == ["mimpa", "flumpa gland", "then flumpa"]
    assert dataset.missing("test") == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("||X0000001||", "||", r"0002.norm:1: expected id\|\|CUI\|\|start\|\|end"),
        ("||2||7", "||2||700", r"0002.norm:1: positions beyond the 33 characters of the note"),
        ("||2||7", "||2||7||9", r"0002.norm:1: expected id"),
        ("||2||7", "||7||2", r"0002.norm:1: positions beyond"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    file = tmp_path / "test" / "test_norm" / "0002.norm"
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(InputError, match=message):
        open_linking("mcn", tmp_path, dictionary=NAMES)


def test_a_missing_note_is_named(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    (tmp_path / "test" / "test_note" / "0002.txt").unlink()
    with pytest.raises(InputError, match=r"0002.norm: its note .*0002.txt is missing"):
        open_linking("mcn", tmp_path, dictionary=NAMES)
    with pytest.raises(InputError, match=r"contains none of train/train_norm/\*.norm"):
        open_linking("mcn", tmp_path / "train", dictionary=NAMES)
