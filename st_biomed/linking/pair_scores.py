"""The score of a query and a row, from this pair alone: in float64, and rounded to six decimals.

A product of matrices in float32 has last bits that depend on how many rows are multiplied at once. A score of this
module does not, so equal rows have equal scores in every search.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

Similarity = Literal["cosine", "dot", "euclidean"]

_PAIR_BYTES = 4 << 20  # of the pairs that are scored at once, so that they stay in the cache


def pair_scores(queries: np.ndarray, matrix: np.ndarray, rows: np.ndarray, similarity: Similarity) -> np.ndarray:
    """Inner products or negative distances, float64 ``[Q, R]``; ``-inf`` for row -1.

    Args:
        queries: ``[Q, D]``, unit vectors for cosines.
        matrix: ``[N, D]``, unit vectors for cosines; may be memory-mapped.
        rows: Rows of the matrix for each query, int64 ``[Q, R]``.
        similarity: Similarity of the index.
    """
    row, query = rows.ravel(), np.repeat(np.arange(len(queries)), rows.shape[1])
    scores = np.empty(len(row))
    step = max(1, _PAIR_BYTES // (8 * queries.shape[1]))
    for start in range(0, len(row), step):
        part = slice(start, start + step)
        vectors = matrix[np.maximum(row[part], 0)].astype(np.float64)
        if similarity == "euclidean":
            vectors -= queries[query[part]]
            scores[part] = -np.sqrt(np.square(vectors, out=vectors).sum(axis=1))
        else:
            vectors *= queries[query[part]]
            scores[part] = vectors.sum(axis=1)
    scores[row < 0] = -np.inf
    return scores.reshape(rows.shape)


def rounded(scores: np.ndarray) -> np.ndarray:
    """Scores as a search gives them: six decimals, float32, and no -0.0.

    The vectors of "ALL" and "all" by an uncased encoder may differ in their last bits; so rounded, they score the same.
    """
    return (np.round(scores, 6) + 0.0).astype(np.float32)


def reaches(score: float, threshold: float | None) -> bool:
    """Whether a score is at least a threshold, in float32 as scores are: 0.7 reaches 0.7, which float32 rounds down."""
    return threshold is None or bool(np.float32(score) >= np.float32(threshold))


def best_first(scores: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The best k rows of each query by their rounded scores; of equal scores, the lower row first.

    Args:
        scores: float64 ``[Q, R]``.
        rows: int64 ``[Q, R]``.
        k: Number of rows.

    Returns:
        ``(scores, rows)``, float32 and int64 ``[Q, min(k, R)]``.
    """
    scores = rounded(scores)
    order = np.lexsort((rows, -scores), axis=1)[:, :k]
    return np.take_along_axis(scores, order, 1), np.take_along_axis(rows, order, 1)
