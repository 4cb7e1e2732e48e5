from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.contracts.linking_contract import FIXTURES, LinkingContract

FOLDER = FIXTURES / "mantra"


class TestMantra(LinkingContract):
    format = "mantra"
    path = FOLDER
    options = {"language": "fr"}
    damaged = "French/EMEA_toy/d1.ann"


def test_notes_are_tuples_with_or_without_the_id() -> None:
    """Catches the type taken for the semantic group, and an id that is looked for in one place only."""
    dataset = open_linking("mantra", FOLDER, language="fr")
    assert [(m.text, m.type, set(m.ids)) for m in dataset.split("test")] == [
        ("flumpe", "DISO", {"UMLS:X0001"}),
        ("vorbes chroniques", "DISO", {"UMLS:X0002"}),
        ("Zorb", "DISO", {"UMLS:X0003"}),
        ("simple", "DISO", set()),
    ]
    assert dataset.dictionary.names == ["flumpa", "vorb", "zorb's"]
    assert dataset.name == "mantra-fr"


def test_units_and_languages_are_apart() -> None:
    assert len(open_linking("mantra", FOLDER, language="fr", units="EMEA").split("test")) == 2
    assert [m.text for m in open_linking("mantra", FOLDER).split("test")] == ["skark"]
    assert [m.text for m in open_linking("mantra", FOLDER / "French" / "Medline_EN_FR_toy").split("test")] == [
        "Zorb",
        "simple",
    ]
    with pytest.raises(InputError, match=r"contains no .ann file and no folder Dutch/Patents"):
        open_linking("mantra", FOLDER, language="nl", units="Patents")
    with pytest.raises(InputError, match=r"unknown units 'emea'"):
        open_linking("mantra", FOLDER, units="emea")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("('X0001'", "(X0001", r"d1.ann:1: the note must be a tuple \(id, name, semantic type, semantic group\)"),
        ("AnnotatorNotes T1", "AnnotatorNotes T7", r"d1.ann:2: a note on T7, which is not an entity of the file"),
        ("DISO 3 9", "DISO 3-9", r"d1.ann:1: an entity is its id, 'type start end' and its text"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    shutil.copytree(FOLDER / "French" / "EMEA_toy", tmp_path, dirs_exist_ok=True)
    text = (tmp_path / "d1.ann").read_text("utf-8")
    assert old in text
    (tmp_path / "d1.ann").write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(InputError, match=message):
        open_linking("mantra", tmp_path)
