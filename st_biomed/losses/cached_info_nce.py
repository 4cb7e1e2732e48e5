"""InfoNCE over thousands of names in the memory of one small mini-batch."""

from __future__ import annotations

from st_biomed.losses.cached import CachedLoss
from st_biomed.losses.info_nce import InfoNCELoss


class CachedInfoNCELoss(CachedLoss):
    """:class:`InfoNCELoss` over large batches: its arguments, and those of :class:`CachedLoss`."""

    loss_class = InfoNCELoss
