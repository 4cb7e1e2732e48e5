"""Vectors of entities as a link predictor, the baseline of knowledge-graph models."""

from __future__ import annotations

import numpy as np

from st_biomed.errors import InputError, check_name
from st_biomed.metrics.cosine import unit_rows
from st_biomed.metrics.link_prediction import Scorer, columns_of
from st_biomed.neighbors import SIMILARITIES


def scorer_from_vectors(vectors: np.ndarray, similarity: str = "cosine", *, train: np.ndarray | None = None) -> Scorer:
    """Score entities by their similarity to the given entity.

    Without ``train`` the relation is ignored, and the nearest concepts are returned. With ``train``, a relation is the
    mean of tail minus head over its training triples, which is the least-squares solution of TransE's ``h + r = t``
    (Bordes et al. 2013, section 2) for fixed vectors. Heads are moved by it, and tails are moved back, before they are
    compared. A relation without a training triple is a zero vector.

    An entity is most similar to itself but not related to itself, so the given entity scores minus infinity.

    Args:
        vectors: Vectors of all entities, ``[E, D]``. A copy in float64 is kept: 8 E D bytes.
        similarity: ``"cosine"``, ``"dot"`` or ``"euclidean"``, which orders by nearness.
        train: Triples (head, relation, tail) ``[T, 3]``, or ``None``.

    Returns:
        A scorer. Scores are computed in float64 and rounded to float32, so equal vectors tie.

    Raises:
        InputError: Vectors that are not a matrix, or an unknown similarity.
    """
    if np.ndim(vectors) != 2:
        raise InputError(f"vectors: expected [E, D], found shape {np.shape(vectors)}")
    check_name("similarity", similarity, SIMILARITIES)
    table = unit_rows(vectors) if similarity == "cosine" else np.asarray(vectors, dtype=np.float64)
    half_squares = (table**2).sum(axis=1) / 2 if similarity == "euclidean" else 0.0
    moves = {} if train is None else _translations(table, train)

    def score(given_ends: np.ndarray, relations: np.ndarray, side: str, /) -> np.ndarray:
        queries = table[given_ends]
        if moves:
            still = np.zeros(table.shape[1])
            moved = np.stack([moves.get(relation, still) for relation in relations.tolist()])
            queries = queries - moved if side == "head" else queries + moved
        scores = queries @ table.T - half_squares
        if similarity == "euclidean":
            scores -= (queries**2).sum(axis=1, keepdims=True) / 2  # near 0 for near vectors: float32 keeps the order
        scores = scores.astype(np.float32)
        scores[np.arange(len(given_ends)), given_ends] = -np.inf
        return scores

    return score


def _translations(table: np.ndarray, triples: np.ndarray) -> dict[int, np.ndarray]:
    """Relation to the mean of tail minus head, ``[D]`` each."""
    heads, relations, tails = columns_of(triples, "tail")
    means = {}
    for relation in np.unique(relations).tolist():
        rows = relations == relation
        times = np.bincount(tails[rows], minlength=len(table)) - np.bincount(heads[rows], minlength=len(table))
        means[relation] = times @ table / rows.sum()
    return means
