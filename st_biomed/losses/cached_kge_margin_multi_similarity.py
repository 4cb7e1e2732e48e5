"""MS loss v3 over thousands of texts in the memory of one small mini-batch."""

from __future__ import annotations

from st_biomed.losses.cached import CachedLoss
from st_biomed.losses.kge_margin_multi_similarity import KGEMarginMultiSimilarityLoss


class CachedKGEMarginMultiSimilarityLoss(CachedLoss):
    """:class:`KGEMarginMultiSimilarityLoss` over large batches: its arguments, and those of :class:`CachedLoss`."""

    loss_class = KGEMarginMultiSimilarityLoss
