"""Layer-wise learning rates: which factor each parameter has, in which group, and what a step does with it."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import nn

from st_biomed.errors import InputError
from st_biomed.losses import MultiSimilarityLoss
from st_biomed.training.optimizer import decay_all, decay_layers, layer_factors, set_loss_rate

SMALL = {"vocab_size": 30, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 16, "num_hidden_layers": 3}
ENCODERS: dict[str, dict[str, Any]] = {
    "Bert": SMALL,
    "XLMRoberta": SMALL,
    "MPNet": SMALL,
    "DistilBert": {"vocab_size": 30, "dim": 8, "n_heads": 2, "hidden_dim": 16, "n_layers": 3},
    "Electra": {**SMALL, "embedding_size": 8},
}


def encoder(name: str) -> nn.Module:
    transformers = importlib.import_module("transformers")
    return getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**ENCODERS[name]))


@pytest.mark.parametrize("name", ENCODERS)
def test_every_parameter_of_an_encoder_has_the_factor_of_its_layer(name: str):
    """Catches an architecture whose names are not known: all of it would learn alike, in silence."""
    module = encoder(name)
    factors = layer_factors([module], 0.5)  # type: ignore[arg-type]
    found = {key: factors.get(id(parameter), 1.0) for key, parameter in module.named_parameters()}
    for key, factor in found.items():
        layers = [int(part) for part in key.split(".") if part.isdigit()]
        expected = 0.5 ** (3 - 1 - layers[0]) if layers else 1.0 if "pooler" in key else 0.5**3
        assert factor == expected, key
    assert set(found.values()) >= {1.0, 0.5, 0.25, 0.125}


def test_embeddings_with_other_names_are_layer_0():
    """Catches word embeddings of T5, and a projection of ELECTRA's, that learn as fast as the last layer."""
    from transformers import ElectraConfig, ElectraModel, T5Config, T5EncoderModel

    t5 = T5EncoderModel(T5Config(vocab_size=30, d_model=8, d_kv=4, d_ff=16, num_layers=3, num_heads=2))
    electra = ElectraModel(ElectraConfig(**{**SMALL, "embedding_size": 4}))
    for module, name in ((t5, "shared.weight"), (electra, "embeddings_project.weight")):
        assert layer_factors([module], 0.5)[id(module.get_parameter(name))] == 0.5**3  # type: ignore[arg-type]


def made(tiny_bert: SentenceTransformer, all_of_them: bool, decay: float, **options: Any) -> tuple[nn.Module, Any]:
    """The optimizer of a loss with a parameter of its own."""
    tiny_bert.append(Dense(16, 4))
    loss = MultiSimilarityLoss(tiny_bert, miner=None)
    loss.scale = nn.Parameter(torch.zeros(1))
    arguments = SentenceTransformerTrainingArguments(
        "unused", use_cpu=True, learning_rate=0.1, weight_decay=0.5, report_to="none", **options
    )
    trainer = SentenceTransformerTrainer(tiny_bert, arguments, loss=loss)
    optimizer = trainer.create_optimizer()
    if all_of_them:
        decay_all(optimizer, arguments.weight_decay)
    decay_layers(optimizer, tiny_bert, decay)
    return loss, optimizer


