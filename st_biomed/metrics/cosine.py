"""Cosines of listed pairs, in chunks."""

from __future__ import annotations

import numpy as np

_CHUNK = 16_384  # pairs at once: two float64 blocks of 100 MB at 768 dimensions


def unit_rows(matrix: np.ndarray) -> np.ndarray:
    """The rows of a ``[N, D]`` matrix scaled to length 1, float64; a row of zeros stays zero, and NaN stays NaN."""
    matrix = np.asarray(matrix, dtype=np.float64)
    length = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.divide(matrix, length, out=np.zeros_like(matrix), where=length != 0)


def cosine_of_pairs(embeddings: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Cosine of each pair of rows.

    Computed in float64 and rounded to float32, so equal pairs tie for any order of summation.

    Args:
        embeddings: ``[T, D]``.
        left, right: Row numbers, ``[N]`` each.

    Returns:
        float32 ``[N]``.
    """
    out = np.empty(len(left), dtype=np.float32)
    for start in range(0, len(left), _CHUNK):
        part = slice(start, start + _CHUNK)
        a, b = unit_rows(embeddings[left[part]]), unit_rows(embeddings[right[part]])
        out[part] = np.einsum("ij,ij->i", a, b)
    return out
