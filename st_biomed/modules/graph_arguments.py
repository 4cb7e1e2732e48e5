"""Recipe arguments for the graph encoder that is trained with the text encoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from st_biomed.modules.graph_encoder import GRAPH_ENCODERS, RGCN, GATv2, GraphSAGE
from st_biomed.modules.graph_layers import GraphEncoder
from st_biomed.settings.checks import COUNT, DROPOUT, about, one_of

GRAPHS = (*GRAPH_ENCODERS, "none")


@dataclass
class GraphArguments:
    """BERGAMOT's graph encoder (section 3 of the paper)."""

    graph: str = field(default="gat", metadata=about(f"graph encoder: {', '.join(GRAPHS)} (3)", one_of(*GRAPHS)))
    graph_layers: int = field(default=3, metadata=about("number of convolutions over a neighborhood", COUNT))
    graph_hidden: int | None = field(
        default=None, metadata=about("width between the convolutions; the encoder's by default", COUNT)
    )
    graph_dropout: float = field(default=0.3, metadata=about("dropout between the convolutions", DROPOUT))
    graph_residual: bool = field(default=True, metadata={"help": "add the input of a convolution to its output"})
    heads: int = field(default=2, metadata=about("heads of the attention (gat)", COUNT))
    relation_features: bool = field(
        default=True, metadata={"help": "let the attention see the relation of an edge (gat)"}
    )
    blocks: int | None = field(
        default=None, metadata=about("blocks on the diagonal of RGCN's matrices; 64 by default", COUNT)
    )
    bases: int | None = field(default=None, metadata=about("bases of RGCN's matrices, in place of blocks", COUNT))

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
            "residual": self.graph_residual,
        }
        if self.graph == "none":
            return None
        if self.graph == "gat":
            return GATv2(width, n_relations if self.relation_features else None, heads=self.heads, **shared)
        if self.graph == "rgcn":
            return RGCN(width, n_relations, blocks=self.blocks, bases=self.bases, **shared)
        return GraphSAGE(width, **shared)
