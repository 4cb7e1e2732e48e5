"""Small trainable adapters in a frozen encoder: SapBERT's parameter-efficient variant."""

from __future__ import annotations

from typing import Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from torch import nn
from transformers import AutoConfig, AutoModel

from st_biomed.errors import InputError, unknown_name
from st_biomed.modules.bottleneck_adapter import FAMILIES, adapter_parameters
from st_biomed.modules.knowledge_injected_transformer import KnowledgeInjectedTransformer

SIZES = {"large": 1, "small": 16}
"""Reduction factors of SapBERT's two variants. The paper gives no widths, only shares of the parameters of BERT-base
("13.22% and 1.09% of the full SapBERT variant"): these factors, with the coupling after the embeddings, give
14,470,272 and 1,190,592 of 109,482,240. Without the coupling no factor that divides 768 gives the larger one."""


def add_adapters(model: SentenceTransformer, size: str | int = "small") -> SentenceTransformer:
    """Insert bottleneck adapters into the encoder of a model, in place, and freeze everything else.

    Before training, the vectors do not change. Adapters cannot be folded into the encoder: a saved model contains the
    file of :mod:`st_biomed.modules.bottleneck_adapter` and loads with ``trust_remote_code=True``, without this
    package. Dropout of the frozen encoder stays on in training, as published.

    Args:
        model: A model whose first module is a BERT, RoBERTa or XLM-R.
        size: ``"large"`` (13.22% of BERT-base), ``"small"`` (1.09%), or the width of the encoder divided by that of
            the bottlenecks.

    Returns:
        The model.

    Raises:
        InputError: An unknown size, an encoder of another kind, with adapters or with injection of knowledge, or a factor
            that does not divide its width.
    """
    reduction_factor = size if isinstance(size, int) and not isinstance(size, bool) else SIZES.get(str(size))
    if reduction_factor is None:
        raise unknown_name("adapter size", size, SIZES)
    transformer = encoder_of(model)
    if type(transformer).__name__ == KnowledgeInjectedTransformer.__name__:  # also one loaded with its own code
        raise InputError("bottleneck adapters need a plain encoder, found one with injection of knowledge")
    base: Any = transformer.model
    if base.config.model_type not in FAMILIES:
        raise InputError(
            f"bottleneck adapters support {', '.join(FAMILIES)}, found an encoder of type {base.config.model_type!r}"
        )
    register_families()
    config_class, model_class = FAMILIES[base.config.model_type]
    settings = {name: value for name, value in base.config.to_dict().items() if name != "model_type"}
    config = config_class(
        **settings, reduction_factor=reduction_factor, attn_implementation=base.config._attn_implementation
    )
    try:
        adapted = model_class(config, add_pooling_layer=base.pooler is not None)
    except ValueError as error:
        raise InputError(str(error)) from error
    adapted.load_state_dict(base.state_dict(), strict=False)
    _keep_dropout(base, adapted)
    transformer.model = adapted.to(device=base.device, dtype=base.dtype).train(base.training)
    model.requires_grad_(False)
    for parameter in adapter_parameters(adapted).values():
        parameter.requires_grad_(True)
    return model


def _keep_dropout(base: nn.Module, adapted: nn.Module) -> None:
    """Give modules the dropout of those with the same name; the configuration does not have what was set after loading."""
    for name, module in base.named_modules():
        for attribute, value in vars(module).items():
            if isinstance(value, float) and (attribute == "p" or "drop" in attribute):
                setattr(adapted.get_submodule(name), attribute, value)


def encoder_of(model: SentenceTransformer) -> Transformer:
    """The first module of a model, for adapters.

    Raises:
        InputError: It is not a torch encoder of transformers, or has adapters of peft.
    """
    first = next(iter(model), None)
    if not isinstance(first, Transformer) or first.backend != "torch":
        raise InputError(f"adapters need a Transformer module that runs in torch, found {type(first).__name__}")
    if hasattr(first.model, "peft_config"):
        raise InputError("the encoder already has adapters of peft")
    return first


def register_families() -> None:
    """Register checkpoints with adapters in transformers, and include the file of the classes in saved models."""
    for config_class, model_class in FAMILIES.values():
        AutoConfig.register(config_class.model_type, config_class, exist_ok=True)
        AutoModel.register(config_class, model_class, exist_ok=True)
        config_class.register_for_auto_class()
        model_class.register_for_auto_class("AutoModel")
