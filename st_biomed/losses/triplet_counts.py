"""Numbers of mined triplets that a pair takes part in, without a list of triplets."""

from __future__ import annotations

import torch
from torch import Tensor

from st_biomed.losses.miners import DISTANCES, TripletMarginMiner


@torch.no_grad()
def count_triplets(
    miner: TripletMarginMiner, embeddings: Tensor, similarities: Tensor, positives: Tensor, negatives: Tensor
) -> tuple[Tensor, Tensor]:
    """How many triplets (anchor, positive, negative) of the miner contain each pair.

    By binary search in the sorted distances of each row: time O(B^2 log B), memory O(B^2).

    Args:
        miner: The miner; its ``mine`` is not read.
        embeddings: Rows as returned by the model, ``[B, D]``.
        similarities: Their cosines, ``[B, B]``.
        positives: Pairs of one concept, boolean ``[B, B]``, without the diagonal.
        negatives: Pairs without a common concept, boolean ``[B, B]``.

    Returns:
        For the pairs (anchor, positive) and for the pairs (anchor, negative), int64 ``[B, B]`` each; both have the same
        sum in each row, the number of the anchor's triplets.

    Example:
        >>> names = torch.tensor([[1.0, 0.0], [0.8, 0.6], [0.6, 0.8], [0.0, 1.0]])  # two of one concept, two others
        >>> same = torch.zeros(4, 4, dtype=torch.bool)
        >>> same[0, 1] = same[1, 0] = True
        >>> others = ~same & ~torch.eye(4, dtype=torch.bool)
        >>> near, far = count_triplets(TripletMarginMiner(0.3), names, names @ names.T, same, others)
        >>> near[:2].tolist(), far[:2].tolist()
        ([[0, 1, 0, 0], [2, 0, 0, 0]], [[0, 0, 1, 0], [0, 0, 1, 1]])
    """
    norms = embeddings.norm(dim=1)
    distances = DISTANCES[miner.distance](similarities, norms[:, None], norms[None, :])
    of_negatives = distances.masked_fill(~negatives, torch.inf).sort(1).values
    of_positives = distances.masked_fill(~positives, -torch.inf).sort(1).values

    def within(most: float) -> tuple[Tensor, Tensor]:
        """The triplets with ``d(anchor, negative) <= d(anchor, positive) + most``."""
        nearer = torch.searchsorted(of_negatives, distances + most, right=True)
        below = torch.searchsorted(of_positives + most, distances)
        return nearer * positives, (len(distances) - below) * negatives

    if miner.mode == "all":
        return within(miner.margin)
    if miner.mode == "hard":
        return within(0.0)
    if miner.mode == "violate":
        return within(-miner.margin)
    every = negatives.sum(1, keepdim=True) * positives, positives.sum(1, keepdim=True) * negatives
    upper, lower = (within(miner.margin), within(0.0)) if miner.mode == "semihard" else (every, within(miner.margin))
    return upper[0] - lower[0], upper[1] - lower[1]
