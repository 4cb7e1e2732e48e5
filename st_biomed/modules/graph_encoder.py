"""The base of graph encoders: layers over one graph, checks of the input, and saving."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.functional import dropout, gelu

from st_biomed.errors import InputError, check_dropout, check_integer
from st_biomed.modules.graph_edges import distinct_edges

WEIGHTS, SETTINGS = "graph_encoder.safetensors", "graph_encoder.json"


class GraphEncoder(nn.Module, ABC):
    r"""Convolutions over one graph with all nodes.

    GELU and dropout are applied between the layers, but not after the last::

        x <- x + dropout(gelu(convolution(x)))

    A node sees itself in every layer, by a separate weight or as its own neighbor (GATv2), and through the residual.
    Repeated edges count once, and listed self-loops are ignored. BERGAMOT's settings: 3 layers on the sampled
    neighborhood of one hop, with the width of its text encoder (768) and dropout .3; its GATv2 has 2 heads and shared
    weights. BERGAMOT has no residual (:mod:`st_biomed.modules.published_graph_encoder`): with one, a node's vector is
    so close to its text before any training that the intermodal loss is nearly solved.

    Args:
        width: Width of input and output, equal to that of the text encoder.
        convolution: Creates a layer from its input and output width.
        settings: Arguments of the subclass, for :meth:`save`.
        layers: Number of convolutions.
        hidden: Width between the layers; ``width`` by default.
        dropout: Dropout between the layers, in training.
        residual: Whether a layer adds its input to its output; through a matrix if the width changes.

    Raises:
        InputError: An argument out of range, or torch-geometric is not installed.
    """

    kind: ClassVar[str]
    n_relations: int | None = None

    def __init__(
        self,
        width: int,
        convolution: Callable[[int, int], nn.Module],
        settings: dict[str, Any],
        *,
        layers: int = 3,
        hidden: int | None = None,
        dropout: float = 0.3,
        residual: bool = True,
    ) -> None:
        super().__init__()
        hidden = width if hidden is None else hidden
        for name, value in (("width", width), ("layers", layers), ("hidden", hidden)):
            check_integer(name, value)
        check_dropout("dropout", dropout)
        self.width = width
        self.dropout = float(dropout)
        self.settings = {
            "width": width, "layers": layers, "hidden": hidden, "dropout": self.dropout, "residual": residual, **settings
        }  # fmt: skip
        widths = [width, *[hidden] * (layers - 1), width]
        self.convolutions = nn.ModuleList(convolution(a, b) for a, b in pairwise(widths))
        self.residuals = nn.ModuleList(
            nn.Identity() if a == b else nn.Linear(a, b, bias=False) for a, b in pairwise(widths)
        )
        if not residual:
            self.residuals = nn.ModuleList()

    def forward(self, states: Tensor, edge_index: Tensor, edge_type: Tensor | None = None) -> Tensor:
        """Vectors of all nodes.

        Args:
            states: States of the nodes, ``[N, width]``.
            edge_index: Source and target of every edge, int64 ``[2, E]``; messages flow from source to target.
            edge_type: Relation of every edge, int64 ``[E]``; ignored by encoders without relations.

        Returns:
            ``[N, width]``.

        Raises:
            InputError: Wrong shapes, an unknown node or relation, or missing relations.
        """
        edge_type = self._checked(states, edge_index, edge_type)
        kept = distinct_edges(edge_index, edge_type, len(states))
        edge_index = edge_index[:, kept]
        if edge_type is not None:
            edge_type = edge_type[kept]
        for i, convolution in enumerate(self.convolutions):
            out = self.convolve(convolution, states, edge_index, edge_type)
            if i + 1 < len(self.convolutions):
                out = self.between(out)
            states = self.residuals[i](states) + out if len(self.residuals) else out
        return states

    def between(self, states: Tensor) -> Tensor:
        """What is applied to the output of each layer but the last."""
        return dropout(gelu(states), self.dropout, self.training)

    @abstractmethod
    def convolve(self, convolution: nn.Module, states: Tensor, edge_index: Tensor, edge_type: Tensor | None) -> Tensor:
        """One layer: states ``[N, D]`` to ``[N, D']``; edges are distinct and have two different ends."""

    def _checked(self, states: Tensor, edge_index: Tensor, edge_type: Tensor | None) -> Tensor | None:
        """The relations, where they are of use."""
        if states.ndim != 2 or states.shape[1] != self.width:
            raise InputError(f"states must be [N, {self.width}], found {list(states.shape)}")
        if edge_index.ndim != 2 or len(edge_index) != 2 or edge_index.dtype != torch.int64:
            raise InputError(f"edge_index must be int64 [2, E], found {edge_index.dtype} {list(edge_index.shape)}")
        _within("edge_index", edge_index, len(states), "nodes")
        if self.n_relations is None:
            return None
        if edge_type is None:
            raise InputError(f"{type(self).__name__} needs edge_type, the relation of every edge, found none")
        if edge_type.dtype != torch.int64 or edge_type.shape != edge_index.shape[1:]:
            found = f"{edge_type.dtype} {list(edge_type.shape)}"
            raise InputError(f"edge_type must be int64 [{edge_index.shape[1]}], one for each edge, found {found}")
        _within("edge_type", edge_type, self.n_relations, "relations")
        return edge_type

    def save(self, folder: str | Path) -> None:
        """Write settings and weights into a folder, for :func:`st_biomed.modules.graph_encoders_by_name.load_graph_encoder`."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        weights = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in self.state_dict().items()}
        save_file(weights, folder / WEIGHTS)
        text = json.dumps({"kind": self.kind, **self.settings}, indent=2)
        (folder / SETTINGS).write_text(text + "\n", "utf-8")


def _within(name: str, values: Tensor, count: int, what: str) -> None:
    if values.numel():
        least, most = torch.stack(values.aminmax()).tolist()
        if least < 0 or most >= count:
            raise InputError(f"{name} must be from 0 to {count - 1}, of {count} {what}, found {least} to {most}")
