"""The principal components of vectors, and vectors reduced to them in the space that they are in."""

from __future__ import annotations

import numpy as np

from st_biomed.errors import InputError

_ROWS = 65_536  # vectors at once


def principal_directions(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of vectors, and their principal components from the largest variance to the smallest.

    Args:
        vectors: ``[N, D]``; may be memory-mapped.

    Returns:
        float64 ``[D]`` and ``[D, D]``, a component in each column.
    """
    mean = sum(vectors[piece].astype(np.float64).sum(axis=0) for piece in _pieces(vectors)) / max(1, len(vectors))
    scatter = np.zeros((vectors.shape[1], vectors.shape[1]))
    for piece in _pieces(vectors):
        centered = vectors[piece].astype(np.float64) - mean
        scatter += centered.T @ centered
    return mean, np.linalg.eigh(scatter)[1][:, ::-1]  # eigenvalues ascend


def main_components(vectors: np.ndarray, n: int) -> np.ndarray:
    r"""The nearest vectors that lie on n principal components: :math:`\mu + V V^\top (x - \mu)`.

    They keep their dimension, so that an encoder can learn them without a layer of its own; what the other directions hold,
    noise of a contrastive training for one, is left out.

    Args:
        vectors: ``[N, D]``; may be memory-mapped.
        n: Number of components, at most D.

    Returns:
        ``[N, D]`` of the same dtype.

    Raises:
        InputError: No component, or more than D.
    """
    if not 1 <= n <= vectors.shape[1]:
        raise InputError(f"components must be from 1 to {vectors.shape[1]}, the dimension of the vectors, found {n}")
    mean, directions = principal_directions(vectors)
    directions = directions[:, :n]
    reduced = np.empty(vectors.shape, dtype=vectors.dtype)
    for piece in _pieces(vectors):
        centered = vectors[piece].astype(np.float64) - mean
        reduced[piece] = mean + (centered @ directions) @ directions.T
    return reduced


def _pieces(vectors: np.ndarray) -> list[slice]:
    return [slice(start, start + _ROWS) for start in range(0, len(vectors), _ROWS)]
