"""Deep graph infomax: distinguish the neighborhood of a node from a corrupted one."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from st_biomed.errors import InputError, check_name
from st_biomed.losses.similarity import full_precision

CORRUPTIONS = ("trg", "src")


class DeepGraphInfomaxLoss(nn.Module):
    r"""Nodes of the graph agree with its summary; nodes of a corrupted graph do not (Velickovic et al. 2019, Eq. 1 and
    4).

    With vectors ``g_i`` of the nodes, ``h_i`` of the same nodes in the corrupted graph and ``D(g, s) = sigmoid(g^T W s)``::

        s = sigmoid(mean_i g_i),   - mean_i log D(g_i, s) - mean_i log(1 - D(h_i, s))

    The loss is twice the binary cross-entropy over all 2B nodes and is computed from the logits. An encoder that
    ignores the edges cannot go below ``2 log 2``, its value at ``W = 0``. The summary is near .5 in every dimension, and
    true and corrupted nodes differ only in whether a node fits its neighbors. So W alone learns nothing: the graph encoder must
    learn to compare, which takes a learning rate of 1e-3 rather than that of a text encoder.

    Args:
        width: D.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(width)
        self.weight = nn.Parameter(torch.empty(width, width).uniform_(-bound, bound))

    def forward(self, nodes: Tensor, corrupted: Tensor) -> Tensor:
        """From nodes and corrupted nodes, ``[B, D]`` each, to a scalar in float32 or wider.

        Raises:
            InputError: Other shapes.
        """
        width = len(self.weight)
        if nodes.shape != corrupted.shape or nodes.ndim != 2 or nodes.shape[1] != width:
            raise InputError(
                f"nodes and corrupted nodes must be [B, {width}], found {list(nodes.shape)} and {list(corrupted.shape)}"
            )
        with full_precision(nodes):
            weight = self.weight.to(torch.promote_types(nodes.dtype, torch.float32))
            towards = weight @ nodes.to(weight.dtype).mean(0).sigmoid()
            right, wrong = nodes.to(weight.dtype) @ towards, corrupted.to(weight.dtype) @ towards
            return softplus(-right).mean() + softplus(wrong).mean()


def corrupted_edges(edges: Tensor, order: Tensor, corruption: str = "trg") -> Tensor:
    """A graph with permuted edges: targets (or sources) are exchanged, relations stay with the other end.

    Args:
        edges: Source, target and relation, int64 ``[3, E]``.
        order: A permutation of the edges, int64 ``[E]``.
        corruption: ``"trg"`` for targets, ``"src"`` for sources.

    Returns:
        int64 ``[3, E]``.
    """
    source, target, relation = edges
    if check_name("corruption", corruption, CORRUPTIONS) == "trg":
        return torch.stack([source, target[order], relation])
    return torch.stack([source[order], target, relation])
