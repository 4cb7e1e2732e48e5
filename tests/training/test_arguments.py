"""What recipes share: switches do what they say."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from torch import nn
from transformers import Qwen3Config, Qwen3Model, T5Config, T5EncoderModel

import st_biomed.modules.lora
import st_biomed.training.arguments
import st_biomed.training.optimizer
from st_biomed.errors import InputError
from st_biomed.training.arguments import EncoderArguments, measured_in_training, with_precision
from st_biomed.training.trained_parameters import prepare_encoder


def arguments(tmp_path: Path, **options) -> SentenceTransformerTrainingArguments:
    return SentenceTransformerTrainingArguments(output_dir=str(tmp_path / "out"), report_to="none", **options)


@pytest.mark.parametrize(
    ("precision", "able", "bf16"), [("auto", True, True), ("auto", False, False), ("as given", True, False)]
)
def test_bf16_is_taken_where_the_machine_computes_in_it(
    precision: str, able: bool, bf16: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        st_biomed.training.arguments, "computes_bf16", lambda device: able if device == "cpu" else not able
    )
    assert with_precision(arguments(tmp_path, use_cpu=True), precision).bf16 is bf16


def test_an_unknown_precision_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="unknown precision 'bf16'"):
        with_precision(arguments(tmp_path), "bf16")


@pytest.mark.parametrize("metric", [None, "eval_loss", "dev_acc"])
def test_the_best_weights_are_kept_by_a_measured_figure(metric: str | None, tmp_path: Path):
    """Catches sentence-transformers' default, a loss that nothing computes: a traceback at the first evaluation."""
    best = {"load_best_model_at_end": True, "metric_for_best_model": metric}
    training = arguments(tmp_path, eval_strategy="steps", eval_steps=2, save_steps=2, **best)
    dev: Any = SimpleNamespace(primary_metric="sequential_score")
    if metric == "dev_acc":
        assert measured_in_training(training, dev) is dev
    else:
        with pytest.raises(InputError, match="load_best_model_at_end: needs --metric_for_best_model, e.g. sequential"):
            measured_in_training(training, dev)


def test_a_schedule_and_checkpoints_that_need_a_figure_are_refused_without_one(tmp_path: Path):
    """Catches a rate that never falls because nothing is measured, and a traceback of the trainer after the base model was."""
    measured = {"eval_strategy": "steps", "eval_steps": 2}
    with pytest.raises(InputError, match="reduce_lr_on_plateau needs a benchmark with a dev split, found none"):
        measured_in_training(arguments(tmp_path, lr_scheduler_type="reduce_lr_on_plateau", **measured), None)
    best = arguments(tmp_path, save_strategy="best", **measured)
    dev: Any = SimpleNamespace(primary_metric="sequential_score")
    with pytest.raises(InputError, match="save_strategy: best needs --metric_for_best_model, e.g. sequential_score"):
        measured_in_training(best, dev)


def test_dropout_is_set_and_named_parameters_are_frozen(tiny_bert: SentenceTransformer):
    """Catches an expression that freezes nothing without a word."""
    prepare_encoder(tiny_bert, 0.3, "embeddings")
    assert {module.p for module in tiny_bert.modules() if isinstance(module, nn.Dropout)} == {0.3}
    frozen = [name for name, weight in tiny_bert.named_parameters() if not weight.requires_grad]
    assert frozen and all("embeddings" in name for name in frozen)
    assert any(weight.requires_grad for weight in tiny_bert.parameters())
    with pytest.raises(InputError, match="no parameter's name matches 'embeddngs'"):
        prepare_encoder(tiny_bert, None, "embeddngs")


SMALL = {"vocab_size": 9, "num_attention_heads": 2, "intermediate_size": 8}


