"""The neighborhoods of a training step: the text of each node in each view, and the edges between nodes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.losses.similarity import require_integers
from st_biomed.modules.graph_edges import distinct_edges


@dataclass(frozen=True, init=False)
class GraphBatch:
    """Nodes and edges of a step. The targets are the first nodes; every concept is one node.

    Attributes:
        node_texts: Row of a node's name among the step's distinct texts, in the views u and v, int64 ``[2, N]``.
        edges: Source, target and relation of every edge, int64 ``[3, E]``.

    Raises:
        InputError: Other shapes or types.
    """

    node_texts: Tensor
    edges: Tensor

    def __init__(self, node_texts: Tensor, edges: Tensor) -> None:
        """Both as above, or as the collator gives them: with a first dimension of 1."""
        for name, value, rows in (("node_texts", node_texts, 2), ("edges", edges, 3)):
            matrix = value[0] if value.ndim == 3 and len(value) == 1 else value
            if matrix.ndim != 2 or len(matrix) != rows or matrix.dtype != torch.int64:
                raise InputError(f"{name} must be int64 [1, {rows}, n], found {value.dtype} {list(value.shape)}")
            object.__setattr__(self, name, matrix)

    def check(self, n_texts: int, labels: Tensor) -> None:
        """Reject an inconsistent batch.

        Args:
            n_texts: T.
            labels: Labels of the targets.

        Raises:
            InputError: Labels that are not integers ``[B, 2]`` with B at most N, or a text or node that does not exist.
        """
        n_nodes = self.node_texts.shape[1]
        require_integers(labels)
        if labels.ndim != 2 or labels.shape[1] != 2 or len(labels) > n_nodes:
            raise InputError(f"labels must be [B, 2] with B of at most {n_nodes} nodes, found {list(labels.shape)}")
        for name, values, count in (
            ("node_texts", self.node_texts, n_texts),
            ("sources and targets of edges", self.edges[:2], n_nodes),
        ):
            if values.numel():
                least, most = torch.stack(values.aminmax()).tolist()
                if least < 0 or most >= count:
                    raise InputError(f"{name} must be from 0 to {count - 1}, found {least} to {most}")

    def distinct_edges(self) -> Tensor:
        """The distinct edges in their order, without edges from a node to itself, int64 ``[3, E']``."""
        return self.edges[:, distinct_edges(self.edges[:2], self.edges[2], self.node_texts.shape[1])]
