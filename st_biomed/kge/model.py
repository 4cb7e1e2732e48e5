"""The base of knowledge-graph models: a table of entities, a table of relations, and queries.

A triple is scored in two steps: the given end (a head or a tail) and the relation are turned into a *query*, and the
query is compared with an entity by a product or a negative distance. All or many entities are therefore scored by
one matrix product or one matrix of distances.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from st_biomed.errors import InputError, check_name
from st_biomed.metrics.link_prediction import SIDES, Scorer

EPSILON = 2.0
"""Added to the margin in the range of initial values (published code of Sun et al. 2019)."""


class KGEModel(nn.Module, ABC):
    """Base of the models: B triples, E entities, R relations, D real numbers per entity.

    Args:
        n_entities: E.
        n_relations: R.
        dimension: D; two real numbers form a complex number, and SimplE has D/2 for the head and D/2 for the tail.
        reciprocal: Whether heads are predicted as tails of a separate reciprocal relation (Lacroix et al. 2018,
            section 3); the score of a triple is then that of its tail.
        margin: Margin of the loss, the initial value of distances; see :meth:`initialize`.
        seed: Seed of the initial values.

    Attributes:
        entities: Table ``[E, D]``.
        relations: Table ``[R, W]``, or ``[2R, W]`` with reciprocal relations.

    Raises:
        InputError: A number below 1, or an odd dimension although pairs are needed.
    """

    paired: ClassVar[bool] = False
    """Whether a vector has two halves."""
    is_distance: ClassVar[bool] = False
    """Whether scores are negative distances."""

    def __init__(
        self,
        n_entities: int,
        n_relations: int,
        dimension: int = 200,
        *,
        reciprocal: bool = False,
        margin: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        for name, number in (("n_entities", n_entities), ("n_relations", n_relations), ("dimension", dimension)):
            if number < 1:
                raise InputError(f"{name} must be at least 1, found {number}")
        if self.paired and dimension % 2:
            raise InputError(f"dimension must be even, {type(self).__name__} has two halves; found {dimension}")
        self.n_relations, self.reciprocal = n_relations, reciprocal
        rows = n_relations * (2 if reciprocal else 1)
        self.entities = nn.Embedding.from_pretrained(torch.empty(n_entities, dimension), freeze=False)
        self.relations = nn.Embedding.from_pretrained(torch.empty(rows, self._width(dimension)), freeze=False)
        self.initialize(margin, torch.Generator().manual_seed(seed))

    @property
    def dimension(self) -> int:
        return self.entities.embedding_dim

    def _width(self, dimension: int) -> int:
        """Reals of a relation."""
        return dimension

    @torch.no_grad()
    def initialize(self, margin: float, generator: torch.Generator) -> None:
        """Uniform between plus and minus (margin + 2) / D, for all models.

        Distances of TransE then start near the margin, and products near zero. The published code of Sun et al. (2019)
        divides by the number of pairs in models of complex vectors, so its bound for these is twice as large.
        """
        bound = (margin + EPSILON) / self.dimension
        for table in (self.entities, self.relations):
            table.weight.uniform_(-bound, bound, generator=generator)

    # ------------------------------------------------------------------ what a model is

    @abstractmethod
    def transform(self, given: Tensor, relations: Tensor, side: str) -> Tensor:
        """Queries ``[B, D]`` from the given vectors ``[B, D]`` and the vectors of the relations ``[B, W]``.

        ``side`` is the missing end.
        """

    @abstractmethod
    def compare(self, queries: Tensor, entities: Tensor) -> Tensor:
        """Scores ``[..., Q, N]`` of queries ``[..., Q, D]`` against entities ``[..., N, D]``."""

    @abstractmethod
    def compare_pairs(self, queries: Tensor, entities: Tensor) -> Tensor:
        """Scores ``[B]`` of each query with its entity, both ``[B, D]``."""

    # ------------------------------------------------------------------ scoring

    def relation_of(self, relations: Tensor, side: str) -> tuple[Tensor, str]:
        """Row in the table of relations, and the side to transform for: always the tail with reciprocal relations."""
        return (relations + self.n_relations, "tail") if self.reciprocal and side == "head" else (relations, side)

    def queries(self, given: Tensor, relations: Tensor, side: str) -> Tensor:
        """Queries ``[B, D]`` for the entity on a side.

        Args:
            given: Tails if ``side`` is ``"head"``, otherwise heads, ``[B]``.
            relations: ``[B]``.

        Raises:
            InputError: An unknown side.
        """
        check_name("side", side, SIDES)
        rows, side = self.relation_of(relations, side)
        return self.transform(self.entities(given), self.relations(rows), side)

    def score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Scores of triples given as indices ``[B]`` each, ``[B]``; higher is more likely."""
        return self.compare_pairs(self.queries(heads, relations, "tail"), self.entities(tails))

    def score_all(self, given: Tensor, relations: Tensor, side: str) -> Tensor:
        """Scores of all entities as the missing end, ``[B, E]``; arguments as in :meth:`queries`."""
        return self.compare(self.queries(given, relations, side), self.entities.weight)

    def scorer(self) -> Scorer:
        """The model as a scorer for ranks; see :class:`~st_biomed.metrics.link_prediction.Scorer`."""
        device = self.entities.weight.device

        @torch.no_grad()
        def score(given_ends: np.ndarray, relations: np.ndarray, side: str) -> np.ndarray | Tensor:
            ends, kinds = (torch.as_tensor(numbers, device=device) for numbers in (given_ends, relations))
            scores = self.score_all(ends, kinds, side).float()
            return scores.numpy() if device.type == "cpu" else scores

        return score

    def vectors(self) -> Tensor:
        """The entities as real vectors, ``[E, D]`` on the CPU: real then imaginary parts, or head then tail parts."""
        return self.entities.weight.detach().float().cpu()

    def cubed_moduli(self, vectors: Tensor) -> Tensor:
        """The cube of the absolute value of each coordinate, ``[..., D]`` or ``[..., D/2]`` for complex numbers."""
        return vectors.abs().pow(3)
