"""BERGAMOT's loss with each graph encoder, and its parts in a step."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from st_biomed.losses.bergamot import BergamotLoss
from st_biomed.losses.graph_batch import GraphBatch
from tests.losses.graph_steps import (
    CLASSES,
    GRAPH,
    encoder_of,
    vectors,
)

KINDS = ("sage", "rgcn", "gat", "published_gat")
LABELS = CLASSES.contiguous()
TEXT_ONLY = {"node_weight": 0, "intermodal_weight": 0, "dgi_weight": 0}


def made(kind: str = "sage", **arguments: Any) -> BergamotLoss:
    encoder = encoder_of(kind)
    return BergamotLoss(None, encoder, **arguments).double()


def parts(loss: BergamotLoss, graph: GraphBatch = GRAPH, labels: Tensor = CLASSES, at: int = 0) -> dict[str, Tensor]:
    """The loss of a step, by number, for the draws."""
    loss.steps.fill_(at)
    return loss.compute_loss_from_embeddings([vectors()], labels, graph)
