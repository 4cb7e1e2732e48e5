"""From the text ids of a batch to concepts, on the batch's device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from st_biomed.csr import DeviceTables, expand, shares_key
from st_biomed.errors import InputError
from st_biomed.terminology import Terminology

if TYPE_CHECKING:
    from torch import Tensor


class ConceptLookup:
    """Which concepts a text id stands for, and which texts are the same string.

    The tables are copied to a device when a batch first comes from there. They belong to no ``state_dict``: a
    checkpoint carries the terminology's digest, not its content.

    Args:
        terminology: Source of the text ids used as labels.
    """

    def __init__(self, terminology: Terminology) -> None:
        self.digest = terminology.digest
        self.n_texts = self.n_labels = terminology.n_texts
        self.expected = f"labels are text ids from 0 to {self.n_texts - 1}"
        csr = terminology.text_concepts
        self.unambiguous = bool((csr.counts == 1).all())
        self._tables = DeviceTables(indptr=csr.indptr, concepts=csr.indices)

    def check(self, labels: Tensor) -> None:
        """Refuse labels that are not of this terminology.

        Raises:
            InputError: With the range found and the range allowed.
        """
        if not labels.numel():
            return
        import torch

        least, most = torch.stack(labels.aminmax()).tolist()  # a GPU is waited for once
        if least < 0 or most >= self.n_labels:
            raise InputError(
                f"{self.expected} of terminology {self.digest[:12]}, found {least} to {most}: was the dataset made from "
                "another terminology?"
            )

    def concepts(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The concepts of each text.

        Args:
            labels: Text ids, int64 ``[B]``.

        Returns:
            ``(rows, concepts)``, both ``[M]`` with ``M >= B``: batch row ``rows[m]`` names concept ``concepts[m]``.
        """
        import torch

        tables = self._tables.on(labels.device)
        rows = torch.arange(len(labels), device=labels.device)
        if self.unambiguous:
            return rows, tables["concepts"][labels]
        return expand(tables["indptr"], tables["concepts"], rows, labels)

    def same_concept(self, labels_a: Tensor, labels_b: Tensor) -> Tensor:
        """Whether two texts have a concept in common, boolean ``[A, B]``, for text ids ``[A]`` and ``[B]``."""
        rows_a, concepts_a = self.concepts(labels_a)
        rows_b, concepts_b = self.concepts(labels_b)
        if self.unambiguous:
            return concepts_a[:, None] == concepts_b[None, :]
        return shares_key(rows_a, concepts_a, rows_b, concepts_b, (len(labels_a), len(labels_b)))

    def same_text(self, labels_a: Tensor, labels_b: Tensor) -> Tensor:
        """Whether two rows are the same string, boolean ``[A, B]``, for text ids ``[A]`` and ``[B]``."""
        return labels_a[:, None] == labels_b[None, :]

    def ignored_pairs(self, labels_a: Tensor, labels_b: Tensor) -> Tensor | None:
        """Pairs that are neither positive nor negative, boolean ``[A, B]``; ``None`` where there are none of them."""
        return None

    def get_config_dict(self) -> dict[str, Any]:
        """What decides the meaning of the labels, for cards and records."""
        return {"terminology": self.digest}

    def __repr__(self) -> str:
        return f"ConceptLookup({self.n_texts:,} texts, terminology {self.digest[:12]})"
