"""Arguments for BERGAMOT's losses and its graph encoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from st_biomed.losses.bergamot import BergamotLoss
from st_biomed.losses.cached import cached_if
from st_biomed.losses.cached_bergamot import CachedBergamotLoss
from st_biomed.losses.deep_graph_infomax import CORRUPTIONS
from st_biomed.losses.relation_margin import SCORES, RelationMarginLoss
from st_biomed.modules.graph_arguments import GraphArguments
from st_biomed.settings.checks import WEIGHT, about, check_unused, one_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from st_biomed.terminology import Terminology

RELATION_LOSSES = ("none", *SCORES)


@dataclass
class BergamotLossArguments(GraphArguments):
    """The weights and variants of the losses (section 2); without a graph encoder, those of the graph are 0."""

    text_weight: float = field(default=1.0, metadata=about("weight of the term-term loss (2); 0 for none", WEIGHT))
    node_weight: float = field(default=0.1, metadata=about("weight of the node-node loss (2); 0 for none", WEIGHT))
    intermodal_weight: float = field(default=0.1, metadata=about("weight of the intermodal loss (2); 0: none", WEIGHT))
    dgi_weight: float = field(default=0.1, metadata=about("lambda, weight of deep graph infomax (2); 0: none", WEIGHT))
    intermodal_miner: bool = field(
        default=True,
        metadata={
            "help": "mine the pairs of the intermodal loss, as those of the other losses; false: all pairs (GEBERT)"
        },
    )
    cross_view: bool = field(
        default=False,
        metadata={"help": "pair a text with the graph of the other view (GEBERT), not with that of its own view (2)"},
    )
    corruption: str = field(
        default="trg",
        metadata=about("ends of edges that are permuted for deep graph infomax: trg or src", one_of(*CORRUPTIONS)),
    )
    relation_loss: str = field(
        default="none",
        metadata=about(f"additional relation loss of CODER: {', '.join(RELATION_LOSSES)}", one_of(*RELATION_LOSSES)),
    )
    relation_weight: float = field(default=1.0, metadata=about("weight of the relation loss", WEIGHT))

    def check_graph(self) -> None:
        """Also reject a relation_weight if there is no relation loss."""
        super().check_graph()
        if self.relation_loss == "none":
            check_unused(self, ("relation_weight",), "relation_loss none")

    def bergamot_loss(
        self,
        model: SentenceTransformer,
        lookup: Terminology,
        n_relations: int,
        *,
        mini_batch_size: int | None = None,
        **options: Any,
    ) -> BergamotLoss | CachedBergamotLoss:
        """The loss, with the graph encoder and the relation loss if they are used.

        Args:
            n_relations: Number of relations of the graph, inverse ones counted.
            mini_batch_size: Texts embedded at a time by the cached form; not cached by default.
            **options: Further arguments of :class:`~st_biomed.losses.BergamotLoss`.
        """
        width: Any = model.get_embedding_dimension()
        if self.relation_loss != "none":
            options["relation"] = RelationMarginLoss(width, n_relations, score=self.relation_loss)
        encoder = self.graph_encoder(width, n_relations)
        options |= {
            "text_weight": self.text_weight,
            "node_weight": self.node_weight if encoder else 0.0,
            "intermodal_weight": self.intermodal_weight if encoder else 0.0,
            "dgi_weight": self.dgi_weight if encoder else 0.0,
            "relation_weight": self.relation_weight,
            "intermodal_miner": self.intermodal_miner,
            "cross_view": self.cross_view,
            "corruption": self.corruption,
            "lookup": lookup,
        }
        return cached_if(mini_batch_size, BergamotLoss, CachedBergamotLoss)(model, encoder, **options)
