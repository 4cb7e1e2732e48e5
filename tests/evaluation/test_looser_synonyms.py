"""Synonyms of other scopes than exact as mentions: none is a name that was trained on, and each has one concept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from evaluation import looser_synonyms
from st_biomed.evaluators.benchmark import read_benchmark_settings
from st_biomed.evaluators.entity_linking.settings import LinkingSettings
from st_biomed.terminology import Terminology

ONTOLOGY = """format-version: 1.2

[Term]
id: XX:1
name: flumpa
synonym: "Voglic  Flumpa" RELATED []
synonym: "flumpa of the wug" NARROW []
synonym: "dax" BROAD []

[Term]
id: XX:2
name: dax
synonym: "old wug" EXACT []
synonym: "wuggish" RELATED []
synonym: "shared" RELATED []

[Term]
id: XX:3
name: blick
synonym: "shared" BROAD []

[Term]
id: YY:1
name: imported
synonym: "imported too" RELATED []
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An ontology, and another with a name of it as what was trained on."""
    (tmp_path / "xx.obo").write_text(ONTOLOGY)
    (tmp_path / "trained.obo").write_text("format-version: 1.2\n\n[Term]\nid: ZZ:1\nname: voglic flumpa\n")
    Terminology.read("obo", tmp_path / "trained.obo").save(tmp_path / "trained")
    return tmp_path


def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ontology, trained, output = (str(folder / name) for name in ("xx.obo", "trained", "out"))
    monkeypatch.setattr(sys, "argv", ["looser_synonyms.py", "obo", ontology, "XX:", trained, output])
    looser_synonyms.main()


def test_mentions_are_no_names_and_have_one_concept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Would catch a mention that was trained on with another case, that is a name, that is ambiguous, or that was imported."""
    run(folder, monkeypatch)
    assert (folder / "out" / "looser-xx.tsv").read_text() == "flumpa of the wug\tXX:1\nwuggish\tXX:2\n"
    names = (folder / "out" / "looser-xx-names.txt").read_text().splitlines()
    assert names == ["XX:1||flumpa", "XX:2||dax", "XX:2||old wug", "XX:3||blick"]
    assert capsys.readouterr().out == "looser-xx: 2 synonyms of 2 concepts, 4 names\n"


def test_benchmark_reads_what_was_written(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Would catch a protocol that does not find its files or cannot read them."""
    run(folder, monkeypatch)
    dataset = read_benchmark_settings(folder / "out" / "looser-xx.yaml", LinkingSettings).open()
    assert [mention.text for mention in dataset.split("all")] == ["flumpa of the wug", "wuggish"]
