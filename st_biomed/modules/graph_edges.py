"""Edges of a neighborhood graph: distinct edges, and several graphs as one."""

from __future__ import annotations

import torch
from torch import Tensor


def distinct_edges(edge_index: Tensor, edge_type: Tensor | None, n_nodes: int) -> Tensor:
    """Mask of the edges that count: the first of each kind, without self-loops.

    Args:
        edge_index: Source and target of every edge, int64 ``[2, E]``.
        edge_type: Relation of every edge, int64 ``[E]``; with ``None`` two edges with equal ends are of one kind.
        n_nodes: N.

    Returns:
        Boolean ``[E]``.
    """
    source, target = edge_index
    if not len(source):
        return torch.zeros_like(source, dtype=torch.bool)
    kind = source * n_nodes + target
    if edge_type is not None:
        kind = kind * (edge_type.max() + 1) + edge_type
    _, kind = kind.unique(return_inverse=True)
    place = torch.arange(len(source), device=source.device)
    first = torch.full_like(place, len(source)).scatter_reduce_(0, kind, place, "amin")
    return (first[kind] == place) & (source != target)


def side_by_side(graphs: list[Tensor], n_nodes: int) -> Tensor:
    """Several graphs over copies of the same nodes as one graph; a node of graph k is ``k * N + node``.

    Args:
        graphs: Source, target and relation of every edge, int64 ``[3, E]`` each.
        n_nodes: N of each graph.

    Returns:
        int64 ``[3, total E]``.
    """
    shift = torch.tensor([[n_nodes], [n_nodes], [0]], device=graphs[0].device)
    return torch.cat([edges + k * shift for k, edges in enumerate(graphs)], dim=1)
