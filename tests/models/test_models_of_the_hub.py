"""Models of the Hub: what is downloaded of a repository, what of it is found again without a network, and what is said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file

import st_biomed
from st_biomed.encoder import find_model, has_own_pooling, load_encoder
from st_biomed.encoder.hub import is_setting, needed_weights
from st_biomed.encoder.masked import load_masked_model
from st_biomed.encoder.sources import repositories
from st_biomed.errors import InputError
from st_biomed.release.folder import base_model_folder
from tests.loopback_hub import LoopbackHub, Repo, loopback_hub
from tests.models.malicious import edit


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LoopbackHub]:
    with loopback_hub(monkeypatch, tmp_path / "cache") as running:
        yield running


def files_of(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def put(hub: LoopbackHub, name: str, files: dict[str, bytes]) -> None:
    hub.repos[name] = Repo(private=False)
    hub.repos[name].commit("main", files)


@pytest.mark.long
def test_a_model_is_downloaded_without_code_and_twice_its_weights(
    hub: LoopbackHub, tiny_bert_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Catches code in the cache, gigabytes for other libraries, and a cache that is not found again offline."""
    more = ("modeling.py", "pytorch_model.bin", "onnx/model.onnx", "tf_model.h5", "checkpoint-5/model.safetensors")
    put(hub, "org/tiny", {**files_of(tiny_bert_folder), **dict.fromkeys(more, b"x")})
    expected = load_encoder(tiny_bert_folder, device="cpu").encode("zoster")
    np.testing.assert_array_equal(load_encoder("org/tiny", device="cpu").encode("zoster"), expected)
    held = {
        file.relative_to(find_model("org/tiny").folder).as_posix() for file in find_model("org/tiny").folder.rglob("*")
    }
    assert not held & set(more) and {"model.safetensors", "1_Pooling/config.json"} < held
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    asked = len(hub.requests)
    loaded = st_biomed.load("org/tiny", device="cpu")
    np.testing.assert_array_equal(loaded.encode("zoster"), expected)
    assert loaded[0].model.config.name_or_path == loaded.tokenizer.name_or_path == "org/tiny"
    assert base_model_folder("org/tiny") == find_model("org/tiny").folder and has_own_pooling("org/tiny")
    assert len(hub.requests) == asked
    with pytest.raises(InputError, match="base model 'org/other' is not a local folder"):
        load_encoder("org/other")


@pytest.mark.long
def test_a_revision_is_the_one_that_is_loaded(hub: LoopbackHub, tiny_bert_folder: Path, tmp_path: Path) -> None:
    put(hub, "org/tiny", files_of(tiny_bert_folder))
    settings = json.loads((tiny_bert_folder / "config_sentence_transformers.json").read_text())
    other = {"config_sentence_transformers.json": json.dumps({**settings, "prompts": {"term": "the "}}).encode()}
    commit = hub.repos["org/tiny"].commit("later", {**files_of(tiny_bert_folder), **other})
    assert "term" not in st_biomed.load("org/tiny", device="cpu").prompts
    for revision in ("later", commit):
        assert st_biomed.load("org/tiny", device="cpu", revision=revision).prompts["term"] == "the "
    with pytest.raises(InputError, match="base model 'org/tiny' .*could not be loaded from the Hub: .*404"):
        st_biomed.load("org/tiny", device="cpu", revision="nowhere")


def test_a_checkpoint_with_a_pickle_alone_is_loaded(hub: LoopbackHub, tiny_bert_folder: Path, tmp_path: Path) -> None:
    plain = tiny_bert_folder.parent / "bert"
    torch.save(load_file(plain / "model.safetensors"), tmp_path / "pytorch_model.bin")
    files = {**files_of(plain), "pytorch_model.bin": (tmp_path / "pytorch_model.bin").read_bytes()}
    put(hub, "org/plain", {name: content for name, content in files.items() if name != "model.safetensors"})
    expected = load_encoder(plain, device="cpu").encode("zoster")
    np.testing.assert_array_equal(load_encoder("org/plain", device="cpu").encode("zoster"), expected)
    assert load_masked_model("org/plain", new_head=True)[1].vocab_size == 111 and not has_own_pooling("org/plain")


def test_a_hub_that_fails_is_one_line_and_the_cache_is_enough(
    hub: LoopbackHub, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    """Catches a traceback of the client, and a model that was there yesterday."""
    put(hub, "org/tiny", files_of(tiny_bert_folder))
    hub.fail("GET", "/api/models/org/tiny", 99, 403)
    with pytest.raises(InputError, match="base model 'org/tiny' .*403") as error:
        load_encoder("org/tiny", device="cpu")
    assert "\n" not in str(error.value)
    hub.faults.clear()
    load_encoder("org/tiny", device="cpu")
    hub.fail("GET", "/api/models/org/tiny", 99, 403)
    load_encoder("org/tiny", device="cpu")
    with pytest.raises(InputError, match="base model 'a/b/c' is not a local folder"):
        load_encoder("a/b/c", device="cpu")


def test_names_without_an_owner_are_those_of_the_libraries() -> None:
    assert repositories("all-MiniLM-L6-v2") == ["sentence-transformers/all-MiniLM-L6-v2", "all-MiniLM-L6-v2"]
    assert repositories("org/tiny") == repositories("org/tiny/") == ["org/tiny"]


def test_weights_are_those_of_the_modules(tmp_path: Path) -> None:
    """Catches a route or a second module whose weights stay on the Hub."""
    files = [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
        "pytorch_model.bin",
        "training_args.bin",
        "adapter_model.safetensors",
        "2_Dense/pytorch_model.bin",
        "0_Router/query_0_Transformer/model.safetensors",
        "knowledge_injection/model.safetensors",
        "checkpoint-1/model.safetensors",
        "onnx/model.safetensors",
    ]
    assert needed_weights(files, tmp_path) == files[:2]
    listed = [{"path": ""}, {"path": "0_Router"}, {"path": "2_Dense/"}, {"path": None}]
    (tmp_path / "modules.json").write_text(json.dumps(listed))
    edit(tmp_path / "0_Router" / "router_config.json", types={"query_0_Transformer": "x"})
    assert set(needed_weights(files, tmp_path)) == {*files[:2], *files[5:8]}
    (tmp_path / "modules.json").write_text("{")  # which is told of when it is loaded
    assert needed_weights(files, tmp_path) == []


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("config.json", True),
        ("1_Pooling/config.json", True),
        ("0_Router/query_0_Transformer/tokenizer_config.json", True),
        ("sentencepiece.bpe.model", True),
        ("vocab.txt", True),
        ("README.md", True),
        ("modeling.py", False),
        ("custom_generate/generate.py", False),
        ("a/b/c/config.json", False),
        ("notes.md", False),
        ("training_args.bin", False),
        ("scheduler.pt", False),
    ],
)
def test_no_code_is_a_setting(file: str, wanted: bool) -> None:
    assert is_setting(file) == wanted
