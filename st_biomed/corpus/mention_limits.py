"""Limits of the mentions of a term and of a concept."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np

from st_biomed.corpus.tokens import splitmix64
from st_biomed.csr import CSR, position_in_row
from st_biomed.errors import InputError, check_name

_PLACES = np.uint64(22)  # bits of a position in a document or piece, which has at most 2^20 characters


@dataclass(frozen=True)
class Caps:
    """The maximum number of contexts of each term and of each concept.

    Every mention has a rank, and those with the lowest ranks are kept. The result does not depend on the division of
    work.

    Args:
        per_term: Maximum number of contexts of a term; ``None`` keeps all. The paper trains with 4: "the number of
            contexts per term is limited to 4 for computational reasons" (Amore Bondarenko et al. 2022, section 4).
        per_concept: Maximum number of contexts of a concept; a mention of several concepts counts for each of them.
        keep: ``"random"``: all are equally likely; ``"first"``: the first ones of the text.
        seed: Seed of the random ranks.

    Raises:
        InputError: An argument out of range.
    """

    per_term: int | None = None
    per_concept: int | None = None
    keep: Literal["random", "first"] = "random"
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("per_term", "per_concept"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise InputError(f"{name} must be at least 1, or None to keep all, found {value}")
        check_name("keep", self.keep, ("random", "first"))

    @property
    def unlimited(self) -> bool:
        return self.per_term is None and self.per_concept is None

    def ranks(self, documents: np.ndarray, places: np.ndarray) -> np.ndarray:
        """The rank of each mention, uint64 ``[N]``.

        Args:
            documents: Number of the document or piece of each, int64 ``[N]``.
            places: Its first character in it, int64 ``[N]``.
        """
        order = (documents.astype(np.uint64) << _PLACES) | places.astype(np.uint64)
        if self.keep == "first":
            return order
        return splitmix64(splitmix64(order) ^ splitmix64(np.array([self.seed]).astype(np.uint64)))

    def within_terms(self, labels: np.ndarray, ranks: np.ndarray) -> np.ndarray:
        """The mentions that the limit of terms keeps, in ascending order, int64 ``[M]``.

        Args:
            labels: The term of each, int64 ``[N]``.
            ranks: The rank of each, uint64 ``[N]``.
        """
        return np.arange(len(labels)) if self.per_term is None else _lowest(labels, ranks, self.per_term)

    def not_ruled_out(self, labels: np.ndarray, forms: np.ndarray, ranks: np.ndarray) -> np.ndarray:
        """The mentions that the limits may still keep, whatever follows, in ascending order, int64 ``[M]``.

        All mentions of a form mean the same concepts. Each of them with a low rank is kept, and counts for these
        concepts, or one of the concepts has enough already: beyond the limit of concepts none is kept.

        Args:
            labels: The term of each, int64 ``[N]``.
            forms: The form of each, int64 ``[N]``.
            ranks: The rank of each, uint64 ``[N]``.
        """
        if self.per_term is not None:
            return self.within_terms(labels, ranks)
        return np.arange(len(forms)) if self.per_concept is None else _lowest(forms, ranks, self.per_concept)

    def within_concepts(self, concepts: CSR, ranks: np.ndarray) -> np.ndarray:
        """The mentions that the limit of concepts keeps, in ascending order, int64 ``[M]``.

        Args:
            concepts: Mention to its concepts.
            ranks: The rank of each mention, uint64 ``[N]``.
        """
        if self.per_concept is None:
            return np.arange(len(ranks))
        seen: Counter[int] = Counter()
        kept = []
        for mention in np.argsort(ranks, kind="stable").tolist():
            own = concepts.row(mention).tolist()
            if all(seen[concept] < self.per_concept for concept in own):
                seen.update(own)
                kept.append(mention)
        return np.sort(np.array(kept, dtype=np.int64))


def _lowest(groups: np.ndarray, ranks: np.ndarray, limit: int) -> np.ndarray:
    """The lowest ranks of each group, at most as many as the limit, as ascending places, int64 ``[M]``."""
    order = np.lexsort((ranks, groups))
    return np.sort(order[position_in_row(groups[order]) < limit])
