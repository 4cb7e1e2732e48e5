"""BERGAMOT's graph losses: align text and graph of a concept, and distinguish a neighborhood from a corrupted one.

Its node-node loss is :class:`~st_biomed.losses.MultiSimilarityLoss` on the graph vectors of both views.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from st_biomed.errors import InputError
from st_biomed.losses.arguments import one_of
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.similarity import full_precision

CORRUPTIONS = ("trg", "src")


class IntermodalLoss(nn.Module):
    r"""Brings a concept's text and its neighborhood closer to each other than to other concepts.

    With the text vectors t and the graph vectors g of two views u and v of every concept (BERGAMOT, section 2, ``L_int``)::

        1/2 ( MS([t^u; g^u]) + MS([t^v; g^v]) )

    The two halves are mined separately. BERGAMOT's text, figure and code pair a text with the graph of its own view;
    GEBERT's paper pairs it with the graph of the other view.

    Args:
        pairs: The loss MS. A text and the graph vector of its node have the same label, so ``mask_same_text`` must be
            off.
        cross_view: Whether to pair ``t^u`` with ``g^v`` and ``t^v`` with ``g^u``.

    Raises:
        InputError: A loss that masks pairs of identical text; no pair would be left.
    """

    def __init__(self, pairs: MultiSimilarityLoss, *, cross_view: bool = False) -> None:
        super().__init__()
        if pairs.lookup is not None and pairs.mask_same_text:
            raise InputError("pairs must have mask_same_text=False: a text and its graph vector carry one label")
        self.pairs = pairs
        self.cross_view = cross_view

    def compute_loss_from_embeddings(self, texts: list[Tensor], graphs: list[Tensor], labels: Tensor) -> Tensor:
        """The loss of a batch.

        Args:
            texts: Text vectors of the views u and v, ``[B, D]`` each.
            graphs: Graph vectors of the views, ``[B, D]`` each.
            labels: Text ids, or classes without a lookup, ``[B, 2]``.

        Returns:
            A scalar.
        """
        other = (1, 0) if self.cross_view else (0, 1)
        halves = [
            self.pairs.compute_loss_from_embeddings([texts[i], graphs[j]], labels[:, [i, j]])
            for i, j in zip((0, 1), other)
        ]
        return (halves[0] + halves[1]) / 2


class DeepGraphInfomaxLoss(nn.Module):
    r"""Nodes of the graph agree with its summary; nodes of a corrupted graph do not (Velickovic et al. 2019, Eq. 1 and
    4).

    With vectors ``g_i`` of the nodes, ``h_i`` of the same nodes in the corrupted graph and ``D(g, s) = sigmoid(g^T W s)``::

        s = sigmoid(mean_i g_i),   - mean_i log D(g_i, s) - mean_i log(1 - D(h_i, s))

    The loss is twice the binary cross-entropy over all 2B nodes and is computed from the logits. An encoder that
    ignores the edges cannot go below ``2 log 2``, its value at ``W = 0``.

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
    if one_of("corruption", corruption, CORRUPTIONS) == "trg":
        return torch.stack([source, target[order], relation])
    return torch.stack([source[order], target, relation])
