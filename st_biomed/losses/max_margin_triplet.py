"""The triplet loss over all mined triplets (extra ``ablation``)."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from st_biomed.csr import expand
from st_biomed.errors import check_number
from st_biomed.losses.metric_learning import MetricLearningLoss


class MaxMarginTripletLoss(MetricLearningLoss):
    r"""A synonym should be nearer than any name of another concept by a margin (SapBERT, Table 6).

    Over the triplets of an anchor i, a mined positive p and a mined negative n of it, d the distance of unit vectors::

        max(0, d_ip - d_in + margin)

    A triplet miner with a margin at least as large drops only triplets that cost nothing, so with the default reduction
    the loss is that of the published code, which passes the mined triplets alone. Memory is that of all triplets: 512
    names with one synonym each make 261,120.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        margin: 0.05 in SapBERT's code.
        **pairs: Arguments of :class:`PairLoss`; ``reduction`` is over triplets, by default over those with a loss.

    Raises:
        InputError: pytorch-metric-learning is not installed, or an argument is out of its range.
    """

    def __init__(self, model: nn.Module | None, margin: float = 0.05, **pairs: Any) -> None:
        super().__init__(model, {"margin": check_number("margin", margin, least=0.0)}, **pairs)

    def make_formula(self, peer: ModuleType, reducer: nn.Module) -> nn.Module:
        return peer.losses.TripletMarginLoss(**self.settings, reducer=reducer)

    def loss_of_pairs(self, unit: Tensor, similarities: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        return self.formula(unit, indices_tuple=triplets(positives, negatives))

    @property
    def citation(self) -> str:
        return """
@inproceedings{schroff2015facenet,
    title = {FaceNet: A Unified Embedding for Face Recognition and Clustering},
    author = {Schroff, Florian and Kalenichenko, Dmitry and Philbin, James},
    booktitle = {IEEE Conference on Computer Vision and Pattern Recognition (CVPR)},
    pages = {815--823},
    year = {2015}
}
"""


def triplets(positives: Tensor, negatives: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Every positive of a row combined with every negative of that row.

    Args:
        positives: Boolean ``[B, B]``.
        negatives: Boolean ``[B, B]``.

    Returns:
        Anchors, positives and negatives, int64 ``[T]`` each.
    """
    anchors, partners = positives.nonzero(as_tuple=True)
    starts = nn.functional.pad(negatives.sum(1).cumsum(0), (1, 0))
    pairs, others = expand(
        starts, negatives.nonzero(as_tuple=True)[1], torch.arange(len(anchors)).to(anchors), anchors
    )
    return anchors[pairs], partners[pairs], others
