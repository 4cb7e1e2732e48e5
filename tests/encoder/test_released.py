"""``st_biomed.load``: every kind of model that training or a release leaves, with the installed classes and no flag."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize

import st_biomed
from st_biomed.encoder import load_encoder
from st_biomed.encoder.released import require_this_package
from st_biomed.errors import InputError
from st_biomed.leaderboard.models import LoadedModel, ModelSpec
from st_biomed.modules.adapters import add_adapters
from st_biomed.modules.inject_knowledge import inject_knowledge
from st_biomed.modules.markers import pool_mentions
from st_biomed.modules.residual_feed_forward import ResidualFeedForward
from st_biomed.training.arguments import EncoderArguments
from tests.modules.mention_texts import table

TERMS = ["acute disease", "the [Ms] chronic type [Me] of it"]


def few_shot(model: SentenceTransformer) -> SentenceTransformer:
    return SentenceTransformer(modules=[*model, Normalize(), ResidualFeedForward(16, 4)], device="cpu")


def injected(model: SentenceTransformer) -> SentenceTransformer:
    return inject_knowledge(pool_mentions(model), table(), layer=1, mention="marked")


KINDS = {
    "plain": lambda model: model,
    "few_shot": few_shot,
    "mentions": pool_mentions,
    "injected": injected,
    "adapters": lambda model: add_adapters(model, 2),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_loaded_to_the_same_vectors(kind: str, tiny_bert: SentenceTransformer, tmp_path: Path) -> None:
    """Catches a class, a prompt or the similarity lost on the way, and code of the folder that is run."""
    torch.manual_seed(0)
    model = KINDS[kind](tiny_bert)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) / 50)
    model.prompts, model.default_prompt_name, model.similarity_fn_name = {"term": "the "}, "term", "dot"
    folder = tmp_path / "model"
    model.save_pretrained(str(folder), create_model_card=False)
    for file in folder.rglob("*.py"):
        file.write_text("raise SystemExit('this ran')\n")
    for loaded in (
        st_biomed.load(folder, device="cpu"),
        load_encoder(folder, device="cpu"),
        load_encoder(folder, device="cpu", trust_remote_code=True),  # which it has no need of
        LoadedModel(ModelSpec("x", str(folder)), "cpu").encoder,
        EncoderArguments(base_model=str(folder), pooling="own", max_length=32).encoder(),
    ):
        assert loaded is not None and not loaded.trust_remote_code
        np.testing.assert_allclose(loaded.encode(TERMS), model.encode(TERMS), atol=1e-6)
        settings = (loaded.prompts["term"], loaded.default_prompt_name, loaded.similarity_fn_name)
        assert settings == ("the ", "term", "dot")


def test_modules_of_somebody_else_are_named(tiny_bert_folder: Path, tmp_path: Path) -> None:
    for name, content in (
        ("modules.json", [{"idx": 0, "name": "0", "path": "", "type": "modeling_x.X"}]),
        ("config.json", {}),
    ):
        (tmp_path / name).write_text(json.dumps(content))
    with pytest.raises(
        InputError, match=r"modeling_x\.X is a class of neither sentence_transformers nor this package"
    ):
        st_biomed.load(tmp_path)


def test_a_model_that_is_nowhere_is_one_line() -> None:
    with pytest.raises(
        InputError, match="base model 'nobody/nothing' is not a local folder and not in the Hub's cache"
    ) as error:
        st_biomed.load("nobody/nothing")
    assert "\n" not in str(error.value)


_ELSEWHERE = """
import importlib.metadata, sys

sys.modules["st_biomed"] = None
found = importlib.metadata.version

def version(name):
    if name == "st-biomed":
        raise importlib.metadata.PackageNotFoundError(name)
    return found(name)

importlib.metadata.version = version
from sentence_transformers import SentenceTransformer

SentenceTransformer(sys.argv[1], trust_remote_code=True)
"""


@pytest.mark.slow
def test_people_without_the_package_read_what_to_install(tiny_bert: SentenceTransformer, tmp_path: Path) -> None:
    """Catches "No module named st_biomed" from the middle of a loader."""
    few_shot(tiny_bert).save_pretrained(str(tmp_path / "few"), create_model_card=False)
    require_this_package(tmp_path / "few")
    ended = subprocess.run([sys.executable, "-c", _ELSEWHERE, str(tmp_path / "few")], capture_output=True, text=True)
    assert "st-biomed" in ended.stderr and "load it with st_biomed.load(path)" in ended.stderr
    assert st_biomed.load(tmp_path / "few", device="cpu").encode("x").shape == (16,)


def test_models_that_do_not_need_the_package_do_not_ask_for_it(tiny_bert: SentenceTransformer, tmp_path: Path) -> None:
    """Catches a requirement on a release, which carries its code."""
    for name, model in (("plain", tiny_bert), ("mentions", pool_mentions(tiny_bert))):
        model.save_pretrained(str(tmp_path / name), create_model_card=False)
        require_this_package(tmp_path / name)
        assert "requirements" not in json.loads((tmp_path / name / "config_sentence_transformers.json").read_text())
