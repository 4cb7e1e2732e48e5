"""Graph encoders, from the texts of a neighborhood to vectors of its nodes. They are part of a loss in training."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from st_biomed.errors import InputError, check_integer
from st_biomed.modules.graph_encoder import GraphEncoder


class GraphSAGE(GraphEncoder):
    r"""Hamilton et al. 2017, Algorithm 1 with the mean of the neighbors: ``W_1 mean_j x_j + W_2 x_i + b``.

    Args:
        width: See :class:`GraphEncoder`.
        **layers: See :class:`GraphEncoder`.
    """

    kind = "sage"

    def __init__(self, width: int, **layers: Any) -> None:
        convolution = torch_geometric_layers().SAGEConv
        super().__init__(width, lambda a, b: convolution(a, b, aggr="mean"), {}, **layers)

    def convolve(self, convolution: nn.Module, states: Tensor, edge_index: Tensor, edge_type: Tensor | None) -> Tensor:
        return convolution(states, edge_index)


class RGCN(GraphEncoder):
    r"""Schlichtkrull et al. 2018, Eq. 2: a matrix for every relation, built from blocks (Eq. 4) or bases (Eq. 3).

    Args:
        width: See :class:`GraphEncoder`.
        n_relations: How many relations there are, inverse ones counted.
        blocks: Number of blocks on the diagonal of a matrix, which divides the widths; 64 by default.
        bases: Number of basis matrices shared by all relations, in place of blocks.
        **layers: See :class:`GraphEncoder`.
    """

    kind = "rgcn"

    def __init__(
        self, width: int, n_relations: int, *, blocks: int | None = None, bases: int | None = None, **layers: Any
    ) -> None:
        torch_geometric_layers()
        from st_biomed.modules.relational_convolution import EdgewiseRGCNConv

        check_integer("n_relations", n_relations)
        if blocks is not None and bases is not None:
            raise InputError(f"only one of blocks and bases may be given, found {blocks!r} and {bases!r}")
        if bases is None:
            blocks = 64 if blocks is None else blocks
            check_integer("blocks", blocks)
            check_divides("blocks", blocks, width, layers.get("hidden"))
        else:
            check_integer("bases", bases)

        def convolution(a: int, b: int) -> nn.Module:
            return EdgewiseRGCNConv(a, b, n_relations, num_blocks=blocks, num_bases=bases)

        settings = {"n_relations": n_relations, "blocks": blocks, "bases": bases}
        super().__init__(width, convolution, settings, **layers)
        self.n_relations = n_relations

    def convolve(self, convolution: nn.Module, states: Tensor, edge_index: Tensor, edge_type: Tensor | None) -> Tensor:
        return convolution(states, edge_index, edge_type)


class GATv2(GraphEncoder):
    r"""Brody et al. 2022, Eq. 7: attention over the neighbors and the node itself, ``a . LeakyReLU(W [x_i; x_j; r])``.

    The relation r of an edge is a learned vector in the attention; a node is its own neighbor by a separate relation.
    The published code of BERGAMOT reads the relations but never uses them.

    Args:
        width: See :class:`GraphEncoder`.
        n_relations: How many relations there are, inverse ones counted; ``None`` for edges without features.
        heads: Heads of the attention, which share the width.
        share_weights: Whether both ends of an edge share one matrix.
        relation_width: Width of the vectors of relations.
        **layers: See :class:`GraphEncoder`.
    """

    kind = "gat"

    def __init__(
        self,
        width: int,
        n_relations: int | None = None,
        *,
        heads: int = 2,
        share_weights: bool = True,
        relation_width: int = 64,
        **layers: Any,
    ) -> None:
        gat = torch_geometric_layers().GATv2Conv
        check_integer("heads", heads)
        check_divides("heads", heads, width, layers.get("hidden"))
        if n_relations is not None:
            check_integer("n_relations", n_relations)
            check_integer("relation_width", relation_width)

        def convolution(a: int, b: int) -> nn.Module:
            features = None if n_relations is None else relation_width
            return gat(a, b // heads, heads, share_weights=share_weights, edge_dim=features, add_self_loops=False)

        settings = {
            "n_relations": n_relations, "heads": heads, "share_weights": share_weights, "relation_width": relation_width
        }  # fmt: skip
        super().__init__(width, convolution, settings, **layers)
        self.n_relations = n_relations
        self.relations = None if n_relations is None else nn.Embedding(n_relations + 1, relation_width)

    def convolve(self, convolution: nn.Module, states: Tensor, edge_index: Tensor, edge_type: Tensor | None) -> Tensor:
        nodes = torch.arange(len(states), device=states.device)
        edge_index = torch.cat([edge_index, nodes.expand(2, -1)], dim=1)
        if self.relations is None or edge_type is None:
            return convolution(states, edge_index)
        itself = torch.full_like(nodes, self.relations.num_embeddings - 1)
        return convolution(states, edge_index, self.relations(torch.cat([edge_type, itself])))


def torch_geometric_layers() -> Any:
    """The layers of torch-geometric, which take seconds to import.

    Raises:
        InputError: It is not installed.
    """
    try:
        from torch_geometric import nn as layers
    except ImportError as error:
        raise InputError("graph encoders need torch-geometric: pip install 'st-biomed[graph]'") from error
    return layers


def check_divides(name: str, value: int, width: int, hidden: int | None) -> None:
    """Reject a number of parts that does not divide the widths of the layers.

    Raises:
        InputError: One line with the number and the width.
    """
    for other, size in (("width", width), ("hidden", hidden)):
        if size is not None and isinstance(size, int) and size % value:
            raise InputError(f"{name} must divide {other}={size}, found {value}")
