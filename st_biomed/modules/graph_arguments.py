"""Recipe arguments for the graph encoder that is trained with the text encoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from st_biomed.modules.graph_convolutions import RGCN, GATv2, GraphSAGE
from st_biomed.modules.graph_encoder import GraphEncoder
from st_biomed.modules.graph_encoders_by_name import GRAPH_ENCODERS
from st_biomed.modules.published_graph_encoder import PublishedGATv2, PublishedGraphSAGE, PublishedRGCN
from st_biomed.settings.checks import COUNT, DROPOUT, about, above, at_least, check_unused, one_of

GRAPHS = (*GRAPH_ENCODERS, "none")
_OF_SOME = {
    "graph_residual": ("sage", "rgcn", "gat"),
    "heads": ("gat", "published_gat"),
    "attention_dropout": ("published_gat",),
    "self_loops": ("published_gat",),
    "relation_features": ("gat",),
    "blocks": ("rgcn", "published_rgcn"),
    "bases": ("rgcn", "published_rgcn"),
}
"""Options of some graph encoders, and these encoders."""


@dataclass
class GraphArguments:
    """BERGAMOT's graph encoder (section 3 of the paper)."""

    graph: str = field(default="gat", metadata=about(f"graph encoder: {', '.join(GRAPHS)} (3)", one_of(*GRAPHS)))
    graph_layers: int = field(default=3, metadata=about("number of convolutions over a neighborhood", COUNT))
    graph_hidden: int | None = field(
        default=None, metadata=about("width between the convolutions; the encoder's by default", COUNT)
    )
    graph_dropout: float = field(default=0.3, metadata=about("dropout between the convolutions", DROPOUT))
    graph_residual: bool = field(
        default=True,
        metadata={
            "help": "add the input of a convolution to its output (sage, rgcn, gat); published encoders never do"
        },
    )
    heads: int = field(default=2, metadata=about("heads of the attention (gat, published_gat)", COUNT))
    attention_dropout: float = field(default=0.1, metadata=about("dropout of the attention (published_gat)", DROPOUT))
    self_loops: bool = field(
        default=True, metadata={"help": "let a node attend to itself (published_gat); without it only neighbors count"}
    )
    relation_features: bool = field(
        default=True, metadata={"help": "let the attention see the relation of an edge (gat)"}
    )
    graph_learning_rate: float | None = field(
        default=None,
        metadata=about(
            "learning rate of the graph encoder, the discriminator and relation vectors; learning_rate by default",
            above(0),
        ),
    )
    graph_warmup_steps: float | None = field(
        default=None,
        metadata=about(
            "steps of the warm-up of this learning rate, or a share of all steps if below 1; warmup_steps by default",
            at_least(0),
        ),
    )
    blocks: int | None = field(
        default=None, metadata=about("blocks on the diagonal of RGCN's matrices; 64 by default", COUNT)
    )
    bases: int | None = field(default=None, metadata=about("bases of RGCN's matrices, in place of blocks", COUNT))

    @property
    def loss_learning_rate(self) -> float | None:
        """Learning rate of the graph encoder and of the other parameters of the loss."""
        return self.graph_learning_rate

    @property
    def loss_warmup_steps(self) -> float | None:
        """Warm-up steps of the graph encoder and of the other parameters of the loss."""
        return self.graph_warmup_steps

    def check_graph(self) -> None:
        """Reject options of another graph encoder than the chosen one; without any, all of them have no effect.

        Raises:
            InputError: Such an option has another value than its default.
        """
        if self.graph != "none":
            used = {name for name, graphs in _OF_SOME.items() if self.graph in graphs}
            check_unused(self, _OF_SOME.keys() - used, f"graph {self.graph}", by=("graph",))

    def graph_encoder(self, width: int, n_relations: int) -> GraphEncoder | None:
        """The graph encoder with new weights, or ``None`` for ``"none"``.

        Args:
            width: D, the width of the text encoder.
            n_relations: Number of relations of the graph.

        Raises:
            InputError: Inconsistent numbers.
        """
        shared: dict[str, Any] = {
            "layers": self.graph_layers,
            "hidden": self.graph_hidden,
            "dropout": self.graph_dropout,
        }
        residual, matrices = self.graph_residual, {"blocks": self.blocks, "bases": self.bases}
        match self.graph:
            case "sage":
                return GraphSAGE(width, residual=residual, **shared)
            case "rgcn":
                return RGCN(width, n_relations, residual=residual, **matrices, **shared)
            case "gat":
                relations = n_relations if self.relation_features else None
                return GATv2(width, relations, heads=self.heads, residual=residual, **shared)
            case "published_sage":
                return PublishedGraphSAGE(width, **shared)
            case "published_rgcn":
                return PublishedRGCN(width, n_relations, **matrices, **shared)
            case "published_gat":
                attention: dict[str, Any] = {
                    "heads": self.heads,
                    "attention_dropout": self.attention_dropout,
                    "self_loops": self.self_loops,
                }
                return PublishedGATv2(width, n_relations, **attention, **shared)
        return None
