"""Damaged folders of models: one line that names the file; and folders that lack what no vector depends on, which load."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from transformers import AutoModel, BertForMaskedLM, BertModel
from typer.testing import CliRunner

import st_biomed
from st_biomed.cli import app
from st_biomed.encoder import load_encoder
from st_biomed.encoder.masked import load_masked_model
from st_biomed.errors import InputError
from tests.models.damages import DAMAGES, QUERY, SPOILED, WEIGHTS, Damage, pickled, removed, sharded, tensors_changed

SETTINGS = [
    "modules.json",
    "config_sentence_transformers.json",
    "config.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
    "1_Pooling/config.json",
    "2_Dense/config.json",
    "tokenizer.json",
]


@pytest.fixture(scope="module")
def whole(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with four modules, of which two have weights."""
    folder = tmp_path_factory.mktemp("whole") / "model"
    encoder = SentenceTransformer(str(tiny_bert_folder), device="cpu")
    torch.manual_seed(0)
    model = SentenceTransformer(modules=[*encoder, Dense(16, 8), Normalize()], device="cpu")
    model.save_pretrained(str(folder), create_model_card=False)
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "model"))


def refused(folder: Path, name: str) -> str:
    """The one line, which names a file, for a folder that no path loads."""
    with pytest.raises(InputError) as error:
        load_encoder(folder, device="cpu")
    line = str(error.value)
    assert "\n" not in line and str(folder / name) in line, line
    return line


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("how", SPOILED)
def test_a_damaged_file_of_settings_is_named(folder: Path, name: str, how: str) -> None:
    file = folder / name
    file.write_bytes(SPOILED[how](file.read_bytes()))
    assert "copy or download the model again" in refused(folder, name)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_model_is_one_line(folder: Path, damage: str) -> None:
    spoil, name, message = DAMAGES[damage]
    spoil(folder)
    with pytest.raises(InputError, match=message) as error:
        load_encoder(folder, device="cpu")
    assert "\n" not in str(error.value) and str(folder / name) in str(error.value)


def test_every_path_says_it(folder: Path, tmp_path: Path) -> None:
    """Catches a front with a loader of its own, and a traceback on the command line."""
    tensors_changed(lambda tensors: tensors.pop(QUERY))(folder)
    for load in (st_biomed.load, load_encoder, load_masked_model):
        with pytest.raises(InputError, match=f"the weights lack .*{QUERY}"):
            load(folder)
    ended = CliRunner().invoke(app, ["evaluate", str(folder), "--terminology", "toy", "-o", str(tmp_path / "out")])
    assert ended.exit_code == 2 and f"the weights lack {QUERY}" in ended.stderr
    words = ["index", "toy", "--model", str(folder), "-o", str(tmp_path / "index")]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 2 and ended.stderr.splitlines()[-1].startswith(f"error: {folder}: the weights lack")


# ---------------------------------------------------------------- what is not damage


@pytest.fixture(scope="module")
def bert(tiny_bert_folder: Path) -> Path:
    """The plain checkpoint of the tiny encoder."""
    return tiny_bert_folder.parent / "bert"


def _as_masked(folder: Path) -> None:
    """What a checkpoint of a masked language model is: a head and a prefix, and no pooler."""
    config = AutoModel.from_pretrained(folder).config
    torch.manual_seed(0)
    masked = BertForMaskedLM(config)
    masked.bert.load_state_dict(BertModel.from_pretrained(folder).state_dict(), strict=False)
    masked.save_pretrained(folder)


def _as_masked_pickle(folder: Path) -> None:
    _as_masked(folder)
    tensors = load_file(folder / WEIGHTS)
    tensors["bert.embeddings.position_ids"] = torch.arange(64)[None]
    tensors["cls.predictions.decoder.weight"] = tensors["bert.embeddings.word_embeddings.weight"]
    pickled(tensors)(folder)


def _with_old_names(folder: Path) -> None:
    tensors = load_file(folder / WEIGHTS)
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in tensors.items()
    }
    save_file(old, folder / WEIGHTS, metadata={"format": "pt"})


def _words_alone(folder: Path) -> None:
    found = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    (folder / "vocab.txt").write_text("\n".join(sorted(found, key=found.get)) + "\n")
    (folder / "tokenizer.json").unlink()


