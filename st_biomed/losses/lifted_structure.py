"""The lifted structure loss, in memory quadratic in the batch size."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from st_biomed.errors import check_number
from st_biomed.losses.kernel import EMPTY
from st_biomed.losses.published_form import PublishedFormLoss
from st_biomed.losses.similarity import reduce_rows


class LiftedStructureLoss(PublishedFormLoss):
    r"""Compares each pair of synonyms with the negatives of both (Oh Song et al. 2016, Eq. 4; SapBERT, Table 6).

    For every mined positive pair (i, j), d the distance of unit vectors, N the mined negatives::

        1/2 max(0, log( sum_{n in N_i} exp(margin - d_in) + sum_{n in N_j} exp(margin - d_jn) ) + d_ij - positive_margin)^2

    SapBERT's code uses it as ``LiftedStructureLoss`` of pytorch-metric-learning. That implementation lists every
    positive pair with every negative pair: 14 s and 3 GB for a batch of 512 names without a miner, against 0.01 s and
    26 MB here (one core, 384 dimensions).

    With ``form="published"`` the loss is that implementation's over the list of mined triplets: a negative n of i has
    the weight ``t_in``, the number of triplets of i that contain it (``t_in exp(margin - d_in)`` in the sums), and the
    reduction is over triplets.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        margin: Distance beyond which a negative weighs less than 1; 1 in SapBERT's code.
        positive_margin: Distance at which a positive pair costs nothing; 0 in SapBERT's code.
        **pairs: Arguments of :class:`~st_biomed.losses.published_form.PublishedFormLoss`; ``reduction`` is over positive
            pairs, by default ``"mean_all"``.

    Raises:
        InputError: An argument out of its range, or a published form with another miner than one of triplets.
    """

    def __init__(
        self, model: nn.Module | None, margin: float = 1.0, positive_margin: float = 0.0, **pairs: Any
    ) -> None:
        super().__init__(model, **{"reduction": "mean_all", **pairs})
        self.margin = check_number("margin", margin, least=0.0)
        self.positive_margin = check_number("positive_margin", positive_margin, least=0.0)

    def loss_of_pairs(self, unit: Tensor, similarities: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        distances = torch.cdist(unit, unit)
        against = torch.where(negatives, self.margin - distances, EMPTY).logsumexp(1)
        anchors, partners = positives.nonzero(as_tuple=True)
        return reduce_rows(self.losses_of_positives(distances, against, anchors, partners), self.reduction)

    def published_loss(
        self, unit: Tensor, similarities: Tensor, pairs: tuple[Tensor, Tensor], counts: tuple[Tensor, Tensor]
    ) -> Tensor:
        near, far = counts
        distances = torch.cdist(unit, unit)
        weighted = far.clamp(min=1).log() + self.margin - distances
        against = torch.where(far > 0, weighted, EMPTY).logsumexp(1)
        anchors, partners = near.nonzero(as_tuple=True)
        losses = self.losses_of_positives(distances, against, anchors, partners)
        return reduce_rows(losses, self.reduction, near[anchors, partners])

    def losses_of_positives(self, distances: Tensor, against: Tensor, anchors: Tensor, partners: Tensor) -> Tensor:
        """The losses ``[M]`` of positive pairs, from the logarithm ``[B]`` of each text's sum over negatives."""
        together = torch.logaddexp(against[anchors], against[partners])
        return (together + distances[anchors, partners] - self.positive_margin).relu() ** 2 / 2

    def get_config_dict(self) -> dict[str, Any]:
        return {"margin": self.margin, "positive_margin": self.positive_margin, **super().get_config_dict()}

    @property
    def citation(self) -> str:
        return """
@inproceedings{ohsong2016lifted,
    title = {Deep Metric Learning via Lifted Structured Feature Embedding},
    author = {Oh Song, Hyun and Xiang, Yu and Jegelka, Stefanie and Savarese, Silvio},
    booktitle = {IEEE Conference on Computer Vision and Pattern Recognition (CVPR)},
    pages = {4004--4012},
    year = {2016}
}
"""
