"""The principal components of vectors, and the projection of vectors onto the leading ones."""

from __future__ import annotations

import numpy as np

from st_biomed.errors import InputError

_ROWS = 65_536  # vectors at a time


def principal_directions(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of vectors and their principal components, in order of decreasing variance.

    Args:
        vectors: ``[N, D]``; may be memory-mapped.

    Returns:
        The mean, float64 ``[D]``, and the components as columns, float64 ``[D, D]``.
    """
    mean = sum(vectors[piece].astype(np.float64).sum(axis=0) for piece in _pieces(vectors)) / max(1, len(vectors))
    scatter = np.zeros((vectors.shape[1], vectors.shape[1]))
    for piece in _pieces(vectors):
        centered = vectors[piece].astype(np.float64) - mean
        scatter += centered.T @ centered
    return mean, np.linalg.eigh(scatter)[1][:, ::-1]  # eigenvalues ascend


def project_onto_leading_components(vectors: np.ndarray, n: int) -> np.ndarray:
    r"""The projection of vectors onto their n leading principal components: :math:`\mu + V V^\top (x - \mu)`.

    The dimension stays the same, so that an encoder can learn the projected vectors without an additional layer. The
    other directions, for example noise from contrastive training, are removed.

    Args:
        vectors: ``[N, D]``; may be memory-mapped.
        n: Number of components, at most D.

    Returns:
        ``[N, D]`` of the same dtype.

    Raises:
        InputError: n is not from 1 to D.
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
