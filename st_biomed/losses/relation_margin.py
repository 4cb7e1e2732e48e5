"""A relation as a change of a text vector: related names score higher than others by a margin."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from st_biomed.errors import InputError, check_integer, check_name, check_number
from st_biomed.losses.similarity import full_precision

SCORES = ("distmult", "transe")


class RelationMarginLoss(nn.Module):
    r"""A text and its relation should score the related text above another text (CODER: Yuan et al. 2022).

    For an edge from h by r to t, another target t' of the step and a learned vector for every relation::

        max(0, margin + score(h, r, t') - score(h, r, t)),
        distmult: sum_i h_i r_i t_i  (Yang et al. 2015),   transe: -||h + r - t||_2  (Bordes et al. 2013)

    The vectors of the texts are used as returned by the encoder, without scaling. An edge whose t' is h itself, t or
    another correct answer of the step counts 0.

    Args:
        width: Width of the text vectors.
        n_relations: Number of relations, including inverse relations.
        score: ``"distmult"`` or ``"transe"``.
        margin: Above 0.

    Raises:
        InputError: An argument out of its range.
    """

    def __init__(self, width: int, n_relations: int, *, score: str = "distmult", margin: float = 1.0) -> None:
        super().__init__()
        for name, value in (("width", width), ("n_relations", n_relations)):
            check_integer(name, value)
        self.score = check_name("score", score, SCORES)
        self.margin = check_number("margin", margin, above=0.0)
        self.relations = nn.Parameter(torch.randn(n_relations, width) * 0.02)  # as the token vectors of BERT

    def forward(self, states: Tensor, edges: Tensor, order: Tensor) -> Tensor:
        """The sum of the losses of all edges.

        Args:
            states: Text vectors of the nodes, ``[N, D]``.
            edges: Source, target and relation, int64 ``[3, E]``, each once.
            order: A permutation of the edges ``[E]``, which assigns the target t'.

        Returns:
            A scalar in float32 or wider.

        Raises:
            InputError: Texts of another width, or a relation that does not exist.
        """
        if states.shape[1] != self.relations.shape[1]:
            raise InputError(f"texts have {states.shape[1]} dimensions, the relations {self.relations.shape[1]}")
        source, target, relation = edges
        if relation.numel() and int(relation.max()) >= len(self.relations):
            raise InputError(
                f"edges have relation {int(relation.max())}, the loss has vectors of {len(self.relations)} relations"
            )
        other = target[order]
        known = _triples(source, target, relation, len(states))
        wrong = ~torch.isin(_triples(source, other, relation, len(states)), known) & (other != source)
        with full_precision(states):
            states = states.to(torch.promote_types(states.dtype, torch.float32))
            vectors = self.relations.to(states.dtype)[relation]
            right = self._score(states[source], vectors, states[target])
            losses = (self.margin + self._score(states[source], vectors, states[other]) - right).relu()
            return (losses * wrong).sum()

    def _score(self, heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        if self.score == "distmult":
            return (heads * relations * tails).sum(1)
        return -torch.linalg.vector_norm(heads + relations - tails, dim=1)

    def get_config_dict(self) -> dict[str, Any]:
        """The parameters, for cards and records."""
        return {"score": self.score, "margin": self.margin, "n_relations": len(self.relations)}


def _triples(source: Tensor, target: Tensor, relation: Tensor, n_nodes: int) -> Tensor:
    """One number for each triple."""
    return (relation * n_nodes + source) * n_nodes + target
