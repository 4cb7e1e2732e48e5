"""Exact search in a matrix, whose result does not depend on how many queries are searched at once.

FAISS finds candidates by products of matrices in float32. They are scored once more, pair by pair. Where a row that is
no candidate may score as high by the error bound of the product, more candidates are taken, and at last all rows are
compared in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import faiss as _faiss
import numpy as np
import torch

from st_biomed.linking.pair_scores import Similarity, best_first, pair_scores, rounded

faiss: Any = _faiss  # its type stubs know but a part of what it has

BLOCK_BYTES = 64 << 20
"""Bytes of a block of the matrix in float32."""

_SPARE, _MANY_SPARE = 16, 512  # candidates beyond k at first, and where many rows are equally near
_CROWDED_AT_ONCE = 64  # queries that are compared with all rows at once: 22 MB of scores at 384 dimensions
_SUM_ROUNDING = 2.0**-24
_UNIT = 1 + 2.0**-10  # no row of unit length is longer in float16


def exact_nearest(
    queries: np.ndarray,
    matrix: np.ndarray,
    k: int,
    similarity: Similarity,
    *,
    longest: float,
    rows: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The k best rows of each query; of equal scores (six decimals), the lower row first.

    Args:
        queries: float32 ``[Q, D]``, unit vectors for cosines.
        matrix: ``[N, D]`` of float32 or float16, unit vectors for cosines; may be memory-mapped.
        k: Number of rows, at most that of the rows to search.
        similarity: Similarity of the index.
        longest: See :func:`longest_row`.
        rows: The rows to search, sorted ``[M]``; all by default.

    Returns:
        ``(scores, rows)``, float32 and int64 ``[Q, k]``.
    """
    n = len(matrix) if rows is None else len(rows)
    scores, found = np.zeros((len(queries), k), np.float32), np.zeros((len(queries), k), np.int64)
    crowded = np.arange(len(queries))  # whose lists may lack a row
    for spare in (max(_SPARE, k // 8), max(_MANY_SPARE, k)):
        depth, part = min(k + spare, n), queries[crowded]
        candidates, others = _candidates(part, matrix, depth, similarity, longest, rows)
        best = best_first(pair_scores(part, matrix, candidates, similarity), candidates, k)
        scores[crowded], found[crowded] = best
        crowded = crowded[~(best[0][:, -1] > others) & (depth < n)]
        if not len(crowded):
            return scores, found
    for start in range(0, len(crowded), _CROWDED_AT_ONCE):
        at = crowded[start : start + _CROWDED_AT_ONCE]
        nearest = _of_all(queries[at], matrix, k, similarity, rows)
        scores[at], found[at] = best_first(pair_scores(queries[at], matrix, nearest, similarity), nearest, k)
    return scores, found


def longest_row(matrix: np.ndarray, similarity: Similarity) -> float:
    """At least the Euclidean length of every row; for unit vectors without a look at them."""
    if similarity == "cosine":
        return _UNIT
    return 1.001 * max(float(np.linalg.norm(block, axis=1).max()) for _, block in blocks(matrix))


def faiss_metric(similarity: Similarity) -> int:
    """The metric of FAISS with the order of a similarity."""
    return faiss.METRIC_L2 if similarity == "euclidean" else faiss.METRIC_INNER_PRODUCT


def blocks(matrix: np.ndarray, rows: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Row numbers ``[R]`` and float32 vectors ``[R, D]`` of a matrix, or of some of its rows, block by block."""
    n, step = len(matrix) if rows is None else len(rows), max(1, BLOCK_BYTES // (4 * matrix.shape[1]))
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        numbers = np.arange(part.start, part.stop) if rows is None else rows[part]
        vectors = matrix[part] if rows is None else matrix[numbers]
        yield numbers, np.ascontiguousarray(vectors, dtype=np.float32)


def _candidates(
    queries: np.ndarray,
    matrix: np.ndarray,
    depth: int,
    similarity: Similarity,
    longest: float,
    rows: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The best ``depth`` rows by FAISS ``[Q, depth]``, and the highest score that another row may have ``[Q]``.

    The bound is the usual one of an inner product in float32: D roundings of the sum of absolute products. A squared
    distance is computed as ``|q|^2 + |v|^2 - 2 q v``, and the bound is that of its three products.
    """
    values, found = np.zeros((len(queries), 0), np.float32), np.zeros((len(queries), 0), np.int64)
    is_distance = similarity == "euclidean"
    for numbers, block in blocks(matrix, rows):
        new, at = faiss.knn(queries, block, min(depth, len(block)), faiss_metric(similarity))
        values = np.concatenate([values, -new if is_distance else new], axis=1)
        found = np.concatenate([found, numbers[at]], axis=1)
        if values.shape[1] > depth:
            kept = np.argpartition(-values, depth - 1, axis=1)[:, :depth]
            values, found = np.take_along_axis(values, kept, 1), np.take_along_axis(found, kept, 1)
    rounding = (queries.shape[1] + 8) * _SUM_ROUNDING
    lengths, worst = np.linalg.norm(queries.astype(np.float64), axis=1), values.min(axis=1).astype(np.float64)
    if is_distance:
        return found, rounded(-np.sqrt(np.maximum(-worst - rounding * (lengths + longest) ** 2, 0)))
    return found, rounded(worst + rounding * lengths * longest)


def _of_all(
    queries: np.ndarray, matrix: np.ndarray, k: int, similarity: Similarity, rows: np.ndarray | None
) -> np.ndarray:
    """The k best rows of each query ``[Q, k]``, every row compared in float64; of equal scores the first."""
    best, found = np.zeros((len(queries), 0), np.float32), np.zeros((len(queries), 0), np.int64)
    for numbers, block in blocks(matrix, rows):
        best = np.concatenate([best, rounded(_all_scores(queries, block, similarity))], axis=1)
        found = np.concatenate([found, np.broadcast_to(numbers, (len(queries), len(numbers)))], axis=1)
        if best.shape[1] > k:
            last = np.partition(best, -k, axis=1)[:, [-k]]
            above, level = best > last, best == last
            room = k - above.sum(axis=1, keepdims=True)
            kept = above | (level & (level.cumsum(axis=1) <= room))
            best, found = best[kept].reshape(-1, k), found[kept].reshape(-1, k)
    return found


def _all_scores(queries: np.ndarray, block: np.ndarray, similarity: Similarity) -> np.ndarray:
    """float64 ``[Q, R]``; distances from differences, since ``|q|^2 + |v|^2 - 2 q v`` loses small ones."""
    if similarity != "euclidean":
        return queries.astype(np.float64) @ block.astype(np.float64).T
    left, right = (torch.from_numpy(part.astype(np.float64)) for part in (queries, block))
    return -torch.cdist(left, right, compute_mode="donot_use_mm_for_euclid_dist").numpy()
