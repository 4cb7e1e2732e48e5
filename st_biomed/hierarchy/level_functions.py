"""Distances that depend on depth: level functions for :class:`~st_biomed.hierarchy.Hierarchy`.

"Nodes closer to the root of the hierarchies represent broader concepts further apart, whereas nodes closer to the leaves
represent more specific concepts that are closer together", and "different hierarchies will naturally differ in structure
and therefore pairwise distance, so this adjustment would be hierarchy specific" (HiPrBERT, section 5: future work; the
functions are ours). Both functions split every level between 0 and the largest, ``D``, in two and keep their order: a
level ``d`` becomes ``2 d - 1`` for deep pairs and ``2 d`` for the others, and ``D`` becomes ``2 D - 1``. The depth of a
pair is that of its shallower text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from st_biomed.hierarchy.pairs import BatchPairs

if TYPE_CHECKING:
    from torch import Tensor


def by_depth(pairs: BatchPairs) -> Tensor:
    """Levels weighted by depth: a pair is deep if its depth is over half of the largest depth of all hierarchies.

    Returns:
        Levels ``0 .. 2 D - 1``, int8 ``[A, B]``; -1 for masked pairs.
    """
    return _split(pairs, 2 * _depth(pairs) > int(pairs.hierarchy.depth.max(initial=0)))


def by_hierarchy(pairs: BatchPairs) -> Tensor:
    """Levels weighted by the hierarchy: a pair is deep if its depth is over half of the depth of its own hierarchy.

    The depth of a hierarchy is that of the deepest concept of a source; of several sources of a text, the deepest counts.

    Returns:
        Levels ``0 .. 2 D - 1``, int8 ``[A, B]``; -1 for masked pairs.
    """
    import torch

    deepest = torch.maximum(pairs.deepest_a[:, None], pairs.deepest_b)
    return _split(pairs, 2 * _depth(pairs) > deepest)


LEVEL_FUNCTIONS: dict[str, Callable[[BatchPairs], Tensor]] = {"depth": by_depth, "hierarchy": by_hierarchy}
"""The functions by the names in recipes."""


def largest_split(far: int) -> int:
    """The largest level of these functions, to declare as ``max_distance``, for the largest level before them."""
    return 2 * far - 1


def _depth(pairs: BatchPairs) -> Tensor:
    """Depth of each pair ``[A, B]``."""
    import torch

    return torch.minimum(pairs.depth_a[:, None], pairs.depth_b)


def _split(pairs: BatchPairs, deep: Tensor) -> Tensor:
    """The levels of deep pairs, boolean ``[A, B]``, before those of the others."""
    import torch

    distance = pairs.distance
    related = (distance > 0) & (distance < pairs.hierarchy.far)
    levels = torch.where(related, 2 * distance - deep.to(distance.dtype), distance)
    return levels.masked_fill(distance == pairs.hierarchy.far, largest_split(pairs.hierarchy.far))