@pytest.mark.parametrize(
    "encoder",
    [
        T5EncoderModel(T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2, dropout_rate=0.5)),
        Qwen3Model(Qwen3Config(hidden_size=8, num_hidden_layers=1, num_key_value_heads=2, head_dim=4, **SMALL)),
    ],
    ids=lambda encoder: type(encoder).__name__,
)
def test_dropout_reaches_the_functions_of_an_attention(encoder: Any):
    """Catches the rate of the base model in functions, which no layer of dropout holds."""
    tokens = torch.arange(9)[None]
    for rate in (0.0, 0.3):
        prepare_encoder(encoder.train(), rate, "")
        with torch.no_grad():
            once, again = (encoder(tokens).last_hidden_state for _ in range(2))
        assert torch.equal(once, again) == (rate == 0)
        rates = [vars(module).get("dropout", vars(module).get("attention_dropout")) for module in encoder.modules()]
        assert {found for found in rates if found is not None} == {rate}


def test_dropout_that_nothing_takes_is_refused():
    model: Any = nn.Linear(2, 2)
    prepare_encoder(model, 0.0, "")
    with pytest.raises(InputError, match=r"dropout: the encoder has no dropout to set, found 0.3; expected 0"):
        prepare_encoder(model, 0.3, "")


def test_a_base_model_with_prompts_is_told_of(tiny_bert: SentenceTransformer, tmp_path: Path, recwarn):
    """Catches names that are measured as "query: flumpa" and trained as "flumpa", in silence; and a warning for empty prompts."""
    tiny_bert.prompts = {"query": "", "document": ""}
    tiny_bert.save(str(tmp_path / "none"))
    EncoderArguments(base_model=str(tmp_path / "none"), pooling="own").encoder()
    assert not [one for one in recwarn if "prompts" in str(one.message)]
    tiny_bert.prompts = {"query": "query: ", "document": ""}
    tiny_bert.save(str(tmp_path / "some"))
    with pytest.warns(
        UserWarning, match=r"some has prompts \({'query': 'query: '}\) that linking uses and training does not"
    ):
        EncoderArguments(base_model=str(tmp_path / "some"), pooling="own").encoder()


def test_low_rank_updates_that_do_not_fit_are_refused_with_the_model(
    tiny_bert_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Catches an error after the terminology is read and the base model measured."""
    pytest.importorskip("peft")
    recipe = EncoderArguments(base_model=str(tiny_bert_folder), pooling="own", adapter="lora")
    recipe.encoder()
    monkeypatch.setattr(st_biomed.modules.lora, "QUERIES_AND_VALUES", (("q", "v"),))
    with pytest.raises(InputError, match="the attention of BertModel has no queries and values under a known name"):
        recipe.encoder()


def test_a_decay_by_layer_that_finds_no_layers_is_refused_with_the_model(
    tiny_bert_folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Catches an error after the terminology is read and the base model measured."""
    recipe = EncoderArguments(base_model=str(tiny_bert_folder), pooling="own", layer_decay=0.9)
    recipe.encoder()
    monkeypatch.setattr(st_biomed.training.optimizer, "_LAYER", re.compile("no such layer"))
    with pytest.raises(InputError, match="layer_decay: Transformer has no numbered layers, leave it out"):
        recipe.encoder()


@pytest.mark.parametrize(
    ("name", "value"),
    [("label_smoothing_factor", 0.3), ("neftune_noise_alpha", 5.0), ("train_sampling_strategy", "group_by_length")],
)
def test_arguments_of_the_trainer_without_effect_are_refused(name: str, value: Any, tmp_path: Path):
    """Catches a record that names a hyperparameter by which no weight changed."""
    with pytest.raises(InputError, match=f"^{name}: does nothing in the training of an encoder, found {value}"):
        EncoderArguments().training_arguments(arguments(tmp_path, **{name: value}))


def test_a_limit_beyond_the_positions_of_the_encoder_is_refused_when_it_is_loaded(tiny_bert_folder: Path):
    with pytest.raises(InputError, match="max_length: the encoder has positions for 64 tokens, found 999"):
        EncoderArguments(base_model=str(tiny_bert_folder), max_length=999).encoder()
