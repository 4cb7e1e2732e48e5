"""The lookup of mentions among the vectors of a graph, between two layers of an encoder.

Amore Bondarenko, Ferrod and Di Caro 2022, arXiv 2211.05035 (section 3.2, Eq. 4), after KeBioLM (Yuan et al. 2021). A
saved model contains this file; it imports only torch.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

_LARGEST = 2**24
"""Number of similarities in memory during the search for candidates: 64 MB."""


class KnowledgeInjection(nn.Module):
    """Injects entity vectors into the tokens of mentions; D is the encoder's width, E the table's.

    For a mention m with mean token state ``h_m``, over its n nearest entities ``e_j`` (Eq. 4)::

        q_m = W h_m + b,    a = softmax(q_m . e_j / temperature),    e_m = sum_j a_j e_j,    u_m = W' e_m + b'

    ``u_m`` is added to every token of the mention, followed by a layer normalization. The vectors of overlapping
    mentions are all added. A sequence without injection, or any sequence with an empty table, is unchanged and not
    normalized. The entities are not trained; gradients reach W through ``a``.

    Args:
        width: D.
        entities: ``[N, E]``, in float32 or, for half the memory, in float16 or bfloat16.
        candidates: n; the paper does not state the number.
        temperature: Temperature of the similarities; the paper uses none.

    Raises:
        ValueError: An argument out of range, or entities that are not finite.
    """

    entities: Tensor

    def __init__(self, width: int, entities: Tensor, *, candidates: int = 100, temperature: float = 1.0) -> None:
        super().__init__()
        if entities.ndim != 2 or not entities.is_floating_point() or not entities.shape[1]:
            raise ValueError(f"entities must be floats [N, E], found {entities.dtype} {list(entities.shape)}")
        if not (finite := entities.isfinite().all(dim=1)).all():
            first = int(finite.int().argmin())
            raise ValueError(
                f"entities: {int((~finite).sum())} of {len(finite)} have NaN or infinity, the first in row {first}"
            )
        if isinstance(candidates, bool) or not isinstance(candidates, int) or candidates < 1:
            raise ValueError(f"candidates must be an integer of at least 1, found {candidates!r}")
        if (
            isinstance(temperature, bool)
            or not isinstance(temperature, (int, float))
            or not 0 < temperature < float("inf")
        ):
            raise ValueError(f"temperature must be a number above 0, found {temperature!r}")
        self.candidates, self.temperature = candidates, temperature
        self.register_buffer("entities", entities)
        self.project, self.restore = nn.Linear(width, entities.shape[1]), nn.Linear(entities.shape[1], width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        for linear in (self.project, self.restore):
            nn.init.normal_(linear.weight, std=0.02)  # as BERT's own layers
            nn.init.zeros_(linear.bias)

    def forward(self, hidden: Tensor, mentions: Tensor) -> tuple[Tensor, Tensor]:
        """Inject into hidden states.

        Args:
            hidden: ``[B, L, D]``.
            mentions: Tokens of each mention, bool ``[B, M, L]``; a mention without tokens is padding.

        Returns:
            The new states ``[B, L, D]``, and ``q`` ``[B, M, E]``, 0 for padding.
        """
        with torch.autocast(hidden.device.type, enabled=False):
            lengths = mentions.sum(dim=2)
            present = lengths > 0
            states = _wide(hidden)
            members = mentions.to(states.dtype)
            means = (members @ states / lengths.clamp_min(1)[:, :, None])[present]
            found = _wide(self.project(means.to(self.project.weight.dtype)))
            queries = found.new_zeros(*present.shape, found.shape[1]).index_put((present,), found)
            if not len(self.entities):
                return hidden, queries
            updates = self.restore(self.link(found).to(self.restore.weight.dtype)).to(states.dtype)
            added = states.new_zeros(*present.shape, states.shape[2]).index_put((present,), updates)
            injected = self.norm((states + members.mT @ added).to(self.norm.weight.dtype)).to(hidden.dtype)
            return torch.where(present.any(dim=1)[:, None, None], injected, hidden), queries

    def link(self, queries: Tensor) -> Tensor:
        """The mixtures ``e_m`` ``[K, E]`` of entities for queries ``[K, E]``."""
        if self.candidates >= len(self.entities):
            entities = self.entities.to(queries.dtype)
            return (queries @ entities.T / self.temperature).softmax(dim=1) @ entities
        near = self.entities[nearest(queries.detach(), self.entities, self.candidates)].to(queries.dtype)
        shares = (torch.einsum("ke,kne->kn", queries, near) / self.temperature).softmax(dim=1)
        return torch.einsum("kn,kne->ke", shares, near)


def nearest(queries: Tensor, entities: Tensor, count: int) -> Tensor:
    """Rows of the entities with the largest dot products, int64 ``[K, count]``, best first.

    Args:
        queries: ``[K, E]``.
        entities: ``[N, E]``, N at least ``count``; compared in the precision of the queries.
        count: Number of rows for each query.
    """
    rows = torch.arange(len(entities), device=entities.device)
    step = max(count, _LARGEST // max(1, len(queries)))
    best = queries.new_full((len(queries), 0), 0.0), rows.new_zeros(len(queries), 0)
    for part, ids in zip(entities.split(step), rows.split(step)):
        similarities = torch.cat([best[0], queries @ part.to(queries.dtype).T], dim=1)
        ids = torch.cat([best[1], ids.expand(len(queries), -1)], dim=1)
        top, places = similarities.topk(min(count, similarities.shape[1]), dim=1)
        best = top, ids.gather(1, places)
    return best[1]


def _wide(states: Tensor) -> Tensor:
    """At least float32."""
    return states.float() if states.dtype in (torch.float16, torch.bfloat16) else states
