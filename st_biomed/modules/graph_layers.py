"""What graph encoders share: layers over one graph, what they accept, and how they are saved."""

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

from st_biomed.errors import InputError, check_whole
from st_biomed.modules.graph_edges import distinct_edges

WEIGHTS, SETTINGS = "graph_encoder.safetensors", "graph_encoder.json"


class GraphEncoder(nn.Module, ABC):
    r"""Convolutions over one and the same graph, which all nodes take part in.

    Layer by layer, with GELU and dropout between the layers and neither after the last::

        x <- x + dropout(gelu(convolution(x)))

    A node sees itself in every layer: by a weight of its own, or as its own neighbor (GATv2). An edge counts once, however
    often it is listed, and a self-loop in the list not at all. BERGAMOT's settings: 3 layers on the sampled
    neighborhood of one hop, as wide as its text encoder (768), dropout .3; its GATv2 has 2 heads and shared weights.

    Args:
        width: Of the states that come in and of the vectors that go out: the width of the text encoder.
        convolution: Makes a layer from its width in and its width out.
        settings: What the subclass was made with, for :meth:`save`.
        layers: How many convolutions.
        hidden: Width between the layers; ``width`` by default.
        dropout: Between the layers, in training.
        residual: Whether a layer adds to its input; through a matrix where it changes the width.

    Raises:
        InputError: An argument out of its range, or torch-geometric is not installed.
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
            check_whole(name, value)
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout < 1:
            raise InputError(f"dropout must be at least 0 and below 1, found {dropout!r}")
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
            states: Of the nodes, ``[N, width]``.
            edge_index: Source and target of every edge, int64 ``[2, E]``; messages flow from source to target.
            edge_type: Relation of every edge, int64 ``[E]``; what has no use for relations does not look at it.

        Returns:
            ``[N, width]``.

        Raises:
            InputError: Other shapes, a node or a relation that is not there, or relations needed and not given.
        """
        edge_type = self._checked(states, edge_index, edge_type)
        kept = distinct_edges(edge_index, edge_type, len(states))
        edge_index = edge_index[:, kept]
        if edge_type is not None:
            edge_type = edge_type[kept]
        for i, convolution in enumerate(self.convolutions):
            out = self.convolve(convolution, states, edge_index, edge_type)
            if i + 1 < len(self.convolutions):
                out = dropout(gelu(out), self.dropout, self.training)
            states = self.residuals[i](states) + out if len(self.residuals) else out
        return states

    @abstractmethod
    def convolve(self, convolution: nn.Module, states: Tensor, edge_index: Tensor, edge_type: Tensor | None) -> Tensor:
        """One layer: states ``[N, D]`` to ``[N, D']``; every edge is there once and has two ends."""

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
        """Write the settings and the weights into a folder; :func:`st_biomed.modules.graph_encoder.load_graph_encoder` reads them."""
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
