"""Negatives drawn by their distance: near ones are likely, but not always the nearest."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from st_biomed.metrics.cosine import unit_rows

_ROWS = 2048  # anchors at once, which bounds the memory


def inverse_distance(cosines: np.ndarray, width: int) -> np.ndarray:
    """Log weights ``-log max(1 - cos, 1e-9)``: the draw of the code that Fivez et al. (2021) published.

    Distances are from 0 to 2; one below 1e-9, of equal vectors, counts as 1e-9.

    Args:
        cosines: Of anchors to names, float64 ``[A, M]``.
        width: Width of the vectors; not used.

    Returns:
        ``[A, M]``.
    """
    return -np.log(np.maximum(1 - cosines, 1e-9))


def wu2017(cosines: np.ndarray, width: int, cutoff: float = 0.5, log_limit: float | None = None) -> np.ndarray:
    r"""Log weights ``min(log limit, -log q(D))``, which make all distances equally likely (Wu et al. 2017, section 4).

    q is the density of distances between points spread evenly over the unit sphere, up to a factor::

        log q(D) = (width - 2) log D + (width - 3) / 2 log(1 - D^2 / 4),   D = sqrt(2 - 2 cos)

    A name nearer than the cut-off has the weight of the cut-off. That weight is also the default limit, lambda:
    distances near 2 are as rare on the sphere as distances near 0 and would weigh as much. The computation is in
    logarithms, because the weights span 120 orders of magnitude in 384 dimensions.

    Args:
        cosines: Of anchors to names, float64 ``[A, M]``.
        width: n, the dimensions of the vectors.
        cutoff: Least distance D; 0.5 in the code of Wu et al.
        log_limit: Logarithm of lambda; by default ``-log q(cutoff)``.

    Returns:
        ``[A, M]``.
    """

    def log_weight(squares: np.ndarray) -> np.ndarray:
        far = np.maximum(1 - squares / 4, np.finfo(np.float64).tiny)
        return -(width - 2) / 2 * np.log(squares) - (width - 3) / 2 * np.log(far)

    least = cutoff * cutoff
    limit = float(log_weight(np.array(least))) if log_limit is None else log_limit
    return np.minimum(log_weight(np.maximum(2 - 2 * cosines, least)), limit)


DISTRIBUTIONS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "inverse_distance": inverse_distance,
    "wu2017": wu2017,
}


def draw_negatives(
    anchors: np.ndarray,
    names: np.ndarray,
    allowed: np.ndarray,
    rng: np.random.Generator,
    distribution: str = "inverse_distance",
) -> np.ndarray:
    """One name for each anchor, drawn with a probability that depends on their cosine.

    "We apply distance-weighted negative sampling (Wu et al., 2017) over all training names" (Fivez et al. 2021, section
    2.2).

    Args:
        anchors: Vectors ``[A, D]``.
        names: Vectors ``[M, D]``.
        allowed: Whether a name may be the anchor's negative, boolean ``[A, M]``; at least one in each row.
        rng: The random generator; one number is drawn for each anchor.
        distribution: ``"inverse_distance"`` or ``"wu2017"``.

    Returns:
        Index of a name for each anchor, int64 ``[A]``.
    """
    columns = np.empty(len(anchors), dtype=np.int64)
    chances = rng.random(len(anchors))
    names = unit_rows(names)
    for start in range(0, len(anchors), _ROWS):
        rows = slice(start, start + _ROWS)
        cosines = unit_rows(anchors[rows]) @ names.T
        weights = np.where(allowed[rows], DISTRIBUTIONS[distribution](cosines, names.shape[1]), -math.inf)
        columns[rows] = _columns(weights, chances[rows])
    return columns


def _columns(log_weights: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """The column of each row in which its cumulated probability passes the row's chance in [0, 1)."""
    cumulated = np.exp(log_weights - log_weights.max(axis=1, keepdims=True)).cumsum(axis=1)
    return (cumulated > chances[:, None] * cumulated[:, -1:]).argmax(axis=1)
