"""Which parameters decay, and how fast each layer learns."""

from __future__ import annotations

import re
from typing import Any

import torch
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from torch import nn

from st_biomed.errors import InputError

_LAYER = re.compile(r"(?:^|\.)(?:layers?|h|blocks?)\.(\d+)\.")
"""BERT, XLM-R and MPNet write ``encoder.layer.3.``, DistilBERT ``transformer.layer.3.``, decoders ``layers.3.`` or ``h.3.``."""
_EMBEDDINGS = re.compile(r"(?:^|\.)(?:\w*embeddings?|embed_\w+|wte|wpe|relative_attention_bias)\.")
"""The last are the positions of MPNet, which all layers share."""


def decaying_all(loss: nn.Module, training: SentenceTransformerTrainingArguments) -> torch.optim.Optimizer:
    """AdamW that decays biases and layer norms too, as the published code of SapBERT does.

    The host would leave them out.

    Args:
        loss: What is trained, the encoder among it.
        training: Learning rate, betas, epsilon and weight decay.
    """
    weights = [weight for weight in loss.parameters() if weight.requires_grad]
    return torch.optim.AdamW(
        weights,
        lr=training.learning_rate,
        betas=(training.adam_beta1, training.adam_beta2),
        eps=training.adam_epsilon,
        weight_decay=training.weight_decay,
    )


def decay_layers(optimizer: torch.optim.Optimizer, model: SentenceTransformer, decay: float) -> None:
    """Have lower layers learn more slowly: layer l of L with ``lr * decay ** (L - l)``, the embeddings as layer 0.

    Each group of the optimizer is split by layers, in place, and keeps its other settings: its own learning rate, and whether it
    decays. What is no part of the encoder's layers, such as poolers, dense layers and parameters of a loss, learns as the
    last layer does.

    Args:
        optimizer: Before its first step and without a scheduler.
        model: Its first module is an encoder of transformers.
        decay: Above 0 and at most 1.

    Raises:
        InputError: The encoder has no numbered layers.

    References:
        Clark et al. 2020, "ELECTRA", arXiv:2003.10555 (Table 6, "layerwise LR decay"); Bao et al. 2022, "BEiT", arXiv:2106.08254.
    """
    factors = layer_factors(model, decay)
    split: list[dict[str, Any]] = []
    for group in optimizer.param_groups:
        by_factor: dict[float, list[nn.Parameter]] = {}
        for parameter in group["params"]:
            by_factor.setdefault(factors.get(id(parameter), 1.0), []).append(parameter)
        for factor, parameters in sorted(by_factor.items(), key=lambda item: -item[0]):
            split.append({**group, "params": parameters, "lr": group["lr"] * factor})
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
