"""The circle loss (extra ``ablation``)."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from torch import nn

from st_biomed.errors import check_number
from st_biomed.losses.metric_learning import MetricLearningLoss


class CircleLoss(MetricLearningLoss):
    r"""Weights pairs by the distance to their target similarity (Sun et al. 2020, Eq. 6; SapBERT, Table 6).

    For every text i with mined positives P and negatives N, S the cosine::

        log(1 + sum_{n in N} exp(gamma [S_in + m]+ (S_in - m)) sum_{p in P} exp(-gamma [1 + m - S_ip]+ (S_ip - 1 + m)))

    No gradient flows through the weights in brackets.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        m: Relaxation; 0.4 in SapBERT's code and for image retrieval in the paper.
        gamma: Scale; 80 there.
        **pairs: Arguments of :class:`PairLoss`; ``reduction`` is over texts, by default over those with a loss.

    Raises:
        InputError: pytorch-metric-learning is not installed, or an argument is out of its range.
    """

    def __init__(self, model: nn.Module | None, m: float = 0.4, gamma: float = 80.0, **pairs: Any) -> None:
        super().__init__(model, {"m": check_number("m", m), "gamma": check_number("gamma", gamma, above=0.0)}, **pairs)

    def make_formula(self, peer: ModuleType, reducer: nn.Module) -> nn.Module:
        return peer.losses.CircleLoss(**self.settings, reducer=reducer)

    @property
    def citation(self) -> str:
        return """
@inproceedings{sun2020circle,
    title = {Circle Loss: A Unified Perspective of Pair Similarity Optimization},
    author = {Sun, Yifan and Cheng, Changmao and Zhang, Yuhan and Zhang, Chi and Zheng, Liang and Wang, Zhongdao and Wei, Yichen},
    booktitle = {IEEE/CVF Conference on Computer Vision and Pattern Recognition (CVPR)},
    pages = {6398--6407},
    year = {2020}
}
"""
