"""A layer that injects knowledge, stirred as if trained, alone and inside an encoder."""

from __future__ import annotations

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from st_biomed.modules.inject_knowledge import inject_knowledge
from st_biomed.modules.knowledge_injection_layer import KnowledgeInjection
from tests.modules.mention_texts import table

SPANS = torch.tensor([[[1, 3], [2, 5], [-1, -1]], [[2, 3], [-1, -1], [-1, -1]], [[-1, -1], [-1, -1], [-1, -1]]])


def layer_of_knowledge(width: int = 6, **options) -> KnowledgeInjection:
    """In double precision, stirred as if trained."""
    torch.manual_seed(3)
    injection = KnowledgeInjection(width, table(), **options)
    for parameter in injection.parameters():
        nn.init.normal_(parameter, std=0.5)
    return injection.double()


def mentions_of(spans: Tensor, length: int) -> Tensor:
    mentions = torch.zeros(*spans.shape[:2], length, dtype=torch.bool)
    for b, row in enumerate(spans.tolist()):
        for m, (start, end) in enumerate(row):
            if start >= 0:
                mentions[b, m, start:end] = True
    return mentions


def injected(model: SentenceTransformer, **settings) -> SentenceTransformer:
    """With a layer that does something."""
    inject_knowledge(model, table(), **{"layer": 1, "candidates": 3, **settings})
    torch.manual_seed(4)
    for parameter in model[0].injection.parameters():
        parameter.data.add_(torch.randn_like(parameter) / 3)
    return model
