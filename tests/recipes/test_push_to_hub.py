"""``--push_to_hub owner/name``: a recipe publishes its release folder and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recipes import extend_bert, hiprbert, italian_kge, sapbert
from st_biomed.errors import InputError
from tests.loopback_hub import READER, WRITER, LoopbackHub, loopback_hub

CONFIGS = Path(hiprbert.__file__).parent / "configs"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackHub]:
    with loopback_hub(monkeypatch, tmp_path_factory.mktemp("cache")) as running:
        yield running


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tiny_bert_folder: Path, tmp_path: Path):
    def call(recipe, *arguments: object) -> None:
        name = recipe.__name__.rpartition(".")[2]
        words = [
            f"{name}.py",
            CONFIGS / f"{name}_smoke.yaml",
            "--base_model",
            tiny_bert_folder,
            *arguments,
        ]
        monkeypatch.setattr(sys, "argv", [str(word) for word in (*words, "--output_dir", tmp_path / "out")])
        recipe.main()

    return call


@pytest.mark.long
@pytest.mark.parametrize("recipe", [hiprbert, sapbert], ids=["hiprbert", "sapbert"])
def test_the_release_folder_is_what_is_published(recipe, run, hub: LoopbackHub, tmp_path: Path, capsys):
    """Catches checkpoints and terms that the trainer uploads, and a token in what is published."""
    run(recipe, "--push_to_hub", "org/smoke", "--hub_token", WRITER, "--hub_revision", "dev")
    out = tmp_path / "out"
    here = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    tree = hub.tree("org/smoke", "dev")
    assert tree.keys() == here | {".gitattributes"} and hub.repos["org/smoke"].private
    assert not [path for path, content in tree.items() if WRITER.encode() in content]
    assert tree["model.safetensors"] == (out / "model.safetensors").read_bytes()
    assert "Published: " in capsys.readouterr().out


def test_nothing_is_trained_for_a_repository_that_cannot_be_written(run, hub: LoopbackHub, tmp_path: Path):
    """Catches a night of training before a typing mistake is found."""
    run_with = ["--push_to_hub", "org/smoke"]
    with hub.lock:
        hub.create({"organization": "org", "name": "smoke", "visibility": "private"}, WRITER)
        hub.repos["org/smoke"].commit("main", {"README.md": b"mine"})
    with pytest.raises(InputError, match="org/smoke: already exists and contains 1 files"):
        run(hiprbert, *run_with)
    with pytest.raises(InputError, match="the Hub does not know the token"):
        run(hiprbert, *run_with, "--hub_token", "hf_expired")
    with pytest.raises(InputError, match="the token of reader may only read"):
        run(hiprbert, *run_with, "--hub_token", READER)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_what_goes_wrong_in_the_end_leaves_the_release_and_says_how_to_go_on(run, hub: LoopbackHub, tmp_path: Path):
    with pytest.raises(InputError, match=r"may write to elsewhere; the release is in .*: st-biomed release .* --push"):
        run(hiprbert, "--push_to_hub", "elsewhere/smoke")
    assert (tmp_path / "out" / "run.json").is_file()


def test_recipes_without_one_release_say_what_to_do(run, hub: LoopbackHub):
    with pytest.raises(InputError, match="with --seeds, publish the run that you choose"):
        run(sapbert, "--push_to_hub", "org/x", "--seeds", 1, 2)
    with pytest.raises(InputError, match="a run of stage all has not one release"):
        run(italian_kge, "--push_to_hub", "org/x", "--terminology", "toy", "--stage", "all")
    with pytest.raises(InputError, match="a BERT with a new vocabulary is no release"):
        run(extend_bert, "--push_to_hub", "org/x")
    assert hub.repos == {}
