"""Vectors of a knowledge graph for the birds, and an invented similarity of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from st_biomed.kge import KGETable
from tests.losses.pair_batches import birds

BIRDS = birds()
GRAPH = KGETable(
    ["X:BIRD", "X:FISH", "X:MACHINE", "Y:ELSEWHERE"],
    np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0], [0.0, 2.0]]),
    model="complex",
)


def graph_similarity(labels: Tensor) -> Tensor:
    """An invented K ``[B, B]`` of classes: 1 within one, else between -.5 and .9; the classes 1 and 2 have none."""
    a, b = labels[:, None], labels[None, :]
    k = ((a * 7 + b * 7 + a * b * 3) % 15).double() / 10 - 0.5
    k = torch.where((a - b).abs() * (a + b) == 3, torch.nan, k)
    return torch.where(a == b, 1.0, k)


def value(loss: Any, embeddings: Tensor, labels: Tensor, k: Tensor | None = None) -> Tensor:
    return loss.compute_loss_from_embeddings([embeddings], labels, kge_similarity=k)
