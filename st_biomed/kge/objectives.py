"""Training objectives of a graph embedding: pure tensor math."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


def self_adversarial(
    positives: Tensor, negatives: Tensor, *, margin: float, temperature: float, true: Tensor | None = None
) -> Tensor:
    """Self-adversarial negative sampling (Sun et al. 2019, Eq. 4 and 5), mean over the triples.

    ``-log sigmoid(margin + s) - sum_i p_i log sigmoid(-s_i - margin)`` with ``p = softmax(temperature * s_i)`` over the
    negatives of a triple, through which no gradient flows; a score s is the negative distance.

    Args:
        positives: Scores of the triples, ``[B]``.
        negatives: Scores of the negatives of each triple, ``[B, n]``.
        margin: The fixed margin, in units of the score.
        temperature: Temperature of the sampling; 0 gives all negatives equal weight.
        true: Negatives that are true triples and do not count, boolean ``[B, n]``.
    """
    positives, negatives = positives.float(), negatives.float()
    scaled = negatives.detach() * temperature
    if true is not None:
        lowest = torch.finfo(torch.float32).min / 4  # after the scaling, which would make it infinite
        negatives, scaled = negatives.masked_fill(true, lowest), scaled.masked_fill(true, lowest)
    weights = torch.softmax(scaled, dim=-1)
    of_negatives = (weights * F.logsigmoid(-negatives - margin)).sum(dim=-1)
    return -(F.logsigmoid(positives + margin) + of_negatives).mean()


def nuclear_3_norm(cubes: Sequence[Tensor]) -> Tensor:
    """N3 (Lacroix et al. 2018 and its published code): mean over the triples of the cubed moduli of their factors.

    Args:
        cubes: Cubed moduli of heads, relations and tails, ``[B, D]`` each, see
            :meth:`~st_biomed.kge.model.KGEModel.cubed_moduli`.
    """
    return torch.stack([cube.float().sum(dim=-1) for cube in cubes]).sum(dim=0).mean()
