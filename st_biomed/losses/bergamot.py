"""BERGAMOT: a text encoder and a graph encoder learn from each other; the text encoder is released."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sentence_transformers.util import get_rank, get_world_size
from torch import Tensor, nn

from st_biomed.errors import InputError, check_instance, check_integer, check_name, check_number
from st_biomed.losses.citations import BERGAMOT
from st_biomed.losses.deep_graph_infomax import CORRUPTIONS, DeepGraphInfomaxLoss, corrupted_edges
from st_biomed.losses.gathering import check_same_loss, gathered
from st_biomed.losses.graph_batch import GraphBatch
from st_biomed.losses.intermodal import IntermodalLoss
from st_biomed.losses.lookup import concept_lookup
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.relation_margin import RelationMarginLoss
from st_biomed.losses.similarity import full_precision, require_list
from st_biomed.losses.whole_vectors import require_whole_vectors
from st_biomed.modules.graph_edges import side_by_side
from st_biomed.modules.graph_encoder import GraphEncoder

if TYPE_CHECKING:
    from st_biomed.losses.self_distillation import SelfDistillationLoss
    from st_biomed.terminology import Terminology
    from st_biomed.terminology.lookup import ConceptLookup

FULL_WIDTH = "its graph encoder has their full width"


class BergamotLoss(nn.Module):
    r"""Text, graph, both together, and the graph's own structure (Sakhovskiy et al. 2024; BERGAMOT, section 2).

    Every target concept has two names, its views u and v, and a neighborhood whose concepts have one name in each view. With
    the vectors t of the names, ``g = encoder(t, neighborhood)`` and MS the multi-similarity loss (2, 50, .5) with the triplet
    miner .2, mined anew in every term::

        text_weight       MS([t^u; t^v])
        + node_weight       MS([g^u; g^v])
        + intermodal_weight 1/2 ( MS([t^u; g^u]) + MS([t^v; g^v]) )
        + dgi_weight        mean over views of DGI(g, encoder(t, corrupted neighborhood))
        + relation_weight   the relation loss, mean over edges and views

    "The resulting training loss is obtained as the sum of these four losses: L_sap + L_node + L_int + lambda_dgi L_dgi";
    lambda, which the paper does not state, is .1. The published scripts have node_weight .1 and intermodal_weight .1.
    Each view has its own corruption. All distinct names of a step are embedded once. An edge counts once; edges from
    a node to itself do not count. A step without edges (on all processes) has no graph and learns from the texts like
    SapBERT. Terms with weight 0 are not computed.

    Several processes with ``gather_across_devices`` learn what one process learns from all of their targets: the vectors and
    labels of the targets are gathered, DGI sums up and discriminates all of them, the relation loss is a mean over all edges.
    Edges are permuted within a process, and no edge leads to a concept of another process.

    :meth:`add_distillation` adds the self-distillation of the targets' names.

    The graph encoder and the other parameters of the loss need :class:`~st_biomed.losses.LossParametersCallback`. They
    are saved in checkpoints, never in the model.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        graph_encoder: From :mod:`st_biomed.modules.graph_convolutions` or :mod:`st_biomed.modules.published_graph_encoder`, with the width of the model; ``None`` if no term
            needs a graph.
        node_weight: Weight of the node-node loss.
        intermodal_weight: Weight of the intermodal loss.
        dgi_weight: Weight of deep graph infomax.
        text_weight: Weight of the loss between names.
        relation: An additional relation loss, which BERGAMOT does not have.
        relation_weight: Weight of the relation loss.
        intermodal_miner: Whether pairs are mined in the intermodal loss; otherwise all of its pairs count, as in GEBERT's
            scripts of the attention network. Its script of GraphSAGE mines them.
        cross_view: Whether the intermodal loss pairs a text with the graph of the other view, as in GEBERT's paper.
        corruption: The ends that are permuted in a corrupted neighborhood: targets (``"trg"``) or sources (``"src"``)
            of edges.
        edgeless: A control: whether a step without edges has graph vectors too, of nodes that see themselves alone, and
            the losses between them. Deep graph infomax is 0 there.
        seed: Seed of the corruptions, which depend on it and the number of steps so far.
        gather_across_devices: Whether the targets of all processes form one batch; each process needs the same number.
        lookup: A terminology, or a lookup made from one, if the labels are its text ids.
        mask_same_text: Whether the text loss ignores pairs of identical strings. Needs a lookup.

    Raises:
        InputError: An argument out of range, or an encoder whose width differs from the model's.

    Inputs:
        ============================================================ ===========================================
        Column                                                       Label
        ============================================================ ===========================================
        distinct names ``[T]`` with ``node_texts`` int64 [1, 2, N]   text ids of the targets' two names, [B, 2]
        and ``edges`` int64 [1, 3, E]: source, target, relation
        ============================================================ ===========================================
    """

    steps: Tensor

    def __init__(
        self,
        model: nn.Module | None,
        graph_encoder: GraphEncoder | None,
        *,
        node_weight: float = 1.0,
        intermodal_weight: float = 1.0,
        dgi_weight: float = 0.1,
        text_weight: float = 1.0,
        relation: RelationMarginLoss | None = None,
        relation_weight: float = 1.0,
        intermodal_miner: bool = True,
        cross_view: bool = False,
        corruption: str = "trg",
        edgeless: bool = False,
        seed: int = 0,
        gather_across_devices: bool = False,
        lookup: ConceptLookup | Terminology | None = None,
        mask_same_text: bool = True,
    ) -> None:
        super().__init__()
        self.model: Any = model
        if not (graph_encoder is None or (isinstance(graph_encoder, nn.Module) and hasattr(graph_encoder, "width"))):
            raise InputError(f"graph_encoder must be a graph encoder, found {type(graph_encoder).__name__}")
        if relation is not None:
            check_instance("relation", relation, RelationMarginLoss)
        check_number("relation_weight", relation_weight, least=0.0)
        weights = {"text": text_weight, "node": node_weight, "intermodal": intermodal_weight, "dgi": dgi_weight}
        if relation is not None:
            weights["relation"] = relation_weight
        self.weights = {name: check_number(f"{name}_weight", value, least=0.0) for name, value in weights.items()}
        if not any(self.weights.values()):
            raise InputError("at least one weight must be above 0, found only 0")
        self.graph_encoder = graph_encoder
        if graph_encoder is None and (needy := [name for name in ("node", "intermodal", "dgi") if self.weights[name]]):
            raise InputError(f"graph_encoder may be None only if {', '.join(f'{name}_weight' for name in needy)} is 0")
        width = getattr(model, "get_embedding_dimension", lambda: None)()
        if graph_encoder is not None and width not in (None, graph_encoder.width):
            raise InputError(f"graph_encoder must have the model's width {width}, found {graph_encoder.width}")
        lookup = concept_lookup(lookup)
        self.loss = MultiSimilarityLoss.from_preset(None, "bergamot", lookup=lookup, mask_same_text=mask_same_text)
        self.node = MultiSimilarityLoss.from_preset(None, "bergamot", lookup=lookup, mask_same_text=False)
        self.intermodal = IntermodalLoss(self.node, cross_view=cross_view, mined=intermodal_miner)
        self.dgi = DeepGraphInfomaxLoss(graph_encoder.width) if graph_encoder and self.weights["dgi"] else None
        self.relation = relation
        self.corruption = check_name("corruption", corruption, CORRUPTIONS)
        self.edgeless = edgeless
        check_integer("seed", seed, 0)
        self.seed = seed
        self.gather_across_devices = gather_across_devices
        self.distillation: SelfDistillationLoss | None = None
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def add_distillation(self, distillation: SelfDistillationLoss) -> None:
        """Add self-distillation of the targets' names to the parts; the teacher has a row for each text id."""
        self.distillation = distillation

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> dict[str, Tensor]:
        """The weighted parts, which add up to the loss."""
        from st_biomed.losses.loss_parameters_callback import require_loss_parameters_callback

        if self.model is None:
            raise InputError("embedding needs a model; without a model call compute_loss_from_embeddings")
        require_loss_parameters_callback(self)
        if self.graph_encoder is not None:
            self.graph_encoder.train(self.model.training)  # the trainer sets the mode of the model alone
        columns = list(sentence_features)
        if len(columns) != 1:
            raise InputError(f"the batch must have one text column, found {len(columns)}")
        texts = dict(columns[0])
        try:
            graph = GraphBatch(texts.pop("node_texts"), texts.pop("edges"))
        except KeyError as error:
            raise InputError(f"the batch has no {error.args[0]!r}, it has {', '.join(sorted(columns[0]))}") from error
        return self.compute_loss_from_embeddings([self.embed(texts)], labels, graph)

    def embed(self, texts: dict[str, Tensor]) -> Tensor:
        """Vectors ``[T, D]`` of the features of T texts."""
        from st_biomed.losses.embed import embed_columns

        require_whole_vectors(self, FULL_WIDTH)
        return embed_columns(self.model, [texts])[0]

    def compute_loss_from_embeddings(
        self, embeddings: list[Tensor], labels: Tensor, graph: GraphBatch
    ) -> dict[str, Tensor]:
        """The weighted parts of a step.

        Args:
            embeddings: One matrix, the vectors of the distinct texts ``[T, D]``.
            labels: Text ids of the two names of the B targets, or classes without a lookup, ``[B, 2]``.
            graph: The nodes, beginning with the targets, and the edges between them.

        Returns:
            Scalars by name; those of the graph are 0 in a step without edges.

        Raises:
            InputError: Shapes or numbers that do not fit.
        """
        require_list(embeddings)
        (texts,) = embeddings
        texts = texts.to(torch.promote_types(texts.dtype, torch.float32))
        graph.check(len(texts), labels)
        if self.gather_across_devices:
            check_same_loss(self, texts.device)
        edges = graph.distinct_edges()
        n_edges = self._over_processes(edges.new_tensor([edges.shape[1]])).sum()
        names = texts[graph.node_texts]
        held = {}
        with full_precision(texts):
            columns = list(names[:, : len(labels)])
            if self.distillation is not None:
                held["distillation"] = self.distillation.compute_loss_from_embeddings(columns, labels)
            with_graph = bool(n_edges or self.edgeless) and any(self.weights[n] for n in ("node", "intermodal", "dgi"))
            if with_graph:
                columns += self._graph_vectors(names, edges, corrupted=bool(n_edges))[:, : len(labels)]
            labels = self._over_processes(labels)
            everywhere = self._over_processes(torch.stack(columns, dim=1)).unbind(1)
            values = self._text_and_graph(everywhere, labels, with_graph)
            if self.relation is not None and self.weights["relation"] and n_edges:
                values["relation"] = self._relation_loss(names, edges) / n_edges
        if self.training and torch.is_grad_enabled():
            self.steps += 1
        nothing = texts.sum() * 0
        parts = {name: weight * values.get(name, nothing) for name, weight in self.weights.items() if weight}
        return parts | held

    def _text_and_graph(self, columns: tuple[Tensor, ...], labels: Tensor, with_graph: bool) -> dict[str, Tensor]:
        """The parts that all targets share, not weighted, from ``[B, D]`` of texts, graph and corrupted graph."""
        texts, graphs, corrupted = list(columns[:2]), list(columns[2:4]), list(columns[4:])
        values = {}
        if self.weights["text"]:
            values["text"] = self.loss.compute_loss_from_embeddings(texts, labels)
        if with_graph and self.weights["node"]:
            values["node"] = self.node.compute_loss_from_embeddings(graphs, labels)
        if with_graph and self.weights["intermodal"]:
            values["intermodal"] = self.intermodal.compute_loss_from_embeddings(texts, graphs, labels)
        if corrupted and self.dgi is not None:
            views = [self.dgi(nodes, wrong) for nodes, wrong in zip(graphs, corrupted)]
            values["dgi"] = (views[0] + views[1]) / 2
        return values

    def _graph_vectors(self, names: Tensor, edges: Tensor, *, corrupted: bool) -> Tensor:
        """Of the graph in both views, then of the corrupted graph, if any: ``[2 or 4, N, D]`` from names ``[2, N, D]``.

        All of them go through the encoder as one graph.
        """
        assert self.graph_encoder is not None
        graphs = [edges, edges]
        if self.dgi is not None and corrupted:
            graphs += [corrupted_edges(edges, self._order(edges, view), self.corruption) for view in (0, 1)]
            names = torch.cat([names, names])
        together = side_by_side(graphs, names.shape[1])
        return self.graph_encoder(names.flatten(0, 1), together[:2], together[2]).view_as(names)

    def _relation_loss(self, names: Tensor, edges: Tensor) -> Tensor:
        """Sum over the edges of the batch, mean over the views; times the processes, which will be averaged over."""
        assert self.relation is not None
        total = sum(self.relation(names[view], edges, self._order(edges, 2 + view)) for view in (0, 1))
        return total / 2 * (get_world_size() if self.gather_across_devices else 1)

    def _order(self, edges: Tensor, draw: int) -> Tensor:
        """A permutation of the edges, int64 ``[E]``: another one in every step, in every process and for every draw."""
        generator = np.random.default_rng([self.seed, int(self.steps), get_rank(), draw])
        return torch.from_numpy(generator.permutation(edges.shape[1])).to(edges.device)

    def _over_processes(self, rows: Tensor) -> Tensor:
        """The rows of all processes, where they form one batch."""
        return gathered(rows) if self.gather_across_devices else rows

    def get_config_dict(self) -> dict[str, Any]:
        """The parameters, for cards and records."""
        return {
            **{f"{name}_weight": weight for name, weight in self.weights.items()},
            "graph_encoder": None
            if self.graph_encoder is None
            else {"kind": self.graph_encoder.kind, **self.graph_encoder.settings},
            "relation": None if self.relation is None else self.relation.get_config_dict(),
            "intermodal_miner": self.intermodal.mined,
            "cross_view": self.intermodal.cross_view,
            "corruption": self.corruption,
            "edgeless": self.edgeless,
            "seed": self.seed,
            "gather_across_devices": self.gather_across_devices,
            "multi_similarity": self.loss.get_config_dict(),
            **({} if self.distillation is None else {"distillation": self.distillation.get_config_dict()}),
        }

    @property
    def citation(self) -> str:
        """BibTeX of the loss and of its distillation; sentence-transformers adds that of the multi-similarity loss."""
        distillation = "" if self.distillation is None else self.distillation.citation
        return f"{BERGAMOT}{distillation}"
