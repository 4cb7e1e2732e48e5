"""What the labels of relation pairs say to a loss: positive, negative, or neither."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from st_biomed.errors import InputError
from st_biomed.lookup import ConceptLookup
from st_biomed.terminology import Terminology

if TYPE_CHECKING:
    from torch import Tensor


def pair_label(concepts_a: np.ndarray, concepts_b: np.ndarray, n_concepts: int) -> np.ndarray:
    """The label of unordered concept pairs, int64 ``[N]``: ``smaller * n_concepts + larger``."""
    return np.minimum(concepts_a, concepts_b) * np.int64(n_concepts) + np.maximum(concepts_a, concepts_b)


class RelationLookup(ConceptLookup):
    """Reads concept pairs out of labels: a label stands for the two concepts of its pair.

    Rows of one concept pair are positives of each other. Rows of two pairs with a concept in common are neither
    positives nor negatives (a loss with ``mask_same_text`` leaves them out), so nothing related is pushed apart; with
    ``shared_concept_negatives`` they are negatives, as in the published code.

    Args:
        terminology: What the pairs were drawn from.
        shared_concept_negatives: Whether pairs with a concept in common are negatives of each other.

    Attributes:
        digest: The terminology's digest.
    """

    unambiguous = False

    def __init__(self, terminology: Terminology, *, shared_concept_negatives: bool = False) -> None:
        self.digest = terminology.digest
        self.n_concepts = terminology.n_concepts
        self.shared_concept_negatives = shared_concept_negatives

    def check(self, labels: Tensor) -> None:
        """Refuse labels that are no concept pairs of this terminology.

        Raises:
            InputError: With the range found and the range allowed.
        """
        if labels.numel() and (int(labels.min()) < 0 or int(labels.max()) >= self.n_concepts**2):
            raise InputError(
                f"labels are concept pairs from 0 to {self.n_concepts**2 - 1} of terminology {self.digest[:12]}, "
                f"found {int(labels.min())} to {int(labels.max())}: was the dataset made from another terminology?"
            )

    def concepts(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The two concepts of each row: ``(rows, concepts)``, both ``[2 * B]``, for labels ``[B]``."""
        import torch

        rows = torch.arange(len(labels), device=labels.device).repeat(2)
        return rows, torch.cat([labels // self.n_concepts, labels % self.n_concepts])

    def same_concept(self, labels_a: Tensor, labels_b: Tensor) -> Tensor:
        """Whether two rows are no negatives, boolean ``[A, B]``: whether their pairs have a concept in common."""
        if self.shared_concept_negatives:
            return labels_a[:, None] == labels_b[None, :]
        return super().same_concept(labels_a, labels_b)

    def same_text(self, labels_a: Tensor, labels_b: Tensor) -> Tensor:
        """Whether two rows are no positives either, boolean ``[A, B]``: of different pairs with a concept in common."""
        return self.same_concept(labels_a, labels_b) & (labels_a[:, None] != labels_b[None, :])

    def __repr__(self) -> str:
        return f"RelationLookup({self.n_concepts:,} concepts, terminology {self.digest[:12]})"
