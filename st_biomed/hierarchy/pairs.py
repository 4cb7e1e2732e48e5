"""The input of custom level and weight functions for a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

    from st_biomed.hierarchy.hierarchy import Hierarchy


class BatchPairs(NamedTuple):
    """The input of a level or weight function for a batch: A texts compared with B texts.

    Attributes:
        labels_a, labels_b: Text ids, ``[A]`` and ``[B]``.
        distance: Signed integers ``[A, B]``, negative for masked pairs. A level function receives the levels by the
            definition of the hierarchy, int8 from 0 to ``hierarchy.far``. A weight function receives the levels after
            the level function, up to ``hierarchy.max_distance``; in a loss, also -1 on the diagonal and for pairs of
            different groups (its ``group_size``).
        depth_a, depth_b: Depth of each text's shallowest concept, ``[A]`` and ``[B]``; a root has depth 0.
        deepest_a, deepest_b: Depth of the deepest concept in any source of each text's concepts, ``[A]`` and ``[B]``.
        hierarchy: The hierarchy that calls the function.
    """

    labels_a: Tensor
    labels_b: Tensor
    distance: Tensor
    depth_a: Tensor
    depth_b: Tensor
    deepest_a: Tensor
    deepest_b: Tensor
    hierarchy: Hierarchy
