"""Folders of BioC: names tell the split, and what is ambiguous is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking_data import open_linking
from tests.linking_data.formats.bioc_files import FOLDER, JSON, NAMES


def copied(source: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(FOLDER / source, target)


@pytest.mark.parametrize(
    "names",
    [
        ("CDR_TrainingSet.BioC.xml", "CDR_DevelopmentSet.BioC.xml", "CDR_TestSet.BioC.xml"),
        (
            "BC7T2-NLMChem-corpus-train.BioC.xml",
            "BC7T2-NLMChem-corpus-dev.BioC.xml",
            "BC7T2-NLMChem-corpus-test.BioC.xml",
        ),
        ("train/1.xml", "validation/1.xml", "test/1.xml"),
        ("Train/1.xml", "Dev/1.xml", "latest_TEST.XML"),
    ],
)
def test_names_of_files_and_folders_tell_the_split(tmp_path: Path, names: tuple[str, ...]) -> None:
    for source, name in zip(("Train.BioC.XML", "Dev.BioC.XML", "Test.BioC.XML"), names):
        copied(source, tmp_path / name)
    (tmp_path / "BioC.dtd").write_text("<!-- not read -->")
    dataset = open_linking("bioc", tmp_path, dictionary=NAMES)
    assert [(split, len(mentions)) for split, mentions in dataset.mentions.items()] == [
        ("train", 11),
        ("dev", 1),
        ("test", 2),
    ]


def test_many_files_without_splits_are_one_corpus(tmp_path: Path) -> None:
    """NLM-Chem's folder of articles; catches the same document read twice."""
    for i, source in enumerate(("Train.BioC.XML", "Test.BioC.XML", "Test.BioC.XML")):
        copied(source, tmp_path / f"{i}_v1.xml")
    dataset = open_linking("bioc", tmp_path, dictionary=NAMES)
    assert [(split, len(mentions)) for split, mentions in dataset.mentions.items()] == [("all", 13)]
    assert dataset.tallies["mentions"].dropped["annotations of a document that came before"] == 2


def test_a_folder_of_both_forms_needs_a_choice(tmp_path: Path) -> None:
    """BioRED's archive has each split as XML and as JSON."""
    copied("Train.BioC.XML", tmp_path / "Train.BioC.XML")
    shutil.copy(JSON, tmp_path / "Train.BioC.JSON")
    with pytest.raises(
        InputError, match=r"holds Train.BioC.JSON and Train.BioC.XML; choose one with form=, xml or json"
    ):
        open_linking("bioc", tmp_path, dictionary=NAMES)
    for form in ("xml", "json"):
        assert len(open_linking("bioc", tmp_path, dictionary=NAMES, form=form).split("train")) == 11


def test_a_file_of_no_split_beside_those_of_splits_is_refused(tmp_path: Path) -> None:
    for name in ("Train.xml", "more.xml"):
        copied("Train.BioC.XML", tmp_path / name)
    with pytest.raises(InputError, match=r"more.xml does not name its split, unlike Train.xml"):
        open_linking("bioc", tmp_path, dictionary=NAMES)
