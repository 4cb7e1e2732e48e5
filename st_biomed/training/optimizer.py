"""The optimizer of a training: which parameters decay, and the learning rates of layers and of a loss's parameters."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from torch import nn

from st_biomed.errors import InputError

_LAYER = re.compile(r"(?:^|\.)(?:layers?|h|blocks?)\.(\d+)\.")
"""Matches ``encoder.layer.3.`` (BERT, XLM-R, MPNet), ``transformer.layer.3.`` (DistilBERT), ``layers.3.`` and ``h.3.``
(decoders)."""
_EMBEDDINGS = re.compile(
    r"(?:^|\.)(?:\w*embeddings?|embeddings_project|embed_\w+|shared|wte|wpe|relative_attention_bias)\."
)
"""``relative_attention_bias`` is the position embedding of MPNet, which all layers share; ``shared`` has the word
embeddings of T5, and ``embeddings_project`` is the layer after ELECTRA's."""


def decay_all(optimizer: torch.optim.Optimizer, weight_decay: float) -> None:
    """Let biases and layer norms decay too, as in the published code of SapBERT; the trainer does not decay them.

    Args:
        optimizer: The trainer's optimizer before its first step.
        weight_decay: The weight decay of all groups.
    """
    for group in optimizer.param_groups:
        group["weight_decay"] = weight_decay


def decay_layers(optimizer: torch.optim.Optimizer, model: SentenceTransformer, decay: float) -> None:
    """Lower the learning rate of lower layers: ``lr * decay ** (L - l)`` for layer l of L; the embeddings are layer 0.

    Each group of the optimizer is split by layer, in place. The other settings of a group stay: its base learning rate
    and its weight decay. Parameters outside the encoder's layers, such as poolers, dense layers and parameters of a
    loss, have the learning rate of the last layer.

    Args:
        optimizer: An optimizer before its first step and without a scheduler.
        model: A model whose first module is an encoder of transformers.
        decay: Above 0 and at most 1.

    Raises:
        InputError: The encoder has no numbered layers.

    References:
        Clark et al. 2020, "ELECTRA", arXiv:2003.10555 (Table 6, "layerwise LR decay"); Bao et al. 2022, "BEiT",
        arXiv:2106.08254.
    """
    factors = layer_factors(model, decay)
    _split(optimizer, lambda parameter, rate: rate * factors.get(id(parameter), 1.0))


def set_loss_rate(optimizer: torch.optim.Optimizer, model: SentenceTransformer, rate: float | None) -> None:
    """Give the parameters outside the encoder, those of a loss, groups and a learning rate of their own.

    Each group of the optimizer is split in place; the other settings of a group stay. A scheduler scales all rates alike,
    except with :class:`~st_biomed.training.loss_warmup.LossWarmupCallback`.

    Args:
        optimizer: An optimizer before its first step and without a scheduler.
        model: The encoder.
        rate: Above 0; ``None`` keeps the rates.
    """
    encoder = {id(parameter) for parameter in model.parameters()}
    split: list[dict[str, Any]] = []
    for group in optimizer.param_groups:
        inside = [parameter for parameter in group["params"] if id(parameter) in encoder]
        outside = [parameter for parameter in group["params"] if id(parameter) not in encoder]
        split += [{**group, "params": inside}] if inside else []
        split += [{**group, "params": outside, "lr": group["lr"] if rate is None else rate}] if outside else []
    optimizer.param_groups[:] = sorted(split, key=lambda group: -group["lr"])


def _split(optimizer: torch.optim.Optimizer, rate_of: Callable[[nn.Parameter, float], float]) -> None:
    """Split each group by the learning rates of its parameters, the highest first."""
    split: list[dict[str, Any]] = []
    for group in optimizer.param_groups:
        by_rate: dict[float, list[nn.Parameter]] = {}
        for parameter in group["params"]:
            by_rate.setdefault(rate_of(parameter, group["lr"]), []).append(parameter)
        for rate, parameters in sorted(by_rate.items(), key=lambda item: -item[0]):
            split.append({**group, "params": parameters, "lr": rate})
    optimizer.param_groups[:] = split


def layer_factors(model: SentenceTransformer, decay: float) -> dict[int, float]:
    """The factor of the learning rate of each parameter of the encoder's layers and embeddings, by its ``id``.

    Raises:
        InputError: The encoder has no numbered layers.
    """
    depths: dict[int, int] = {}
    for name, parameter in model[0].named_parameters():
        if found := _LAYER.search(name):
            depths[id(parameter)] = int(found[1]) + 1
        elif _EMBEDDINGS.search(name):
            depths[id(parameter)] = 0
    if not any(depths.values()):
        raise InputError(f"layer_decay: {type(model[0]).__name__} has no numbered layers, leave it out")
    return {key: decay ** (max(depths.values()) - depth) for key, depth in depths.items()}
