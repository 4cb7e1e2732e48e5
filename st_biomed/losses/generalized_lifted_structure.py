"""The lifted structure loss with one term for each text (extra ``ablation``)."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from torch import nn

from st_biomed.errors import check_number
from st_biomed.losses.metric_learning import MetricLearningLoss


class GeneralizedLiftedStructureLoss(MetricLearningLoss):
    r"""The lifted structure loss with one term for each text (Hermans et al. 2017, Eq. 6).

    For every text i with mined positives P and negatives N, d the distance of unit vectors::

        max(0, log sum_{p in P} exp(d_ip - positive_margin) + log sum_{n in N} exp(margin - d_in))

    A sum over nothing counts as 1.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        margin: Distance beyond which a negative weighs less than 1.
        positive_margin: Distance beyond which a positive weighs more than 1.
        **pairs: Arguments of :class:`PairLoss`; ``reduction`` is over texts, by default ``"mean_all"``.

    Raises:
        InputError: pytorch-metric-learning is not installed, or an argument is out of its range.
    """

    def __init__(
        self, model: nn.Module | None, margin: float = 1.0, positive_margin: float = 0.0, **pairs: Any
    ) -> None:
        settings = {
            "margin": check_number("margin", margin, least=0.0),
            "positive_margin": check_number("positive_margin", positive_margin, least=0.0),
        }
        super().__init__(model, settings, **{"reduction": "mean_all", **pairs})

    def make_formula(self, peer: ModuleType, reducer: nn.Module) -> nn.Module:
        return peer.losses.GeneralizedLiftedStructureLoss(
            neg_margin=self.settings["margin"], pos_margin=self.settings["positive_margin"], reducer=reducer
        )

    @property
    def citation(self) -> str:
        return """
@misc{hermans2017defense,
    title = {In Defense of the Triplet Loss for Person Re-Identification},
    author = {Hermans, Alexander and Beyer, Lucas and Leibe, Bastian},
    year = {2017},
    eprint = {1703.07737},
    archivePrefix = {arXiv},
    primaryClass = {cs.CV}
}
"""
