"""``st-biomed release``: it looks before it sends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

from st_biomed.release.folder import save_release
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology
from tests.loopback_hub import LoopbackHub, loopback_hub


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackHub]:
    with loopback_hub(monkeypatch, tmp_path_factory.mktemp("cache")) as running:
        yield running


PARENTS = "child,parent\nA1,A\n"
STRINGS = "code,string\nA,chronic zorbal inflammation of the flenn\nA1,acute zorbal inflammation of the flenn\n"


@pytest.fixture
def licensed(run, tmp_path: Path) -> Path:
    """A saved terminology whose names may not be redistributed."""
    (tmp_path / "parents.csv").write_text(PARENTS)
    (tmp_path / "strings.csv").write_text(STRINGS)
    strings = f"strings={tmp_path / 'strings.csv'}"
    done = run("read", "parent_child", tmp_path / "parents.csv", "-o", tmp_path / "zorb", "--option", strings)
    assert done.exit_code == 0, done.output
    return tmp_path / "zorb"


@pytest.fixture
def folder(tiny_bert_folder: Path, tmp_path: Path, licensed: Path) -> Path:
    terminology = Terminology.load(licensed)
    record = RunRecord("smoke", "example/tiny", {}, 0, [terminology], license="cc0-1.0", command=["smoke.py"])
    model = SentenceTransformer(str(tiny_bert_folder), device="cpu")
    return save_release(
        model, tmp_path / "out", run=record.to_dict(), terminologies=[terminology], base_model=tiny_bert_folder
    )


def test_without_push_the_plan_is_printed_and_nothing_is_sent(run, folder: Path, licensed: Path, hub: LoopbackHub):
    done = run("release", folder, "org/tiny", "--terminology", licensed)
    assert done.exit_code == 0, done.output
    assert "new, private, branch main, as writer" in done.stdout and "2 of 2 names are looked for" in done.stdout
    assert done.stdout.splitlines()[-1] == "nothing was sent; --push publishes it"
    assert hub.repos == {}


@pytest.mark.long
def test_with_push_it_is_published_once(run, refused, folder: Path, licensed: Path, hub: LoopbackHub):
    """Catches an option of the command line that does not reach the Hub."""
    words = ["release", folder, "org/tiny", "--terminology", licensed, "--push"]
    done = run(*words, "--public", "--tag", "v1", "--collection", "Tiny")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-2].startswith("published: ") and "collection: " in done.stdout
    assert not hub.repos["org/tiny"].private and "v1" in hub.repos["org/tiny"].tags
    assert "nothing has changed since: " in run(*words, "--public", "--update").stdout
    (folder / "LICENSE").write_text("another")
    assert "/discussions/1" in run(*words, "--public", "--pr").stdout
    assert "published: " in run(*words, "--public", "--update", "--branch", "dev").stdout
    assert hub.tree("org/tiny", "dev")["LICENSE"] == b"another" != hub.tree("org/tiny")["LICENSE"]
    done = run(*words, "--public")
    assert done.exit_code == 2
    assert (
        done.stderr.splitlines()[-1] == "error: org/tiny: already exists and contains 12 files; give --update or --pr"
    )


def test_names_that_may_not_leave_have_to_be_at_hand_or_allowed_by_source(
    run, refused, folder: Path, licensed: Path, hub: LoopbackHub
):
    """Catches a release that leaves unchecked because nobody had the terminology."""
    (name,) = Terminology.load(licensed).sources
    line = refused("release", folder, "org/tiny")
    assert (
        f"names of {name} may not be redistributed" in line and f"--allow-source {name} to publish unsearched" in line
    )
    assert "unknown source of allow_source 'SNOMED'" in refused(
        "release", folder, "org/tiny", "--allow-source", "SNOMED"
    )
    assert "is not available" in refused("release", folder, "org/tiny", "--terminology", "toy")
    done = run("release", folder, "org/tiny", "--allow-source", name)
    assert f"{name}: allowed to leave by --allow-source, not searched for" in done.stdout
    Terminology.load(licensed).save(folder.with_name("out-training") / "terminology")
    assert "2 of 2 names are looked for" in run("release", folder, "org/tiny").stdout


def test_the_terminology_of_the_run_is_found_for_another_layout_and_from_within_the_folder(
    run, folder: Path, licensed: Path, hub: LoopbackHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Catches a place beside the release that is looked for beside its copy, or beside `.`, which has no name."""
    Terminology.load(licensed).save(folder.with_name("out-training") / "terminology")
    legacy = run("release", folder, "org/tiny", "--legacy", tmp_path / "old")
    assert "2 of 2 names are looked for" in legacy.stdout
    monkeypatch.chdir(folder)
    assert "2 of 2 names are looked for" in run("release", ".", "org/tiny").stdout


def test_the_older_layout_is_written_and_published_instead(
    run, refused, folder: Path, licensed: Path, hub: LoopbackHub, tmp_path: Path
):
    done = run("release", folder, "--legacy", tmp_path / "old")
    assert done.exit_code == 0 and "which sentence-transformers 5 and 6 load" in done.stdout
    words = ["release", folder, "org/tiny-old", "--legacy", tmp_path / "more", "--terminology", licensed, "--push"]
    assert run(*words).exit_code == 0
    assert b"sentence_transformers.models.Pooling" in hub.tree("org/tiny-old")["modules.json"]
    assert "release needs a repository" in refused("release", folder)
    assert "release needs a repository" in refused("release", folder, "--push", "--legacy", tmp_path / "x")


def test_a_folder_that_is_no_release_is_named(refused, folder: Path, licensed: Path, tmp_path: Path):
    """Also catches a run of several stages whose person is not told which folders of it are releases."""
    assert "a recipe writes run.json beside its model" in refused("release", licensed, "org/x")
    assert f"those below it are {folder}: choose one" in refused("release", tmp_path, "org/x")
