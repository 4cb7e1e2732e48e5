"""From the nearest names to the nearest concepts. A concept is as near as its nearest name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from st_biomed.csr import CSR


class Pooled(NamedTuple):
    """One entry for each concept found, by query, best first.

    Attributes:
        query, concept, name: Indices, ``[M]``.
        score: float32 ``[M]``.
    """

    query: np.ndarray
    concept: np.ndarray
    name: np.ndarray
    score: np.ndarray


def pool_names(scores: np.ndarray, names: np.ndarray, name_concepts: CSR, k: int) -> Pooled:
    """The best k concepts of each query by their best name.

    Args:
        scores: float32 ``[Q, R]``, best first.
        names: Name of each score, ``[Q, R]``, padded with -1.
        name_concepts: Name to its concepts, or to those that are allowed; several concepts of a name keep their order.
        k: Maximum number of concepts per query.
    """
    flat = np.flatnonzero(names.ravel() >= 0)
    position, concept = name_concepts.take(names.ravel()[flat])
    place = flat[position]
    query = place // max(names.shape[1], 1)
    width = int(concept.max(initial=0)) + 1
    first = np.sort(np.unique(query * width + concept, return_index=True)[1])
    query, concept, place = query[first], concept[first], place[first]
    counts = np.bincount(query, minlength=len(names))
    rank = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept = rank < k
    place = place[kept]
    return Pooled(query[kept], concept[kept].astype(np.int64), names.ravel()[place], scores.ravel()[place])
