"""The multi-similarity loss, and the settings of published models."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from st_biomed.errors import check_name, check_number
from st_biomed.losses.kernel import masked_log_sum_exp
from st_biomed.losses.miners import MultiSimilarityMiner, TripletMarginMiner
from st_biomed.losses.pair_loss import SAPBERT_MINER, PairLoss
from st_biomed.losses.similarity import reduce_rows

PRESETS: dict[str, dict[str, Any]] = {
    # SapBERT's code; its Eq. 2 prints alpha and beta swapped.
    "sapbert": {"alpha": 1.0, "beta": 60.0, "base": 0.5, "miner": SAPBERT_MINER, "reduction": "mean_all"},
    # CODER and CODER++.
    "coder": {"alpha": 2.0, "beta": 50.0, "base": 0.5, "miner": MultiSimilarityMiner(0.1), "reduction": "mean_all"},
    # The Italian paper's Eq. 1, and its Eq. 2 ("after setting lambda_p = 1 and lambda_n = 0.5", section 3.2).
    "italian_v1": {
        "alpha": 2.0,
        "beta": 50.0,
        "base": 0.5,
        "miner": MultiSimilarityMiner(0.1),
        "reduction": "mean_all",
    },
    "italian_v2": {
        "alpha": 2.0,
        "beta": 50.0,
        "positive_base": 1.0,
        "negative_base": 0.5,
        "miner": MultiSimilarityMiner(0.1),
        "reduction": "mean_all",
    },
    # GEBERT and BERGAMOT.
    "bergamot": {"alpha": 2.0, "beta": 50.0, "base": 0.5, "miner": SAPBERT_MINER, "reduction": "mean_all"},
    # HiPrBERT, sections 3.4 and 3.5; its "difference > 0.25" is read as: triplets not yet separated by .25.
    "hiprbert": {
        "alpha": 2.0,
        "beta": 2.0,
        "base": 0.5,
        "miner": TripletMarginMiner(margin=0.25, distance="cosine"),
        "reduction": "sum",
    },
}


class MultiSimilarityLoss(PairLoss):
    r"""Pulls the names of a concept together and pushes the mined names of other concepts away.

    For every text i with mined positives P and negatives N, S the cosine (Wang et al. 2019; SapBERT, Eq. 2)::

        1/alpha log(1 + sum_{p in P} exp(-alpha (S_ip - positive_base)))
        + 1/beta log(1 + sum_{n in N} exp(beta (S_in - negative_base)))

    Texts that share a concept are positives, texts that share none are negatives: an ambiguous text is a negative of
    none of its concepts. Without a lookup the labels are plain classes.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        alpha: Steepness for positives.
        beta: Steepness for negatives.
        base: Cosine around which both terms turn.
        positive_base: The same for positives alone; ``base`` by default.
        negative_base: The same for negatives alone; ``base`` by default.
        reduction: ``"mean_all"`` over all texts (as in other libraries), ``"mean_nonzero"`` over those with a loss,
            ``"sum"``.
        **pairs: Further arguments of :class:`~st_biomed.losses.pair_loss.PairLoss`: ``miner``, ``lookup`` and others.

    Inputs: one or more text columns; ``label`` int64 ``[B]`` or one per column ``[B, n]``: text ids or classes. The
    batches need several names of a concept: :class:`st_biomed.samplers.SynonymBatchSampler`.

    Example::

        loss = MultiSimilarityLoss.from_preset(model, "sapbert", lookup=terminology)

    Raises:
        InputError: An argument out of its range.
    """

    def __init__(
        self,
        model: nn.Module | None,
        alpha: float = 2.0,
        beta: float = 50.0,
        base: float = 0.5,
        *,
        positive_base: float | None = None,
        negative_base: float | None = None,
        reduction: str = "mean_all",
        **pairs: Any,
    ) -> None:
        super().__init__(model, reduction=reduction, **pairs)
        self.alpha = check_number("alpha", alpha, above=0.0)
        self.beta = check_number("beta", beta, above=0.0)
        self.positive_base = check_number("positive_base", base if positive_base is None else positive_base)
        self.negative_base = check_number("negative_base", base if negative_base is None else negative_base)

    @classmethod
    def from_preset(cls, model: nn.Module | None, preset: str, **overrides: Any) -> MultiSimilarityLoss:
        """The loss with the settings of a published model.

        Args:
            model: The encoder, or ``None``.
            preset: ``"sapbert"``, ``"coder"``, ``"italian_v1"``, ``"italian_v2"``, ``"bergamot"`` or ``"hiprbert"``.
            **overrides: Arguments of the class, which override the preset's.

        Raises:
            InputError: An unknown preset, or an argument out of its range.

        Example:
            >>> loss = MultiSimilarityLoss.from_preset(None, "sapbert", reduction="sum")
            >>> loss.alpha, loss.beta, loss.miner.margin, loss.reduction
            (1.0, 60.0, 0.2, 'sum')
            >>> vectors, classes = torch.eye(3)[[0, 0, 1]], torch.tensor([7, 7, 8])
            >>> round(float(loss.compute_loss_from_embeddings([vectors], classes)), 3)
            0.0
        """
        return cls(model, **{**PRESETS[check_name("preset", preset, PRESETS)], **overrides})

    def loss_of_pairs(self, unit: Tensor, similarities: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        terms = [(0, -self.alpha), (1, self.beta)]
        pull, push = masked_log_sum_exp(unit, similarities, [positives, negatives], terms)
        nothing = pull.new_zeros(())
        losses = torch.logaddexp(pull + self.alpha * self.positive_base, nothing) / self.alpha
        losses = losses + torch.logaddexp(push - self.beta * self.negative_base, nothing) / self.beta
        return reduce_rows(losses, self.reduction)

    def get_config_dict(self) -> dict[str, Any]:
        return {
            "alpha": self.alpha,
            "beta": self.beta,
            "positive_base": self.positive_base,
            "negative_base": self.negative_base,
            **super().get_config_dict(),
        }

    @property
    def citation(self) -> str:
        return """
@inproceedings{wang2019multisimilarity,
    title = {Multi-Similarity Loss with General Pair Weighting for Deep Metric Learning},
    author = {Wang, Xun and Han, Xintong and Huang, Weilin and Dong, Dengke and Scott, Matthew R.},
    booktitle = {IEEE/CVF Conference on Computer Vision and Pattern Recognition (CVPR)},
    pages = {5017--5025},
    year = {2019}
}
"""
