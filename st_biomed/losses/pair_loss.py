"""The base of losses on the pairs of a batch: pairing of names, mining, gathering, and their arguments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from st_biomed.errors import InputError, check_name
from st_biomed.losses.lookup import concept_lookup, warn_of_single_classes
from st_biomed.losses.miners import Miner, TripletMarginMiner
from st_biomed.losses.similarity import (
    REDUCTIONS,
    cosine_matrix,
    full_precision,
    join_embeddings,
    join_labels,
    nan_unless_finite,
    unit_rows,
)

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology
    from st_biomed.terminology.lookup import ConceptLookup

SAPBERT_MINER = TripletMarginMiner(margin=0.2)
"""The miner of SapBERT's comparison of losses ("online mining is switched on for all models here", appendix B.1)."""


class PairLoss(nn.Module, ABC):
    """A loss on the cosines or distances of the positive and negative pairs of a batch; a subclass defines the
    formula.

    Texts that share a concept are positives, texts that share none are negatives: an ambiguous text is a negative of
    none of its concepts. Pairs that the lookup calls neither are ignored. Without a lookup the labels are plain
    classes. A mined pair counts once, regardless of the number of its triplets; the published code of SapBERT passes
    lists of triplets and counts the pair once for each
    (:class:`~st_biomed.losses.published_form.PublishedFormLoss`).

    Args:
        model: The encoder; ``None`` if only :meth:`compute_loss_from_embeddings` is called.
        miner: An object of :mod:`st_biomed.losses.miners`; ``None`` for all pairs.
        reduction: ``"mean_all"``, ``"mean_nonzero"`` or ``"sum"`` over the single losses.
        gather_across_devices: Whether the texts of all processes form one batch.
        lookup: A terminology, or a lookup made from one, if the labels are its text ids; a
            :class:`~st_biomed.terminology.definition_lookup.DefinitionLookup` if they stand for definitions, too.
        mask_same_text: Whether to ignore pairs of identical strings. Otherwise they are positive pairs.
            Needs a lookup.

    Inputs: one or more text columns; ``label`` int64 ``[B]`` or one per column ``[B, n]``: text ids or classes. The
    batches need several names of a concept: :class:`st_biomed.samplers.SynonymBatchSampler`.

    Raises:
        InputError: An argument out of its range.
    """

    def __init__(
        self,
        model: nn.Module | None,
        *,
        miner: Miner | None = SAPBERT_MINER,
        reduction: str = "mean_nonzero",
        gather_across_devices: bool = False,
        lookup: ConceptLookup | Terminology | None = None,
        mask_same_text: bool = True,
    ) -> None:
        super().__init__()
        if miner is not None and not isinstance(miner, Miner):
            raise InputError(f"miner must be an object such as TripletMarginMiner(0.2), or None, found {miner!r}")
        self.model: Any = model
        self.miner = miner
        self.reduction = check_name("reduction", reduction, REDUCTIONS)
        self.gather_across_devices = gather_across_devices
        self.lookup = concept_lookup(lookup)
        self.mask_same_text = mask_same_text

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        from st_biomed.losses.embed import embed_columns

        return self.compute_loss_from_embeddings(embed_columns(self.model, sentence_features), labels)

    def compute_loss_from_embeddings(self, embeddings: list[Tensor], labels: Tensor) -> Tensor:
        """The loss of a batch.

        Args:
            embeddings: One ``[B, D]`` per text column.
            labels: Text ids, or classes without a lookup: ``[B]``, or ``[B, n]`` for n columns.

        Returns:
            A scalar, differentiable once; NaN if an embedding is not finite.
        """
        rows = join_embeddings(embeddings, gather_across_devices=self.gather_across_devices, loss=self)
        labels = join_labels(labels, embeddings, gather_across_devices=self.gather_across_devices)
        if self.lookup is None:
            warn_of_single_classes(self, labels)
        with full_precision(rows):
            unit = unit_rows(rows)
            similarities = cosine_matrix(unit)
            positives, negatives = concept_pairs(labels, self.lookup, mask_same_text=self.mask_same_text)
            loss = self.loss_of_batch(rows, unit, similarities, positives, negatives)
            return nan_unless_finite(loss, unit)

    def loss_of_batch(
        self, rows: Tensor, unit: Tensor, similarities: Tensor, positives: Tensor, negatives: Tensor
    ) -> Tensor:
        """Mining, then :meth:`loss_of_pairs`.

        Args:
            rows: Embeddings as returned by the model, ``[B, D]``.
            unit: The same of length one, ``[B, D]``.
            similarities: Their cosines outside the graph, ``[B, B]``.
            positives: Pairs of one concept before mining, boolean ``[B, B]``, without the diagonal.
            negatives: Pairs without a common concept before mining, boolean ``[B, B]``.
        """
        if self.miner is not None:
            positives, negatives = self.miner(rows, similarities, positives, negatives)
        return self.loss_of_pairs(unit, similarities, positives, negatives)

    @abstractmethod
    def loss_of_pairs(self, unit: Tensor, similarities: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """The loss of the mined pairs.

        Args:
            unit: Rows of length one, ``[B, D]``.
            similarities: Their cosines outside the graph, ``[B, B]``.
            positives: Pairs of one concept, boolean ``[B, B]``, without the diagonal.
            negatives: Pairs without a common concept, boolean ``[B, B]``.

        Returns:
            A scalar that is part of the graph of ``unit`` for any masks.
        """

    def get_config_dict(self) -> dict[str, Any]:
        """The parameters, for cards and records."""
        return {
            "miner": None if self.miner is None else self.miner.get_config_dict(),
            "reduction": self.reduction,
            "gather_across_devices": self.gather_across_devices,
            **({"terminology": None} if self.lookup is None else self.lookup.get_config_dict()),
            "mask_same_text": self.mask_same_text,
        }

    @property
    @abstractmethod
    def citation(self) -> str:
        """BibTeX of the loss."""


@torch.no_grad()
def concept_pairs(labels: Tensor, lookup: ConceptLookup | None, *, mask_same_text: bool) -> tuple[Tensor, Tensor]:
    """Positive and negative pairs of a batch, boolean ``[B, B]`` each; some pairs may be neither.

    Args:
        labels: Text ids, or classes without a lookup, ``[B]``.
        lookup: The lookup of the concepts of text ids.
        mask_same_text: Whether to leave out pairs of identical strings.

    Raises:
        InputError: Labels that are not text ids of the lookup.
    """
    if lookup is None:
        same = labels[:, None] == labels[None, :]
    else:
        lookup.check(labels)
        same = lookup.same_concept(labels, labels)
    negatives = ~same
    positives = same.fill_diagonal_(False)
    if lookup is not None:
        if mask_same_text:
            positives &= ~lookup.same_text(labels, labels)
        if (ignored_pairs := lookup.ignored_pairs(labels, labels)) is not None:
            negatives &= ~ignored_pairs
    return positives, negatives


def mean_over_partners(values: Tensor, anchors: Tensor, n_rows: int) -> Tensor:
    """The mean over the pairs of each anchor, 0 for an anchor without pairs.

    Args:
        values: Values of the pairs, ``[M]``.
        anchors: Row of each pair, ``[M]``.
        n_rows: B.

    Returns:
        ``[B]``.
    """
    totals = values.new_zeros(n_rows).index_add(0, anchors, values)
    return totals / torch.bincount(anchors, minlength=n_rows).clamp(min=1)
