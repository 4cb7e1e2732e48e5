"""What the record of a release says of a model: its base as it was read for training, and what it was trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.leaderboard.models import ModelSpec, named_models
from st_biomed.leaderboard.recorded_runs import base_of, run_of, trained_on, with_base
from st_biomed.release.run_data import SourceData, TerminologyData, empty_run, write_run

MINILM = "sentence-transformers/all-MiniLM-L6-v2"


def terminology(*names: str) -> TerminologyData:
    sources = [
        SourceData(name=name, title="", version="", license="", url="", redistributable=True, terms=1)
        for name in names
    ]
    return TerminologyData(
        digest="d", concepts=1, texts=1, terms=1, definitions=0, parents=0, relations=0, sources=sources
    )


@pytest.fixture
def release(tmp_path: Path):
    """Makes a folder that is a release as far as its record goes."""

    def make(name: str, base: str = MINILM, *, earlier: list[Any] = (), **configuration: Any) -> Path:  # type: ignore[assignment]
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        run = {**empty_run(), "base_model": base, "configuration": configuration, "earlier": list(earlier)}
        write_run(run | {"terminologies": [terminology("ZORB")]}, folder / "run.json")  # type: ignore[typeddict-item]
        return folder

    return make


def stage(base: str, *sources: str) -> dict[str, Any]:
    run = {
        "recipe": "r",
        "description": "",
        "base_model": base,
        "command": [],
        "seed": 0,
        "losses": [],
        "corpora": [],
    }
    return {**run, "terminologies": [terminology(*sources)]}


def test_the_base_is_read_as_it_was_for_training(release):
    """Would catch a base that is measured with another pooling than training began with, or cut like training texts."""
    assert base_of(named_models([str(release("a"))])) == ModelSpec("MiniLM", MINILM)
    plain = release("b", "org/plain", pooling="cls", max_length=25)
    assert base_of(named_models([str(plain)])) == ModelSpec("plain", "org/plain", "cls")
    own = release("c", "org/plain", pooling="own", max_length=None)
    assert base_of(named_models([str(own)])) == ModelSpec("plain", "org/plain")


def test_a_known_base_has_its_pooling_where_the_record_has_none(release):
    """Would catch a base that is measured with mean pooling, since a record says nothing of it."""
    sapbert = "cambridgeltl/SapBERT-from-PubMedBERT-fulltext"
    assert base_of(named_models([str(release("a", sapbert))])) == ModelSpec("SapBERT", sapbert, "cls", 25)
    assert base_of(named_models([str(release("b", sapbert, pooling="mean"))])).pooling == "mean"


def test_of_several_stages_it_is_what_the_first_began_from(release, tmp_path: Path):
    """Would catch gains of the last stage alone, and a base in a folder that is on another machine."""
    sapbert = "cambridgeltl/SapBERT-from-PubMedBERT-fulltext"
    staged = release("a", "out/first", earlier=[stage("out/zero", "TERK"), stage(sapbert, "FLUM")], pooling="mean")
    assert base_of(named_models([str(staged)])) == ModelSpec(
        "SapBERT", sapbert, "cls", 25
    )  # as evaluation/known_models.yaml has it: the record does not say how an earlier stage read it
    run = run_of(str(staged))
    assert run is not None and trained_on(run) == {"ZORB", "TERK", "FLUM"}
    assert run_of(str(tmp_path / "nowhere")) is None and run_of("org/nothing") is None and run_of("x.npz") is None


def test_a_folder_is_a_model_whatever_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Would catch a folder that is split at its "=", and an empty name."""
    (tmp_path / "out" / "lr=2e-5").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    named = [ModelSpec.named(argument) for argument in ("out/lr=2e-5", "a=out/lr=2e-5", "b=org/c")]
    assert [(model.name, model.model) for model in named] == [
        ("lr=2e-5", "out/lr=2e-5"),
        ("a", "out/lr=2e-5"),
        ("b", "org/c"),
    ]
    monkeypatch.chdir(tmp_path / "out" / "lr=2e-5")
    assert [ModelSpec.named(argument).name for argument in (".", "..")] == ["lr=2e-5", "out"]


def test_the_base_stands_first_and_once(release):
    a, b = release("a"), release("b")
    names = [model.name for model in with_base(named_models([str(a), str(b)]), None)]
    assert names == ["MiniLM", "a", "b"]
    models = named_models([str(a), f"small={MINILM}"])
    assert [model.name for model in with_base(models, MINILM)] == ["small", "a"]
    read = named_models(["MiniLM", str(release("short", max_length=25))])
    assert with_base(read, None) == read  # the base that a person names stands once, as it was named
    assert [model.name for model in with_base(models, "x=org/other")] == ["x", "a", "small"]


def test_a_base_in_a_folder_stands_once_however_it_is_written(release, tmp_path: Path, monkeypatch):
    """Would catch a base that is compared with itself, or refused for its own name."""
    (tmp_path / "out" / "enc").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    models = named_models(["out/enc", str(release("a", "./out/enc"))])
    assert with_base(models, None) == models == with_base(models, "./out/enc")
    assert [model.name for model in with_base(named_models(["a", "out/enc/"]), None)] == ["enc", "a"]


def test_what_names_no_base_or_several_is_refused(release):
    plain = named_models(["org/plain", "x.npz"])
    with pytest.raises(InputError, match="--base: the record of a release .* plain, x has no record: give a model"):
        with_base(plain, None)
    both = named_models([str(release("c")), str(release("d", "out/first", earlier=[stage(MINILM, "TERK")]))])
    assert base_of(both) == ModelSpec("MiniLM", MINILM)  # of one stage and of two
    two = named_models([str(release("a")), str(release("b", "org/other"))])
    with pytest.raises(
        InputError, match=r"have one base, found .*MiniLM-L6-v2 \(its own pooling\) of a and org/other"
    ):
        with_base(two, None)
    with pytest.raises(InputError, match="--scorecard: compares models with their base, found plain alone"):
        with_base(plain[:1], "org/plain")
    with pytest.raises(InputError, match="another model has the name 'plain' too: write --base NAME=MODEL"):
        with_base(plain, "elsewhere/plain")


def test_a_damaged_record_is_no_missing_one(release):
    folder = release("a")
    (folder / "run.json").write_text("{")
    with pytest.raises(InputError, match=r"run.json: is not JSON"):
        base_of(named_models([str(folder)]))
