"""The cosine embedding loss over mined pairs (extra ``ablation``)."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from torch import nn

from st_biomed.errors import check_number
from st_biomed.losses.metric_learning import MetricLearningLoss


class CosineLoss(MetricLearningLoss):
    r"""Moves cosines of synonyms toward 1 and cosines of other names below a margin (SapBERT, Table 6).

    The mean over mined positive pairs plus the mean over mined negative pairs, S the cosine::

        1 - S_ip        max(0, S_in - margin)

    SapBERT gives a name and a citation (Phan et al. 2019), but neither a formula nor code. This is the cosine
    embedding loss of torch, whose margin is 0.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        margin: Cosine up to which a negative pair costs nothing.
        **pairs: Arguments of :class:`PairLoss`; ``reduction`` is over positive and over negative pairs, by default
            ``"mean_all"``.

    Raises:
        InputError: pytorch-metric-learning is not installed, or an argument is out of its range.
    """

    def __init__(self, model: nn.Module | None, margin: float = 0.0, **pairs: Any) -> None:
        settings = {"margin": check_number("margin", margin, least=-1.0)}
        super().__init__(model, settings, **{"reduction": "mean_all", **pairs})

    def make_formula(self, peer: ModuleType, reducer: nn.Module) -> nn.Module:
        return peer.losses.ContrastiveLoss(
            pos_margin=1.0,
            neg_margin=self.settings["margin"],
            distance=peer.distances.CosineSimilarity(),
            reducer=reducer,
        )

    @property
    def citation(self) -> str:
        return """
@inproceedings{phan2019robust,
    title = {Robust Representation Learning of Biomedical Names},
    author = {Phan, Minh C. and Sun, Aixin and Tay, Yi},
    booktitle = {Proceedings of the 57th Annual Meeting of the Association for Computational Linguistics},
    pages = {3275--3285},
    year = {2019}
}
"""
