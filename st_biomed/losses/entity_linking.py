"""Entity linking: queries of mentions compared with every entity of a knowledge graph."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from st_biomed.errors import InputError, check_integer, check_name
from st_biomed.kge import KGETable
from st_biomed.losses.citations import ITALIAN
from st_biomed.losses.similarity import full_precision, join_embeddings, join_labels
from st_biomed.losses.whole_vectors import require_whole_vectors
from st_biomed.modules.inject_knowledge import entity_vectors, injection_of

UNLINKED = -100
"""Label of padding, and of a mention whose entity is not known."""

OF_MENTIONS = "it is a loss of the states of tokens and mentions"

MAX_BLOCK_ELEMENTS = 2**24
"""Similarities held at a time: 64 MB in float32."""


class EntityLinkingLoss(nn.Module):
    r"""Cross-entropy of the correct entity among all entities (Amore Bondarenko et al. 2022, Eq. 5).

    For mentions m with query ``q_m`` (of the injecting linker, or any embedding) and correct entity ``e``::

        L_EL = sum_m -log( exp(q_m . e) / sum_{e_j in E} exp(q_m . e_j) )

    The entities are not trained. Similarities are computed in parts, in the forward and again in the backward pass, of
    at most :data:`MAX_BLOCK_ELEMENTS` numbers; nothing of size mentions x entities is kept. For millions of entities,
    ``num_sampled`` draws that many without replacement for every batch and weights each by N over their number, which
    preserves the expectation of the sum in the logarithm.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        entities: A table or its vectors ``[N, E]``; ``None`` for those that the model injects.
        reduction: ``"mean"`` over linked mentions, or ``"sum"``, as in the paper.
        num_sampled: Number of entities in the denominator besides the correct one; ``None`` for all.

    Raises:
        InputError: An argument out of its range, entities that are not finite, or a model without injection.

    Inputs:
        ====================================== =============================================
        Column                                 Label
        ====================================== =============================================
        texts whose features have mentions     row of the entity of each, [B, M], or -100
        ====================================== =============================================
    """

    def __init__(
        self,
        model: nn.Module | None,
        entities: KGETable | Tensor | None = None,
        *,
        reduction: str = "mean",
        num_sampled: int | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.reduction = check_name("reduction", reduction, ("mean", "sum"))
        check_integer("num_sampled", num_sampled, or_none=True)
        self.num_sampled = num_sampled
        entities = None if entities is None else entity_vectors(entities)
        if entities is not None and (entities.ndim != 2 or not entities.isfinite().all()):
            raise InputError(f"entities must be finite numbers [N, E], found {list(entities.shape)}")
        self._entities: Tensor | None
        self.register_buffer("_entities", entities, persistent=False)
        self._injection = (
            None if entities is not None or model is None else (injection_of(model),)
        )  # not registered twice
        if len(self.entities) == 0:
            raise InputError("entities: expected at least one, found none")

    @property
    def entities(self) -> Tensor:
        """``[N, E]``.

        Raises:
            InputError: The loss has neither entities nor a model that injects them.
        """
        if self._injection is not None:
            return self._injection[0].entities
        if self._entities is None:
            raise InputError("expected entities or a model that injects knowledge, found neither")
        return self._entities

    def forward(self, sentence_features: Iterable[dict[str, Any]], labels: Tensor) -> Tensor:
        """The loss of a batch; ``labels`` is ``[B, M]``, as ``mention_spans`` of the one text column are."""
        if self.model is None:
            raise InputError("embedding needs a model; without a model call compute_loss_from_embeddings")
        require_whole_vectors(self, OF_MENTIONS)
        (features,) = sentence_features
        return self.of_mentions(self.model(features), labels)

    def of_mentions(self, features: dict[str, Any], labels: Tensor) -> Tensor:
        """The loss of features with ``mention_queries`` ``[B, M, E]`` from the model.

        A truncated mention has no token and no loss.

        Raises:
            InputError: Features without queries, or labels that are not a tensor or have another shape.
        """
        if "mention_queries" not in features:
            raise InputError(
                "the model gave no mention_queries: it injects no knowledge, or its features have no mentions"
            )
        if not isinstance(labels, Tensor):
            raise InputError(
                f"labels must be a tensor [B, M], found {type(labels).__name__}; those of KnowledgeInjectionCollator are "
                "for KnowledgeInjectionLoss"
            )
        queries, present = features["mention_queries"], features["mention_present"]
        if tuple(labels.shape) != tuple(present.shape):
            raise InputError(
                f"labels must be one for each of the mentions {list(present.shape)}, found {list(labels.shape)}"
            )
        return self.compute_loss_from_embeddings(
            [queries.flatten(0, 1)], labels.masked_fill(~present, UNLINKED).flatten()
        )

    def compute_loss_from_embeddings(self, embeddings: list[Tensor], labels: Tensor) -> Tensor:
        """The loss of queries.

        Args:
            embeddings: One matrix of queries ``[M, E]``.
            labels: Rows of the entities, ``[M]``; -100 for a mention without one.

        Returns:
            A scalar, 0 if no mention is linked.

        Raises:
            InputError: Queries whose width differs from the entities', or a label that is not a row.
        """
        queries, labels = join_embeddings(embeddings), join_labels(labels, embeddings)
        entities = self.entities
        if queries.shape[1] != entities.shape[1]:
            raise InputError(f"queries have {queries.shape[1]} dimensions, the entities {entities.shape[1]}")
        linked = labels != UNLINKED
        rows = labels[linked]
        if len(outside := rows[(rows < 0) | (rows >= len(entities))]):
            raise InputError(
                f"labels must be rows of the {len(entities)} entities or {UNLINKED}, found {int(outside[0])}"
            )
        if not len(rows):
            return queries.sum() * 0.0
        with full_precision(queries):
            losses = self._losses(queries[linked], rows)
        return losses.sum() if self.reduction == "sum" else losses.mean()

    def _losses(self, queries: Tensor, rows: Tensor) -> Tensor:
        """Of linked mentions, ``[K]``."""
        entities, wide = self.entities, queries.dtype
        right = (queries * entities[rows].to(wide)).sum(dim=1)
        if self.num_sampled is None or self.num_sampled >= len(entities):
            return _LogSumExp.apply(queries, entities, None) - right
        drawn = torch.randperm(len(entities), device=entities.device)[: self.num_sampled]
        hits = (rows[:, None] == drawn).float().argmax(dim=1).where((rows[:, None] == drawn).any(dim=1), -1)
        others = _LogSumExp.apply(queries, entities[drawn], hits) + math.log(len(entities) / len(drawn))
        return torch.logaddexp(others, right) - right

    def get_config_dict(self) -> dict[str, Any]:
        """The parameters, for cards and records."""
        return {"entities": len(self.entities), "reduction": self.reduction, "num_sampled": self.num_sampled}

    @property
    def citation(self) -> str:
        """BibTeX of the loss."""
        return ITALIAN


class _LogSumExp(torch.autograd.Function):
    """``log sum_j exp(q . e_j)`` ``[K]`` over all entities but one of each query, in parts; no gradient for the entities."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, entities: Tensor, left_out: Tensor | None) -> Tensor:
        total = queries.new_full((len(queries),), -torch.inf)
        for similarities, _ in _parts(queries, entities, left_out):
            total = torch.logaddexp(total, similarities.logsumexp(dim=1))
        ctx.save_for_backward(queries, entities, left_out, total)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        queries, entities, left_out, total = ctx.saved_tensors
        result = torch.zeros_like(queries)
        safe = total.masked_fill(total == -torch.inf, 0)  # nothing was summed: every share is 0
        for similarities, part in _parts(queries, entities, left_out):
            result += (similarities - safe[:, None]).exp_() @ part
        return result * gradient[:, None], None, None


def _parts(queries: Tensor, entities: Tensor, left_out: Tensor | None) -> Iterable[tuple[Tensor, Tensor]]:
    """Similarities ``[K, n]`` and entities ``[n, E]`` of one part after the other; -inf for what a query leaves out."""
    begin = 0
    for part in entities.split(max(1, MAX_BLOCK_ELEMENTS // max(1, len(queries)))):
        part = part.to(queries.dtype)
        similarities = queries @ part.T
        if left_out is not None:
            here = torch.arange(begin, begin + len(part), device=part.device) == left_out[:, None]
            similarities.masked_fill_(here, -torch.inf)
        begin += len(part)
        yield similarities, part
