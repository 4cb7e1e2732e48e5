"""BioSyn's synonym marginalization on the names of a batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from st_biomed.errors import InputError, check_name, check_number
from st_biomed.losses.citations import BIOSYN
from st_biomed.losses.pair_loss import PairLoss, concept_pairs
from st_biomed.losses.similarity import (
    cosine_matrix,
    full_precision,
    join_embeddings,
    join_labels,
    nan_unless_finite,
    reduce_rows,
    unit_rows,
)

SIMILARITIES = ("dot", "cosine")


class SynonymMarginalizationLoss(PairLoss):
    r"""Probability that a mention picks one of its synonyms among candidates (BioSyn, Sung et al. 2020, section 3.3).

    For every mention m with synonyms P and other candidates N, S the inner product of the vectors::

        -log( sum_{p in P} exp(scale S_mp) / sum_{n in P + N} exp(scale S_mn) )

    The candidates of a mention are the names in the batch: those drawn for it and those drawn for the other mentions. A mention
    without a synonym in the batch has no loss. Without ``mentions`` and ``names`` every text is both.

    BioSyn adds the inner product of character n-grams with a trained weight to S. This loss has the dense part alone.

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        scale: Scale of the similarities; 1 in BioSyn. Vectors of length one need more: their inner products are at most 1.
        similarity: ``"dot"``, or ``"cosine"``.
        mentions: Whether each text id is a mention, boolean ``[T]``.
        names: Whether each text id is a name of the dictionary, boolean ``[T]``.
        **pairs: Arguments of :class:`~st_biomed.losses.pair_loss.PairLoss`. By default the miner is ``None`` and ``reduction``
            ``"mean_all"``, over the mentions with a synonym.

    Inputs: as :class:`~st_biomed.losses.pair_loss.PairLoss`. The batches need mentions with their nearest names:
    :class:`st_biomed.samplers.HardNegativeBatches` with ``prototype_sources`` and ``candidate_sources``.

    Raises:
        InputError: An argument out of its range, one of ``mentions`` and ``names`` without the other, or another length than
            that of the lookup.
    """

    mentions: Tensor | None
    names: Tensor | None

    def __init__(
        self,
        model: nn.Module | None,
        scale: float = 1.0,
        *,
        similarity: str = "dot",
        mentions: Tensor | None = None,
        names: Tensor | None = None,
        **pairs: Any,
    ) -> None:
        super().__init__(model, **{"miner": None, "reduction": "mean_all", **pairs})
        self.scale = check_number("scale", scale, above=0.0)
        self.similarity = check_name("similarity", similarity, SIMILARITIES)
        if (mentions is None) != (names is None) or (
            mentions is not None and names is not None and mentions.shape != names.shape
        ):
            raise InputError("mentions and names must be masks of the same text ids, or both None")
        for name, mask in (("mentions", mentions), ("names", names)):
            if mask is None:
                continue
            if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
                kind = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
                raise InputError(f"{name} must be a tensor of booleans, found {kind}")
            if self.lookup is not None and mask.shape != (self.lookup.n_labels,):
                raise InputError(
                    f"{name} must have an entry for each of the {self.lookup.n_labels:,} text ids of the lookup, "
                    f"found shape {list(mask.shape)}"
                )
        self.register_buffer("mentions", mentions, persistent=False)
        self.register_buffer("names", names, persistent=False)

    def compute_loss_from_embeddings(self, embeddings: list[Tensor], labels: Tensor) -> Tensor:
        rows = join_embeddings(embeddings, gather_across_devices=self.gather_across_devices, loss=self)
        labels = join_labels(labels, embeddings, gather_across_devices=self.gather_across_devices)
        with full_precision(rows):
            positives, negatives = concept_pairs(labels, self.lookup, mask_same_text=self.mask_same_text)
            if self.mentions is not None and self.names is not None:
                if self.lookup is None:
                    _check_text_ids(labels, len(self.mentions))
                candidates = self.mentions[labels][:, None] & self.names[labels]
                positives, negatives = positives & candidates, negatives & candidates
            unit = unit_rows(rows)
            cosines = cosine_matrix(unit)  # what a miner takes, whatever the similarity of the loss
            vectors = unit if self.similarity == "cosine" else rows
            return nan_unless_finite(self.loss_of_batch(rows, vectors, cosines, positives, negatives), unit)

    def loss_of_pairs(self, unit: Tensor, similarities: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        scores = self.scale * (unit @ unit.T)
        lowest = torch.finfo(scores.dtype).min / 4
        near, far = (scores.masked_fill(~pairs, lowest).logsumexp(1) for pairs in (positives, negatives))
        losses = torch.logaddexp(far - near, near.new_zeros(()))
        return reduce_rows(losses[positives.any(1)], self.reduction)

    def get_config_dict(self) -> dict[str, Any]:
        """The parameters, for cards and records."""
        numbers = {
            name: None if mask is None else int(mask.sum())
            for name, mask in (("mentions", self.mentions), ("names", self.names))
        }
        return {"scale": self.scale, "similarity": self.similarity, **numbers, **super().get_config_dict()}

    @property
    def citation(self) -> str:
        """BibTeX of the loss."""
        return BIOSYN


def _check_text_ids(labels: Tensor, number: int) -> None:
    """Raise InputError if a label is not one of this number of text ids; a lookup checks its own."""
    if len(outside := labels[(labels < 0) | (labels >= number)]):
        raise InputError(
            f"labels must be text ids from 0 to {number - 1}, as mentions and names, found {int(outside[0])}"
        )
