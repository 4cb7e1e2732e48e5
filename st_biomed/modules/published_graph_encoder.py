"""The graph encoders of BERGAMOT's published code (``graphmel/models/modules.py``), without a residual.

They differ from those of :mod:`st_biomed.modules.graph_convolutions` in three points: a layer does not add its input to its
output, dropout precedes GELU, and the attention network ends in a linear layer.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn.functional import dropout, gelu

from st_biomed.errors import check_dropout, check_integer
from st_biomed.modules.graph_convolutions import RGCN, GraphSAGE, check_divides, torch_geometric_layers
from st_biomed.modules.graph_encoder import GraphEncoder


class WithoutResidual(GraphEncoder):
    """Layers in the published order: convolution, dropout, GELU; the last one is the convolution alone."""

    def __init__(self, *arguments: Any, **layers: Any) -> None:
        super().__init__(*arguments, residual=False, **layers)
        del self.settings["residual"]

    def between(self, states: Tensor) -> Tensor:
        return gelu(dropout(states, self.dropout, self.training))


class PublishedGraphSAGE(WithoutResidual, GraphSAGE):
    """``W_1 mean_j x_j + W_2 x_i + b``: the root weight ``W_2`` is the only way of a node to itself.

    Args:
        width: See :class:`GraphEncoder`.
        **layers: ``layers``, ``hidden`` and ``dropout`` of :class:`GraphEncoder`.
    """

    kind = "published_sage"


class PublishedRGCN(WithoutResidual, RGCN):
    """A matrix for every relation, and the root weight ``W_0`` for the node itself.

    Args:
        width: See :class:`GraphEncoder`.
        n_relations: See :class:`RGCN`.
        blocks: See :class:`RGCN`; the published code has no default.
        bases: See :class:`RGCN`.
        **layers: ``layers``, ``hidden`` and ``dropout`` of :class:`GraphEncoder`.
    """

    kind = "published_rgcn"


class PublishedGATv2(WithoutResidual):
    """Brody et al. 2022, Eq. 7, with dropout of the attention and a linear layer after the last convolution.

    The attention does not see relations, but a neighbor by two relations counts twice, as in the published code.
    That code has a matrix for features of edges in each convolution and never uses it; it is left out.

    Args:
        width: See :class:`GraphEncoder`.
        n_relations: How many relations there are, inverse ones counted.
        heads: Heads of the attention, which share the width.
        attention_dropout: Dropout of the attention, in training; the published script has .1.
        self_loops: Whether a node is its own neighbor. Without it the states of nodes without incoming edges, such as
            all neighbors at the border of the neighborhood, are the bias from the first layer on.
        **layers: ``layers``, ``hidden`` and ``dropout`` of :class:`GraphEncoder`.

    Raises:
        InputError: An argument out of range, or torch-geometric is not installed.
    """

    kind = "published_gat"

    def __init__(
        self,
        width: int,
        n_relations: int,
        *,
        heads: int = 2,
        attention_dropout: float = 0.1,
        self_loops: bool = True,
        **layers: Any,
    ) -> None:
        gat = torch_geometric_layers().GATv2Conv
        check_integer("heads", heads)
        check_divides("heads", heads, width, layers.get("hidden"))
        check_integer("n_relations", n_relations)
        check_dropout("attention_dropout", attention_dropout)

        def convolution(a: int, b: int) -> nn.Module:
            return gat(a, b // heads, heads, dropout=attention_dropout, add_self_loops=self_loops, share_weights=True)

        settings = {
            "n_relations": n_relations,
            "heads": heads,
            "attention_dropout": attention_dropout,
            "self_loops": self_loops,
        }
        super().__init__(width, convolution, settings, **layers)
        self.n_relations = n_relations
        self.output = nn.Linear(width, width)

    def forward(self, states: Tensor, edge_index: Tensor, edge_type: Tensor | None = None) -> Tensor:
        return self.output(super().forward(states, edge_index, edge_type))

    def convolve(self, convolution: nn.Module, states: Tensor, edge_index: Tensor, edge_type: Tensor | None) -> Tensor:
        return convolution(states, edge_index)
