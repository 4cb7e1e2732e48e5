"""Cosines of the concepts of a batch in a table of graph embeddings, from text ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from st_biomed.errors import InputError, check_name
from st_biomed.kge.table import KGETable
from st_biomed.terminology import Terminology
from st_biomed.terminology.lookup import ConceptLookup

GRAPH_VECTORS = ("original", "shuffled", "zeros")
"""The vectors as they are, and two controls that carry no information about the concept."""


class KGESimilarity:
    """Cosine of the graph embeddings of two texts' concepts; for ambiguous texts the largest over their concepts.

    The vectors are copied to a device at the first batch on it. They are in no ``state_dict``; a card contains the
    digest of the table, not its content.

    Args:
        terminology: The terminology of the text ids of a batch and of the codes of their concepts.
        table: The vectors. Codes that are not in the terminology are left out.
        graph_vectors: ``"original"``, or a control: ``"shuffled"`` exchanges the vectors among the concepts that have one, at random,
            so that the cosines are the same numbers between other concepts; ``"zeros"`` makes all these cosines 0.
        seed: Seed of the exchange.
        lookup: The terminology's lookup, if there is one already.

    Attributes:
        graph_vectors: The argument.
        n_vectors: Concepts of the terminology with a vector. A zero vector has no direction and does not count.
        n_missing: Concepts of the terminology without a vector.
        n_foreign: Codes of the table that are not in the terminology.

    Raises:
        InputError: Not a terminology and a table, no concept of the terminology has a vector, or an unknown ``graph_vectors``.
    """

    def __init__(
        self,
        terminology: object,
        table: object,
        graph_vectors: str = "original",
        seed: int = 0,
        *,
        lookup: ConceptLookup | None = None,
    ) -> None:
        if not isinstance(table, KGETable):
            raise InputError(f"kge must be a KGETable or None, found {type(table).__name__}")
        if not isinstance(terminology, Terminology):
            raise InputError(
                "lookup must be a Terminology, for the codes that kge has vectors of, "
                f"found {type(terminology).__name__}"
            )
        self._lookup = lookup or ConceptLookup(terminology)
        self.table_model, self.table_digest = table.model, table.digest
        rows = table.rows(terminology.codes)
        shared = rows[rows >= 0]
        found = table.vectors[shared]
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        usable = lengths[:, 0] > 0
        self.n_vectors = int(usable.sum())
        self.n_missing = len(rows) - self.n_vectors
        self.n_foreign = len(table) - len(shared)
        if not self.n_vectors:
            raise InputError(
                f"kge has a vector of none of the {len(rows):,} concepts of lookup: its codes look like "
                f"{table.codes[0]!r}, the terminology's like {terminology.codes[0]!r}"
            )
        self.graph_vectors, self.shuffle_seed = check_name("graph_vectors", graph_vectors, GRAPH_VECTORS), seed
        self._vectors = found[usable] / lengths[usable]
        if graph_vectors == "shuffled":
            self._vectors = self._vectors[np.random.default_rng(seed).permutation(self.n_vectors)]
        elif graph_vectors == "zeros":
            self._vectors = np.zeros((self.n_vectors, 1), dtype=np.float32)
        self._row_of = np.full(len(rows), -1, dtype=np.int64)
        self._row_of[np.flatnonzero(rows >= 0)[usable]] = np.arange(self.n_vectors)
        self._copies: dict[torch.device, tuple[Tensor, Tensor]] = {}

    @torch.no_grad()
    def __call__(self, labels: Tensor) -> Tensor:
        """The cosines of a batch.

        Args:
            labels: Text ids, int64 ``[B]``.

        Returns:
            float32 ``[B, B]``; NaN where no concept of one of the two texts has a vector.
        """
        row_of, vectors = self._on(labels.device)
        rows, concepts = self._lookup.concepts(labels)
        distinct, place = concepts.unique(return_inverse=True)
        at = row_of[distinct]
        found = vectors[at.clamp(min=0)]
        cosines = found @ found.T
        nowhere = at < 0
        unambiguous = len(rows) == len(labels)
        cosines.masked_fill_(nowhere[:, None] | nowhere[None, :], torch.nan if unambiguous else -torch.inf)
        if unambiguous:
            return cosines[place][:, place]
        cosines = _highest_by_row(cosines[place], rows, len(labels))
        cosines = _highest_by_row(cosines.T[place], rows, len(labels)).T
        return torch.where(cosines == -torch.inf, torch.nan, cosines)

    def _on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        if device not in self._copies:
            self._copies[device] = (
                torch.from_numpy(self._row_of).to(device),
                torch.from_numpy(self._vectors).to(device),
            )
        return self._copies[device]

    def get_config_dict(self) -> dict[str, Any]:
        """A description of the table, for cards and records."""
        return {
            "model": self.table_model,
            "digest": self.table_digest,
            **({} if self.graph_vectors == "original" else {"vectors": self.graph_vectors}),
            **({"shuffle_seed": self.shuffle_seed} if self.graph_vectors == "shuffled" else {}),
            "concepts_with_vector": self.n_vectors,
            "concepts_without": self.n_missing,
            "codes_without_concept": self.n_foreign,
        }

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_copies": {}}

    def __repr__(self) -> str:
        return f"KGESimilarity({self.n_vectors:,} concepts with a vector, {self.n_missing:,} without)"


def _highest_by_row(values: Tensor, rows: Tensor, n_rows: int) -> Tensor:
    """The highest entry of each column among the entries ``[M, N]`` that belong to one row, ``[n_rows, N]``."""
    out = values.new_full((n_rows, values.shape[1]), -torch.inf)
    return out.scatter_reduce_(0, rows[:, None].expand_as(values), values, "amax")