def settings(loss: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, tuple[float, float]]:
    """Parameter to learning rate and weight decay."""
    groups = {
        id(parameter): (group["lr"], group["weight_decay"])
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    assert len(groups) == sum(len(group["params"]) for group in optimizer.param_groups), "none is in two groups"
    return {name: groups[id(parameter)] for name, parameter in loss.named_parameters()}


@pytest.mark.parametrize("all_of_them", [True, False])
def test_layers_and_decay_make_groups_together(all_of_them: bool, tiny_bert: SentenceTransformer):
    """Catches groups that lose whether they decay, and a head or a loss that learns as slowly as the embeddings."""
    found = settings(*made(tiny_bert, all_of_them, 0.5))
    assert found["model.0.model.embeddings.word_embeddings.weight"] == (0.1 * 0.25, 0.5)
    assert found["model.0.model.encoder.layer.0.attention.self.query.weight"] == (0.1 * 0.5, 0.5)
    assert found["model.0.model.encoder.layer.1.output.dense.weight"] == (0.1, 0.5)
    assert found["model.2.linear.weight"] == (0.1, 0.5) and found["scale"] == (0.1, 0.5)
    spared = 0.5 if all_of_them else 0.0
    assert found["model.0.model.encoder.layer.0.output.LayerNorm.weight"] == (0.1 * 0.5, spared)
    assert found["model.0.model.encoder.layer.1.output.dense.bias"] == (0.1, spared)


@pytest.mark.parametrize("all_of_them", [True, False])
def test_a_learning_rate_of_one_s_own_is_scaled_as_well(all_of_them: bool, tiny_bert: SentenceTransformer):
    """Catches a mapping or an optimizer of the trainer that is overwritten."""
    options: dict[str, Any] = {"learning_rate_mapping": {"embeddings": 1.0, "scale": 0.7}, "optim": "adagrad"}
    loss, optimizer = made(tiny_bert, all_of_them, 0.5, **options)
    found = settings(loss, optimizer)
    assert isinstance(optimizer, torch.optim.Adagrad)
    assert found["model.0.model.embeddings.word_embeddings.weight"] == (0.25, 0.5)
    assert found["scale"] == (0.7, 0.5)


@pytest.mark.parametrize("all_of_them", [True, False])
def test_parameters_of_a_loss_have_a_rate_of_their_own(all_of_them: bool, tiny_bert: SentenceTransformer):
    """Catches a rate that reaches the encoder, a dense layer of the encoder taken for the loss, and a lost weight decay."""
    loss, optimizer = made(tiny_bert, all_of_them, 0.5)
    set_loss_rate(optimizer, tiny_bert, 0.7)
    found = settings(loss, optimizer)
    assert found["scale"] == (0.7, 0.5) and found["model.2.linear.weight"] == (0.1, 0.5)
    assert found["model.0.model.encoder.layer.0.attention.self.query.weight"] == (0.1 * 0.5, 0.5)
    assert [name for name, (rate, _) in found.items() if rate == 0.7] == ["scale"]


def test_a_step_moves_a_layer_by_its_share_of_the_gradient(tiny_bert: SentenceTransformer):
    """Catches groups that the optimizer does not read."""
    optimizer = torch.optim.SGD(tiny_bert.parameters(), lr=0.1)
    decay_layers(optimizer, tiny_bert, 0.5)
    before = {name: parameter.detach().clone() for name, parameter in tiny_bert.named_parameters()}
    features = dict(tiny_bert.preprocess(["flumpa gland"]))
    tiny_bert(features)["sentence_embedding"].square().sum().backward()
    optimizer.step()
    for name, factor in (
        ("embeddings.word_embeddings", 0.25),
        ("encoder.layer.0.output.dense", 0.5),
        ("encoder.layer.1.output.dense", 1),
    ):
        parameter = tiny_bert.get_parameter(f"0.model.{name}.weight")
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0
        torch.testing.assert_close(parameter, before[f"0.model.{name}.weight"] - 0.1 * factor * parameter.grad)


def test_an_encoder_without_layers_is_refused(tmp_path: Path):
    model = SentenceTransformer(modules=[Dense(4, 4)], device="cpu")
    with pytest.raises(InputError, match="layer_decay: Dense has no numbered layers, leave it out"):
        layer_factors(model, 0.5)


def test_pooling_and_encoder_are_what_is_expected(tiny_bert: SentenceTransformer):
    """Guards the guard: the factors above are those of the first module."""
    assert isinstance(tiny_bert[0], Transformer) and isinstance(tiny_bert[1], Pooling)
