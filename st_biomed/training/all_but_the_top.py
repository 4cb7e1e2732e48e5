"""Removes the mean and the leading principal components of vectors, which nearly all vectors share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from st_biomed.errors import InputError
from st_biomed.metrics.cosine import unit_rows
from st_biomed.training.principal_components import principal_directions


class AllButTheTop(NamedTuple):
    r"""The map :math:`x \mapsto c - U U^\top c` with :math:`c = x / |x| - \mu`.

    The vectors of names are concentrated in a narrow cone, and their first principal component separates broad kinds
    of names, such as tumors and chemicals. Without both, cosines rank relatedness across kinds better.

    Attributes:
        mean: :math:`\mu`, the mean of unit vectors, float64 ``[D]``.
        directions: :math:`U`, the leading principal components of centered unit vectors, float64 ``[D, n]``.

    References:
        Mu and Viswanath 2018, "All-but-the-top: simple and effective postprocessing for word representations",
        arXiv:1702.01417 (algorithm 1, for word vectors that are not scaled to length 1).
    """

    mean: np.ndarray
    directions: np.ndarray

    @classmethod
    def fit(cls, vectors: np.ndarray, removed: int) -> AllButTheTop:
        """The mean and the leading principal components of vectors.

        Args:
            vectors: ``[N, D]``; they are scaled to unit length first.
            removed: Number of components n; 0 only centers.

        Raises:
            InputError: There is no vector, or n is not from 0 to D - 1.
        """
        rows = unit_rows(vectors)
        if not len(rows):
            raise InputError("vectors: expected at least one, found none")
        check_removed(removed, rows.shape[1])
        mean, directions = principal_directions(rows)
        return cls(mean, directions[:, :removed])

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """The mapped vectors, float32 ``[N, D]``.

        Args:
            vectors: ``[N, D]`` of any length.
        """
        centered = unit_rows(vectors) - self.mean
        return (centered - (centered @ self.directions) @ self.directions.T).astype(np.float32)


def check_removed(removed: int, dimension: int) -> None:
    """Raise InputError if no component would be left.

    Raises:
        InputError: The number is not from 0 to D - 1.
    """
    if not 0 <= removed < dimension:
        raise InputError(
            f"distillation_removed must be from 0 to {dimension - 1}, below the dimension of the vectors, found {removed}"
        )
