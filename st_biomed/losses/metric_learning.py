"""Losses of pytorch-metric-learning on names that may have several concepts (extra ``ablation``).

The library compares labels for equality, which does not work for ambiguous names. Each of its losses also takes lists
of pairs or triplets. These lists are made here from shared concepts and filtered by the miners of this package.
"""

from __future__ import annotations

from abc import abstractmethod
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from st_biomed.csr import expand
from st_biomed.errors import InputError, check_number
from st_biomed.losses.pair_loss import PairLoss

REDUCERS = {"mean_all": "MeanReducer", "mean_nonzero": "AvgNonZeroReducer", "sum": "SumReducer"}


class MetricLearningLoss(PairLoss):
    """A :class:`PairLoss` with a formula of the library; a subclass names its settings and creates it.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        settings: The parameters of the loss by name, checked.
        **pairs: Arguments of :class:`PairLoss`.

    Raises:
        InputError: pytorch-metric-learning is not installed, or an argument is out of its range.
    """

    def __init__(self, model: nn.Module | None, settings: dict[str, float], **pairs: Any) -> None:
        super().__init__(model, **pairs)
        self.settings = settings
        peer = _metric_learning()
        self.formula: Any = self.make_formula(peer, getattr(peer.reducers, REDUCERS[self.reduction])())

    @abstractmethod
    def make_formula(self, peer: ModuleType, reducer: nn.Module) -> nn.Module:
        """The library's loss: ``formula(rows, indices_tuple=pairs)``."""

    def loss_of_pairs(self, unit: Tensor, similarities: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        listed = (*positives.nonzero(as_tuple=True), *negatives.nonzero(as_tuple=True))
        return self.formula(unit, indices_tuple=listed)

    def get_config_dict(self) -> dict[str, Any]:
        return {**self.settings, **super().get_config_dict()}


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


class CosineLoss(MetricLearningLoss):
    r"""Moves cosines of synonyms towards 1 and cosines of other names below a margin (SapBERT, Table 6).

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


def _metric_learning() -> ModuleType:
    try:
        import pytorch_metric_learning
        import pytorch_metric_learning.losses
    except ImportError as error:
        raise InputError("this loss needs pytorch-metric-learning: pip install 'st-biomed[ablation]'") from error
    return pytorch_metric_learning
