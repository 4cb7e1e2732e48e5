"""Labels of relation pairs for a loss: positive, negative, or neither."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from st_biomed.csr import DeviceTables, expand
from st_biomed.terminology import Terminology
from st_biomed.terminology.lookup import ConceptLookup

if TYPE_CHECKING:
    from torch import Tensor


def relation_label(entries: np.ndarray, others: np.ndarray, n_concepts: int) -> np.ndarray:
    """The labels of names in a relation, int64 ``[N]``.

    A single number encodes the name and its concept (an entry of ``concept_texts.indices``), and the concept at the
    other end.
    """
    return entries * np.int64(n_concepts) + others


class RelationLookup(ConceptLookup):
    """Decodes names and concept pairs from the labels of :func:`~st_biomed.training_data.relations.relation_pairs`.

    Names of the same unordered pair of concepts are positives of each other, for either end. Two names are never
    negatives if they share a concept (any concept of the string, or a concept of the pair), so related names are not
    pushed apart. Such names of different pairs are neither positives nor negatives (a loss with ``mask_same_text``
    leaves them out), and so are two identical strings.

    Args:
        shared_concept_negatives: Whether all names of different pairs are negatives of each other, as in the published
            code; identical strings remain neither.
    """

    def __init__(self, terminology: Terminology, *, shared_concept_negatives: bool = False) -> None:
        super().__init__(terminology)
        self.unambiguous = False  # a label stands for two concepts at least
        self.n_concepts = terminology.n_concepts
        self.shared_concept_negatives = shared_concept_negatives
        names = terminology.concept_texts
        self.n_labels = len(names.indices) * self.n_concepts
        self.expected = f"labels of relations must be from 0 to {self.n_labels - 1}"
        self._names = DeviceTables(starts=names.indptr, texts=names.indices)

    def texts(self, labels: Tensor) -> Tensor:
        """The text id of each name, ``[B]``."""
        return self._names.on(labels.device)["texts"][labels // self.n_concepts]

    def pairs(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The concept of each name and the concept at the other end, ``[B]`` each."""
        import torch

        starts = self._names.on(labels.device)["starts"]
        meant = torch.searchsorted(starts, labels // self.n_concepts, right=True) - 1
        return meant, labels % self.n_concepts

    def concepts(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """All concepts of each name's string, and the concept at the other end, for labels ``[B]``: ``(rows, concepts)``,
        both ``[M]``.
        """
        import torch

        tables = self._tables.on(labels.device)
        every = torch.arange(len(labels), device=labels.device)
        rows, concepts = expand(tables["indptr"], tables["concepts"], every, self.texts(labels))
        return torch.cat([rows, every]), torch.cat([concepts, labels % self.n_concepts])

    def same_concept(self, labels_a: Tensor, labels_b: Tensor) -> Tensor:
        """Whether two names are not negatives, boolean ``[A, B]``."""
        if self.shared_concept_negatives:
            return self._same_pair(labels_a, labels_b) | super().same_text(self.texts(labels_a), self.texts(labels_b))
        return super().same_concept(labels_a, labels_b)

    def same_text(self, labels_a: Tensor, labels_b: Tensor) -> Tensor:
        """Whether two names are neither negatives nor positives, boolean ``[A, B]``."""
        same = super().same_text(self.texts(labels_a), self.texts(labels_b))
        return same | ~self._same_pair(labels_a, labels_b) & self.same_concept(labels_a, labels_b)

    def _same_pair(self, labels_a: Tensor, labels_b: Tensor) -> Tensor:
        """Whether two names stand for the same unordered pair of concepts, boolean ``[A, B]``."""
        import torch

        classes = []
        for labels in (labels_a, labels_b):
            ends = torch.stack(self.pairs(labels))
            classes.append(ends.amin(0) * self.n_concepts + ends.amax(0))
        return classes[0][:, None] == classes[1][None, :]

    def get_config_dict(self) -> dict[str, Any]:
        """What decides the meaning of the labels, for cards and records."""
        kind = {"labels": "relations", "shared_concept_negatives": self.shared_concept_negatives}
        return {**super().get_config_dict(), **kind}

    def __repr__(self) -> str:
        return f"RelationLookup({self.n_concepts:,} concepts, terminology {self.digest[:12]})"
