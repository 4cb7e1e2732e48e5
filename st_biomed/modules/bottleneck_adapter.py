"""BERT, RoBERTa and XLM-R with bottleneck adapters: small trainable layers in a frozen encoder.

The configuration of Pfeiffer et al. (MAD-X, EMNLP 2020, arXiv 2005.00052), with which SapBERT trains 13.22% or 1.09% of the
parameters of BERT-base: one bottleneck after the feed-forward part of every layer, and an invertible coupling after the
embeddings. A model saved with these classes contains this file, and loads anywhere with ``trust_remote_code=True``, as
a sentence-transformers model and with transformers' ``AutoModel``. This file therefore imports only torch and
transformers.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertModel,
    RobertaConfig,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

COUPLING_REDUCTION = 2
"""Width of half a token vector divided by that of the coupling's hidden layers."""


def _two_layers(width: int, hidden: int) -> nn.Sequential:
    """``W2 relu(W1 x + b1) + b2``, at first 0: the first forward is that of the encoder alone."""
    down, up = nn.Linear(width, hidden), nn.Linear(hidden, width)
    nn.init.normal_(down.weight, std=0.02)  # as BERT's own layers
    for zero in (down.bias, up.weight, up.bias):
        nn.init.zeros_(zero)
    return nn.Sequential(down, nn.ReLU(), up)


class AdaptedOutput(nn.Module):
    """The last part of a layer with a bottleneck: ``LN(x + f(LN(x)))`` in place of the encoder's ``LN(x)``.

    Args:
        output: The encoder's ``dense``, ``dropout`` and ``LayerNorm``, which keep their names and weights.
        reduction_factor: Width of the encoder divided by that of the bottleneck.
    """

    def __init__(self, output: Any, reduction_factor: int) -> None:
        super().__init__()
        self.dense = output.dense
        self.LayerNorm = output.LayerNorm
        self.dropout = output.dropout
        width = output.dense.out_features
        self.adapter = _two_layers(width, width // reduction_factor)

    def forward(self, hidden_states: Tensor, input_tensor: Tensor) -> Tensor:
        """From the feed-forward's hidden layer ``[B, L, F]`` and the layer's residual ``[B, L, D]`` to ``[B, L, D]``."""
        total = self.dropout(self.dense(hidden_states)) + input_tensor
        return self.LayerNorm(total + self.adapter(self.LayerNorm(total)))


class AdaptedDropout(nn.Dropout):
    """The end of the embeddings with an invertible coupling (NICE: Dinh et al. 2015) of the halves of a token vector.

    ``y1 = x1 + f(x2)``, ``y2 = x2 + g(y1)``.

    Args:
        dropout: The encoder's dropout.
        width: Width of the embeddings; even.
    """

    def __init__(self, dropout: nn.Dropout, width: int) -> None:
        super().__init__(dropout.p)
        half = width // 2
        self.adapter = nn.ModuleList(_two_layers(half, half // COUPLING_REDUCTION) for _ in range(2))

    def forward(self, embeddings: Tensor) -> Tensor:
        """Both ``[B, L, D]``."""
        first, second = super().forward(embeddings).chunk(2, dim=-1)
        first = first + self.adapter[0](second)
        second = second + self.adapter[1](first)
        return torch.cat([first, second], dim=-1)


def insert_adapters(encoder: Any, reduction_factor: int) -> None:
    """Insert adapters into an encoder; existing names and weights do not change.

    Args:
        encoder: A model of transformers with ``embeddings.dropout`` and ``encoder.layer[i].output``.
        reduction_factor: Width of the encoder divided by that of the bottlenecks; it divides the width.

    Raises:
        ValueError: A width that cannot be divided so.
    """
    width = encoder.config.hidden_size
    if reduction_factor < 1 or width % reduction_factor or width % (2 * COUPLING_REDUCTION):
        raise ValueError(f"reduction_factor must divide the encoder's width of {width}, found {reduction_factor}")
    encoder.embeddings.dropout = AdaptedDropout(encoder.embeddings.dropout, width)
    for layer in encoder.encoder.layer:
        layer.output = AdaptedOutput(layer.output, reduction_factor)


def adapter_parameters(module: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters of adapters by name, in the order of the model."""
    return {name: value for name, value in module.named_parameters() if "adapter" in name.split(".")}


class AdaptedBertConfig(BertConfig):
    model_type = "bert_with_adapters"
    reduction_factor = 16


class AdaptedBertModel(BertModel):
    config_class = AdaptedBertConfig

    def __init__(self, config: AdaptedBertConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        insert_adapters(self, config.reduction_factor)


class AdaptedRobertaConfig(RobertaConfig):
    model_type = "roberta_with_adapters"
    reduction_factor = 16


class AdaptedRobertaModel(RobertaModel):
    config_class = AdaptedRobertaConfig

    def __init__(self, config: AdaptedRobertaConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        insert_adapters(self, config.reduction_factor)


class AdaptedXLMRobertaConfig(XLMRobertaConfig):
    model_type = "xlm_roberta_with_adapters"
    reduction_factor = 16


class AdaptedXLMRobertaModel(XLMRobertaModel):
    config_class = AdaptedXLMRobertaConfig

    def __init__(self, config: AdaptedXLMRobertaConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        insert_adapters(self, config.reduction_factor)


FAMILIES: dict[str, tuple[Any, Any]] = {
    "bert": (AdaptedBertConfig, AdaptedBertModel),
    "roberta": (AdaptedRobertaConfig, AdaptedRobertaModel),
    "xlm-roberta": (AdaptedXLMRobertaConfig, AdaptedXLMRobertaModel),
}
"""Configuration and model class by the model type of the encoder without adapters."""
