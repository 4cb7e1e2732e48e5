"""The base of the losses whose published form is not the loss of the mined pairs."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from torch import Tensor, nn

from st_biomed.errors import InputError, check_name
from st_biomed.losses.miners import Miner, TripletMarginMiner
from st_biomed.losses.pair_loss import PairLoss
from st_biomed.losses.triplet_counts import count_triplets

FORMS = ("pairs", "published")


class PublishedFormLoss(PairLoss):
    """A :class:`PairLoss` that has a second form, with the weights of the published code.

    The code of SapBERT passes the miner's list of triplets (anchor, positive, negative) to the losses of
    pytorch-metric-learning. A pair stands in the list once for each of its triplets, and the loss weights it by that
    number. The numbers are counted here without the list. Without a miner all pairs have the weight 1.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        form: ``"pairs"``: a mined pair counts once (default). ``"published"``: as in the published code.
        **pairs: Arguments of :class:`PairLoss`. With ``form="published"`` the reduction is ``"mean_all"`` by default.

    Raises:
        InputError: An argument out of its range, or a published form with another miner than a
            :class:`~st_biomed.losses.miners.TripletMarginMiner` that mines both kinds of pairs, or ``None``.
    """

    def __init__(self, model: nn.Module | None, *, form: str = "pairs", **pairs: Any) -> None:
        published = check_name("form", form, FORMS) == "published"
        super().__init__(model, **{**({"reduction": "mean_all"} if published else {}), **pairs})
        if published:
            check_miner(self.miner)
        self.form = form

    def loss_of_batch(
        self, rows: Tensor, unit: Tensor, similarities: Tensor, positives: Tensor, negatives: Tensor
    ) -> Tensor:
        if self.form == "pairs":
            return super().loss_of_batch(rows, unit, similarities, positives, negatives)
        near, far = positives, negatives
        if isinstance(self.miner, TripletMarginMiner):
            near, far = count_triplets(self.miner, rows, similarities, positives, negatives)
        counts = near.to(similarities.dtype), far.to(similarities.dtype)
        return self.published_loss(unit, similarities, (positives, negatives), counts)

    @abstractmethod
    def published_loss(
        self, unit: Tensor, similarities: Tensor, pairs: tuple[Tensor, Tensor], counts: tuple[Tensor, Tensor]
    ) -> Tensor:
        """The loss as the published code has it.

        Args:
            unit: Rows of length one, ``[B, D]``.
            similarities: Their cosines outside the graph, ``[B, B]``.
            pairs: Positives and negatives before mining, boolean ``[B, B]`` each.
            counts: Their numbers of mined triplets, ``[B, B]`` each in the type of ``unit``; 1 for every pair without a
                miner.

        Returns:
            A scalar that is part of the graph of ``unit`` for any pairs.
        """

    def get_config_dict(self) -> dict[str, Any]:
        return {"form": self.form, **super().get_config_dict()}


def check_miner(miner: Miner | None) -> None:
    """Reject a miner whose list the published form cannot count.

    Raises:
        InputError: It is no miner of triplets, or keeps all positives.
    """
    if miner is not None and not (isinstance(miner, TripletMarginMiner) and miner.mine == "both"):
        raise InputError(f"form='published' needs a TripletMarginMiner with mine='both', or None, found {miner!r}")
