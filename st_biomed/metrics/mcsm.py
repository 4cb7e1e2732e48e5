"""Medical Conceptual Similarity Measure: do the nearest neighbors of a concept have its type?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError

_CELLS = 1 << 22  # gains of one block of concepts, for every type: 32 MB


class MCSM(NamedTuple):
    """The measure of each type, and over all of them.

    Attributes:
        macro: Mean over the types, with equal weights.
        micro: Mean over the pairs of a concept and one of its types.
        of_types: Mean over the concepts of each type, float64 ``[T]``.
        n_of_types: Concepts of each type, int64 ``[T]``.
    """

    macro: float
    micro: float
    of_types: np.ndarray
    n_of_types: np.ndarray


def without_self(neighbors: np.ndarray) -> np.ndarray:
    """The nearest other concepts, from the nearest of all concepts including the concept itself.

    A vector is distinguished from its duplicates by its index, not by its rank. If so many others tie with it that its
    own list does not contain it, the last entry is removed: the first k of k + 1 are then all others.

    Args:
        neighbors: Indices of the k + 1 nearest of vector ``i`` in row ``i``, best first, ``[N, k + 1]``; without repeats.

    Returns:
        ``[N, k]``, in the same order.

    Raises:
        InputError: Not a matrix of at least one column.
    """
    if neighbors.ndim != 2 or not neighbors.shape[1]:
        raise InputError(f"neighbors: expected [N, k + 1], found shape {list(neighbors.shape)}")
    out = neighbors == np.arange(len(neighbors))[:, None]
    out[~out.any(axis=1), -1] = True
    return neighbors[~out].reshape(len(neighbors), -1)


def largest_mcsm(k: int, n_concepts: int) -> float:
    """The measure if every neighbor has the type: the sum of ``1 / log2(i + 1)`` for ``i`` from 1 to k.

    With k = 40 it is 11.091. A concept has at most N - 1 neighbors, and at most n - 1 of them have a type with n
    concepts; pass that n for the largest value of this type.

    Args:
        k: Neighbors of each concept.
        n_concepts: Number of concepts.

    Raises:
        InputError: One of them below 1.
    """
    for name, value in {"k": k, "n_concepts": n_concepts}.items():
        if value < 1:
            raise InputError(f"{name} must be at least 1, found {value}")
    return float(_discounts(min(k, n_concepts - 1)).sum())


def type_gains(neighbors: np.ndarray, types: CSR) -> np.ndarray:
    """Discounted cumulative gain of each concept in each of its types: the inner sum of the measure.

    The neighbor of rank ``i``, from 1, adds ``1 / log2(i + 1)`` if it has the type, among any others. If there are
    fewer than k other concepts, the sum ends with them.

    Args:
        neighbors: Indices of the nearest other concepts, best first, ``[N, k]``; a concept is not its own neighbor.
        types: Concept to its types, N rows with M entries in all.

    Returns:
        float64 ``[M]``, in the order of ``types.indices``.

    Raises:
        InputError: Another number of rows, indices that are not concepts, or a concept among its own neighbors.
    """
    n, k = _checked(neighbors, types)
    discounts = _discounts(k)
    n_types = int(types.indices.max(initial=-1)) + 1
    gains = np.empty(len(types.indices))
    step = max(1, _CELLS // max(n_types, k, 1))
    for start in range(0, n, step):
        block = neighbors[start : start + step]
        position, kind = types.take(block.ravel())
        row, rank = np.divmod(position, max(k, 1))
        sums = np.bincount(row * n_types + kind, weights=discounts[rank], minlength=len(block) * n_types)
        owner, own = types.take(np.arange(start, start + len(block)))
        gains[types.indptr[start] : types.indptr[start + len(block)]] = sums[owner * n_types + own]
    return gains


def mcsm_scores(gains: np.ndarray, types: CSR, n_types: int) -> MCSM:
    """The measure from the gains of concepts (Choi et al. 2016; equation 7 of the Italian paper).

    ``MCSM(V, T, k) = 1 / |V(T)| * sum over v in V(T) of sum over i = 1..k of 1_T(v(i)) / log2(i + 1)``

    Args:
        gains: The gains from :func:`type_gains`, ``[M]``.
        types: Concept to its types, M entries in all.
        n_types: Number of types, T.

    Raises:
        InputError: Another number of gains, a type number of T or above, or a type without a concept.
    """
    if len(gains) != len(types.indices):
        raise InputError(
            f"gains: expected one for each of {len(types.indices):,} types of concepts, found {len(gains):,}"
        )
    n_of_types = np.bincount(types.indices, minlength=n_types)
    if len(n_of_types) > n_types:
        raise InputError(f"types: expected numbers below {n_types}, found {len(n_of_types) - 1}")
    if not n_types or not n_of_types.all():
        raise InputError(f"types: {int((n_of_types == 0).sum())} of {n_types} have no concept, at least one is needed")
    sums = np.bincount(types.indices, weights=gains, minlength=n_types)
    of_types = sums / n_of_types
    return MCSM(float(of_types.mean()), float(sums.sum() / len(gains)), of_types, n_of_types)


def _discounts(k: int) -> np.ndarray:
    return 1 / np.log2(np.arange(k) + 2)


def _checked(neighbors: np.ndarray, types: CSR) -> tuple[int, int]:
    """N and k."""
    if neighbors.ndim != 2 or len(neighbors) != types.n_rows:
        raise InputError(f"neighbors: expected [{types.n_rows}, k], found shape {list(neighbors.shape)}")
    if neighbors.size and not 0 <= neighbors.min() <= neighbors.max() < types.n_rows:
        raise InputError(
            f"neighbors: expected concepts 0..{types.n_rows - 1}, found {neighbors.min()}..{neighbors.max()}"
        )
    if (itself := (neighbors == np.arange(len(neighbors))[:, None]).any(axis=1)).any():
        raise InputError(f"neighbors: concept {int(itself.argmax())} is among its own, without_self() leaves it out")
    return neighbors.shape
