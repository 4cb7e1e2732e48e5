"""A small step of BERGAMOT that its tests share: names, neighborhoods, and the same as the trainer gives it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from st_biomed.losses.graph_batch import GraphBatch
from st_biomed.modules.graph_convolutions import RGCN, GATv2, GraphEncoder, GraphSAGE
from st_biomed.modules.published_graph_encoder import PublishedGATv2

TEXTS = [
    "flu", "acute flu", "zoster", "shingles", "gout", "podagra", "ague", "chronic disease of the ear",
    "fever", "pain", "type 2 disease", "mumps", "pox", "other pox",
]  # fmt: skip
CLASSES = torch.arange(4)[:, None].expand(4, 2)

# Four targets, then five neighbors; the last one has one name in both views, target 1 is a neighbor of target 0.
NODE_TEXTS = torch.tensor([[0, 2, 4, 6, 8, 9, 10, 12, 13], [1, 3, 5, 7, 9, 8, 11, 13, 13]])
EDGES = torch.tensor([[4, 5, 1, 6, 7, 7, 8, 5], [0, 0, 0, 1, 1, 2, 3, 3], [0, 1, 2, 0, 1, 1, 2, 0]])
RELATIONS = 3
GRAPH = GraphBatch(NODE_TEXTS, EDGES)
NO_EDGES = GraphBatch(NODE_TEXTS, EDGES[:, :0])


def encoder_of(kind: str, width: int = 16, **options: Any) -> GraphEncoder:
    """The same weights in every call."""
    torch.manual_seed(3)
    options = {"dropout": 0.0, **options}
    if kind == "sage":
        return GraphSAGE(width, **options)
    if kind == "rgcn":
        return RGCN(width, RELATIONS, blocks=2, **options)
    if kind == "published_gat":
        return PublishedGATv2(width, RELATIONS, attention_dropout=0.0, **options)
    return GATv2(width, RELATIONS, **options)


def vectors(width: int = 16, dtype: torch.dtype = torch.float64) -> Tensor:
    """Of the texts, ``[14, D]``."""
    return torch.randn(len(TEXTS), width, generator=torch.Generator().manual_seed(8), dtype=torch.float64).to(dtype)


def step_of(model: Any, graph: GraphBatch = GRAPH, texts: list[str] = TEXTS) -> list[dict[str, Any]]:
    """The one text column, as the trainer hands it over."""
    features = dict(model.preprocess(texts))
    return [features | {"node_texts": graph.node_texts[None], "edges": graph.edges[None]}]
