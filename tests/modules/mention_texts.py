"""Encoders of every family, with markers, and what tests of mentions need of them."""

from __future__ import annotations

import torch
from sentence_transformers import SentenceTransformer
from transformers import (
    CamembertConfig,
    CamembertModel,
    DistilBertConfig,
    DistilBertModel,
    RobertaConfig,
    RobertaModel,
    XLMRobertaConfig,
    XLMRobertaModel,
)

TERMS = ["flu", "acute gout of the ear", "zoster", "other disease, type 2", "q"]
MARKED = ["the [Ms]acute flu[Me] of the ear", "[Ms]gout[Me] with [Ms]zoster[Me]", "other disease"]

_SIZE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
_SAME = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "max_position_embeddings": 64, **_SIZE}
FAMILIES = {
    "bert": None,
    "roberta": (RobertaConfig, RobertaModel, _SAME),
    "xlm-roberta": (XLMRobertaConfig, XLMRobertaModel, _SAME),
    "camembert": (CamembertConfig, CamembertModel, _SAME),
    "distilbert": (
        DistilBertConfig,
        DistilBertModel,
        {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32, "dropout": 0.0, "attention_dropout": 0.0},
    ),
}


def family(model: SentenceTransformer, kind: str) -> SentenceTransformer:
    """A random encoder of a family in place of the model's BERT."""
    if FAMILIES[kind] is not None:
        config, encoder, size = FAMILIES[kind]
        torch.manual_seed(1)
        model[0].model = encoder(config(vocab_size=len(model.tokenizer), **size)).eval()
    return model


def table(entities: int = 12, width: int = 5) -> torch.Tensor:
    """Vectors of entities, long enough that candidates differ."""
    return 3 * torch.randn(entities, width, generator=torch.Generator().manual_seed(5))
