"""Groups of relations that share pairs, such as a relation and its inverse."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

SHARED = 0.5
"""Two relations belong to one group if they share at least this part of the pairs of the smaller one.

The means of independent numbers over two sets of m and n pairs, k of them in both, have the correlation
``k / sqrt(m n)``, at most ``k / min(m, n)``. The correlation of relations that form no group is therefore below one
half; that of a relation and its complete inverse is 1. A rule of any shared pair would be too strict: a few pairs that
happen to have two relations would connect most relations of a terminology.
"""


def relation_groups(pairs: Sequence[np.ndarray]) -> np.ndarray:
    """Groups of relations: the connected components of relations that share pairs, see :data:`SHARED`.

    Args:
        pairs: Numbers of the related pairs of each relation, the same number for a pair in either direction, R arrays
            of shape ``[P]``, none of them empty. Repeats within a relation count once.

    Returns:
        Number of the group of each relation, ``[R]``; groups are numbered from 0 in the order of their first relation.
    """
    relation = np.repeat(np.arange(len(pairs)), [len(of_relation) for of_relation in pairs])
    numbers, pair = np.unique(np.concatenate(pairs), return_inverse=True)
    cells = np.divmod(np.unique(relation * len(numbers) + pair), len(numbers))
    has_pair = coo_array((np.ones(len(cells[0])), cells), shape=(len(pairs), len(numbers))).tocsr()
    common = (has_pair @ has_pair.T).toarray()
    n_pairs = common.diagonal()
    is_joined = csr_array(common >= SHARED * np.minimum(n_pairs[:, None], n_pairs))
    return in_order_of_first(connected_components(is_joined, directed=False)[1])


def in_order_of_first(numbers: np.ndarray) -> np.ndarray:
    """Numbers replaced by 0, 1, ... in the order of their first occurrence, ``[N]``."""
    _, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place]
