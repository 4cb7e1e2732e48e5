"""The classes that a model's files may name: an allow-list of sentence-transformers and this package.

A class is looked up among installed classes. A name in a file is never imported.
"""

from __future__ import annotations

from functools import cache
from typing import Any

HOST_MODULES = (
    "Transformer",
    "StaticEmbedding",
    "Asym",
    "BoW",
    "CLIPModel",
    "CNN",
    "Dense",
    "Dropout",
    "LayerNorm",
    "LSTM",
    "Normalize",
    "Pooling",
    "Router",
    "WeightedLayerPooling",
    "WordEmbeddings",
    "WordWeights",
)
"""Modules of sentence-transformers that turn a text into a vector."""

_PLACE = "sentence_transformers.sentence_transformer.modules"
"""The places of these modules in version 6; earlier versions had them in ``sentence_transformers.models``."""

WORD_TOKENIZERS = ("WhitespaceTokenizer", "PhraseTokenizer", "TransformersTokenizerWrapper")
"""The tokenizers of ``WordEmbeddings``; the first two read a list of words, the last one is of transformers."""


@cache
def module_classes() -> dict[str, Any]:
    """Every name of a module in ``modules.json``, in the spelling of any version, with the installed class."""
    from sentence_transformers.sentence_transformer import modules as host

    from st_biomed.modules.knowledge_injected_transformer import KnowledgeInjectedTransformer
    from st_biomed.modules.mention_pooling import MentionPooling
    from st_biomed.modules.name_vectors import NameVectors
    from st_biomed.modules.residual_feed_forward import ResidualFeedForward

    classes: dict[str, Any] = {}
    for name in HOST_MODULES:
        kind = getattr(host, name)
        file = kind.__module__.rpartition(".")[2]
        for place in (kind.__module__, _PLACE, f"{_PLACE}.{file}", "sentence_transformers.models"):
            classes[f"{place}.{name}"] = kind
        classes[f"sentence_transformers.models.{name}.{name}"] = kind
        if kind.__module__.startswith("sentence_transformers.base.modules."):
            classes[f"sentence_transformers.base.modules.{name}"] = kind
    for kind in (KnowledgeInjectedTransformer, MentionPooling):  # their files are in the release, see own_code
        classes[f"{kind.__module__}.{kind.__name__}"] = kind
        classes[f"st_biomed.modules.{kind.__module__}.{kind.__name__}"] = kind
    for own in (NameVectors, ResidualFeedForward):
        classes[f"{own.__module__}.{own.__name__}"] = own
    return classes


def is_host_module(kind: Any) -> bool:
    """Whether a class belongs to sentence-transformers."""
    return str(kind.__module__).startswith("sentence_transformers.")


@cache
def word_tokenizers() -> dict[str, str]:
    """Every name that ``WordEmbeddings`` may use for its tokenizer, with the name of the class."""
    from sentence_transformers.sentence_transformer.modules import tokenizer

    names = {}
    for name in WORD_TOKENIZERS:
        for place in (
            getattr(tokenizer, name).__module__,
            f"{_PLACE}.tokenizer",
            "sentence_transformers.models.tokenizer",
        ):
            names[f"{place}.{name}"] = name
        names[f"sentence_transformers.models.tokenizer.{name}.{name}"] = name
    return names


def is_activation(named: str) -> bool:
    """Whether a name is that of an activation: a module of ``torch.nn``, at its present or earlier place."""
    from torch import nn

    place, _, name = named.rpartition(".")
    if place != "torch.nn" and not (place.startswith("torch.nn.modules.") and place.count(".") == 3):
        return False
    kind = getattr(nn, name, None)
    return isinstance(kind, type) and issubclass(kind, nn.Module)


def is_model_type(named: str) -> bool:
    """Whether the class of an encoder is installed, by the type in its configuration."""
    from transformers import CONFIG_MAPPING

    from st_biomed.modules.adapters import register_families

    register_families()
    return named in CONFIG_MAPPING
