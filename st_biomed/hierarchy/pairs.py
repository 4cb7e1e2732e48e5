"""What a person's own function of levels or weights sees of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor

    from st_biomed.hierarchy.hierarchy import Hierarchy


class BatchPairs(NamedTuple):
    """What a level or weight function sees of a batch: A texts against B texts.

    Attributes:
        labels_a, labels_b: Text ids, ``[A]`` and ``[B]``.
        distance: Levels by the definition of the hierarchy, int8 ``[A, B]``; -1 where masked.
        depth_a, depth_b: Depth of each text's shallowest concept, ``[A]`` and ``[B]``; a root has depth 0.
        hierarchy: The hierarchy itself.
    """

    labels_a: Tensor
    labels_b: Tensor
    distance: Tensor
    depth_a: Tensor
    depth_b: Tensor
    hierarchy: Hierarchy