HARMLESS: dict[str, Damage] = {
    "without a pooler": tensors_changed(lambda tensors: [tensors.pop(n) for n in list(tensors) if "pooler" in n]),
    "a masked language model": _as_masked,
    "a masked language model's pickle": _as_masked_pickle,
    "old names of norms": _with_old_names,
    "shards": sharded,
    "no tokenizer_config.json": removed("tokenizer_config.json"),
    "a list of words": _words_alone,
    "files of others beside it": lambda folder: [
        (folder / name).write_text("no JSON {") for name in ("run.json", "tf_model.h5", "eval.json", "modeling.py")
    ],
}


@pytest.mark.parametrize("kind", HARMLESS)
def test_what_no_vector_depends_on_may_be_missing(bert: Path, kind: str, tmp_path: Path) -> None:
    """Catches a check that refuses the checkpoints that everybody starts from."""
    expected = load_encoder(bert, device="cpu").encode(["acute disease"])
    folder = Path(shutil.copytree(bert, tmp_path / "bert"))
    HARMLESS[kind](folder)
    np.testing.assert_allclose(load_encoder(folder, device="cpu").encode(["acute disease"]), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["sentence_bert_config.json", "config_sentence_transformers.json", "3_Normalize"])
def test_files_that_earlier_versions_did_not_write_may_be_missing(folder: Path, name: str) -> None:
    expected = load_encoder(folder, device="cpu").encode(["acute disease"])
    if (folder / name).exists():
        removed(name)(folder)
    np.testing.assert_allclose(load_encoder(folder, device="cpu").encode(["acute disease"]), expected, atol=1e-6)


def test_a_masked_language_model_without_its_encoder_is_refused(bert: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(bert, tmp_path / "bert"))
    _as_masked(folder)
    assert load_masked_model(folder)[0].config.vocab_size == 111
    tensors_changed(lambda tensors: tensors.pop(f"bert.{QUERY}"))(folder)
    for new_head in (False, True):
        with pytest.raises(InputError, match=f"the weights lack bert.{QUERY}"):
            load_masked_model(folder, new_head=new_head)


def test_a_masked_language_model_below_the_folder_is_found(bert: Path, tmp_path: Path) -> None:
    """Catches models of earlier versions, whose checkpoint is in 0_Transformer."""
    inner = Path(shutil.copytree(bert, tmp_path / "model" / "0_Transformer"))
    _as_masked(inner)
    kind = "sentence_transformers.sentence_transformer.modules.Transformer"
    listed = [{"idx": 0, "name": "0", "path": "0_Transformer", "type": kind}]
    (tmp_path / "model" / "modules.json").write_text(json.dumps(listed))
    assert load_masked_model(tmp_path / "model")[1].vocab_size == 111
    tensors_changed(lambda tensors: tensors.pop(f"bert.{QUERY}"))(inner)
    with pytest.raises(InputError, match=f"0_Transformer: the weights lack bert.{QUERY}"):
        load_masked_model(tmp_path / "model")
    (tmp_path / "model" / "modules.json").write_text(json.dumps([listed[0] | {"path": "../model"}]))
    with pytest.raises(InputError, match="leads out of the model's folder"):
        load_masked_model(tmp_path / "model")


def test_a_sentence_encoder_has_no_head_for_masked_tokens(bert: Path) -> None:
    """Catches a random head that is trained as if it were the checkpoint's."""
    with pytest.raises(
        InputError, match="with a trained head for masked tokens is needed, its weights lack cls"
    ) as error:
        load_masked_model(bert)
    assert "\n" not in str(error.value)
    assert load_masked_model(bert, new_head=True)[0].config.vocab_size == 111


def test_trying_a_model_leaves_it_as_it_was(folder: Path) -> None:
    """Catches a loaded model that trains otherwise, or saves another tokenizer, than one that was not tried."""
    tried, plain = load_encoder(folder, device="cpu"), SentenceTransformer(str(folder), device="cpu")
    assert [module.training for module in tried.modules()] == [module.training for module in plain.modules()]
    assert tried.tokenizer.backend_tokenizer.to_str() == plain.tokenizer.backend_tokenizer.to_str()
    torch.manual_seed(1)
    load_encoder(folder, device="cpu")
    drawn = torch.rand(1)
    torch.manual_seed(1)
    SentenceTransformer(str(folder), device="cpu")
    assert torch.rand(1) == drawn
