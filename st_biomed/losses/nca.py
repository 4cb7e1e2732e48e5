"""Neighborhood components analysis on the names of a batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from st_biomed.errors import check_number
from st_biomed.losses.kernel import masked_log_sum_exp
from st_biomed.losses.published_form import PublishedFormLoss
from st_biomed.losses.similarity import reduce_rows


class NCALoss(PublishedFormLoss):
    r"""Probability that a name picks a synonym as its neighbor by distance (Goldberger et al. 2005; SapBERT, Table 6).

    For every text i with mined positives P and negatives N, d the distance of unit vectors::

        -log( sum_{p in P} exp(-scale d_ip^2) / sum_{j in P + N} exp(-scale d_ij^2) )

    On the sphere ``d^2 = 2 - 2 S``: the shares are those of ``exp(2 scale S)``. Without a miner this equals
    pytorch-metric-learning's ``NCALoss``, which the published code uses. That loss supports one class per row.

    With ``form="published"`` the miner selects no pairs, as in that library: P and N are all pairs, and the loss of a
    text with positives is multiplied by the number of mined triplets that contain the text, as anchor, positive or
    negative, over the largest such number in the batch. If nothing is mined, every weight is 1.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        scale: Scale of the squared distances; 1 in SapBERT's code.
        **pairs: Arguments of :class:`~st_biomed.losses.published_form.PublishedFormLoss`; ``reduction`` is over texts, by
            default over those with a loss. In the published form it is over texts with positives.

    Raises:
        InputError: An argument out of its range, or a published form with another miner than one of triplets.
    """

    def __init__(self, model: nn.Module | None, scale: float = 1.0, **pairs: Any) -> None:
        super().__init__(model, **pairs)
        self.scale = check_number("scale", scale, above=0.0)

    def loss_of_pairs(self, unit: Tensor, similarities: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        losses = self.losses_of_rows(unit, similarities, positives, negatives)
        return reduce_rows(torch.where(positives.any(1), losses, 0), self.reduction)

    def published_loss(
        self, unit: Tensor, similarities: Tensor, pairs: tuple[Tensor, Tensor], counts: tuple[Tensor, Tensor]
    ) -> Tensor:
        losses = self.losses_of_rows(unit, similarities, *pairs)
        if self.miner is not None and len(losses):
            near, far = counts
            triplets = near.sum(1) + near.sum(0) + far.sum(0)
            losses = losses * torch.where(triplets.any(), triplets / triplets.max(), 1)
        return reduce_rows(losses[pairs[0].any(1)], self.reduction)

    def losses_of_rows(self, unit: Tensor, similarities: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """The loss of each text ``[B]``; that of a text without positives has no meaning."""
        terms = [(0, 2 * self.scale), (1, 2 * self.scale)]
        near, far = masked_log_sum_exp(unit, similarities, [positives, negatives], terms)
        return torch.logaddexp(far - near, near.new_zeros(()))

    def get_config_dict(self) -> dict[str, Any]:
        return {"scale": self.scale, **super().get_config_dict()}

    @property
    def citation(self) -> str:
        return """
@inproceedings{goldberger2005neighborhood,
    title = {Neighborhood Components Analysis},
    author = {Goldberger, Jacob and Hinton, Geoffrey and Roweis, Sam and Salakhutdinov, Ruslan},
    booktitle = {Advances in Neural Information Processing Systems},
    volume = {17},
    pages = {513--520},
    year = {2005}
}
"""
