"""The classes that a model's files may name: those of sentence-transformers and of this package, by an allow-list.

A class is found in the namespace that it is installed in. No name of a file is ever imported.
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
"""Modules of sentence-transformers that make a vector of a text."""

_PLACE = "sentence_transformers.sentence_transformer.modules"
"""Where version 6 has them, some by way of another place; versions before had them in ``sentence_transformers.models``."""

WORD_TOKENIZERS = ("WhitespaceTokenizer", "PhraseTokenizer", "TransformersTokenizerWrapper")
"""What ``WordEmbeddings`` may name; the first two read a list of words, the last is a tokenizer of transformers."""


@cache
def module_classes() -> dict[str, Any]:
    """Every name that ``modules.json`` may give a module, as any version has written it, with the installed class."""
    from sentence_transformers.sentence_transformer import modules as host

    from st_biomed.modules.knowledge_injected_transformer import KnowledgeInjectedTransformer
    from st_biomed.modules.mention_pooling import MentionPooling
    from st_biomed.modules.name_vectors import NameVectors
    from st_biomed.modules.residual_feed_forward import ResidualFeedForward

    found: dict[str, Any] = {}
    for name in HOST_MODULES:
        kind = getattr(host, name)
        file = kind.__module__.rpartition(".")[2]
        for place in (kind.__module__, _PLACE, f"{_PLACE}.{file}", "sentence_transformers.models"):
            found[f"{place}.{name}"] = kind
        found[f"sentence_transformers.models.{name}.{name}"] = kind
        if kind.__module__.startswith("sentence_transformers.base.modules."):
            found[f"sentence_transformers.base.modules.{name}"] = kind
    for kind in (KnowledgeInjectedTransformer, MentionPooling):  # their files lie in the release, see own_code
        found[f"{kind.__module__}.{kind.__name__}"] = kind
        found[f"st_biomed.modules.{kind.__module__}.{kind.__name__}"] = kind
    for own in (NameVectors, ResidualFeedForward):
        found[f"{own.__module__}.{own.__name__}"] = own
    return found


def is_host_module(kind: Any) -> bool:
    """Whether a class is of sentence-transformers."""
    return str(kind.__module__).startswith("sentence_transformers.")


@cache
def word_tokenizers() -> dict[str, str]:
    """Every name that ``WordEmbeddings`` may give its tokenizer, with the name of the class."""
    from sentence_transformers.sentence_transformer.modules import tokenizer

    found = {}
    for name in WORD_TOKENIZERS:
        for place in (
            getattr(tokenizer, name).__module__,
            f"{_PLACE}.tokenizer",
            "sentence_transformers.models.tokenizer",
        ):
            found[f"{place}.{name}"] = name
        found[f"sentence_transformers.models.tokenizer.{name}.{name}"] = name
    return found


def is_activation(named: str) -> bool:
    """Whether a name is that of an activation: a module of ``torch.nn``, by where torch has it or had it."""
    from torch import nn

    place, _, name = named.rpartition(".")
    if place != "torch.nn" and not (place.startswith("torch.nn.modules.") and place.count(".") == 3):
        return False
    kind = getattr(nn, name, None)
    return isinstance(kind, type) and issubclass(kind, nn.Module)


def is_model_type(named: str) -> bool:
    """Whether the class of an encoder is installed, by the type that its configuration gives it."""
    from transformers import CONFIG_MAPPING

    from st_biomed.modules.adapt import register_families

    register_families()
    return named in CONFIG_MAPPING
