"""Arguments for the ordinal loss of a recipe."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from st_biomed.losses.cached import CachedOrdinalMultiSimilarityLoss, cached_if
from st_biomed.losses.ordinal_multi_similarity import FORMS, SIMILARITIES, OrdinalMultiSimilarityLoss
from st_biomed.losses.similarity import REDUCTIONS
from st_biomed.settings.checks import COUNT, WEIGHT, about, above, one_of

if TYPE_CHECKING:
    from torch import nn

    from st_biomed.hierarchy import Hierarchy


@dataclass
class OrdinalArguments:
    """The arguments of :class:`~st_biomed.losses.OrdinalMultiSimilarityLoss` (HiPrBERT, section 3.5)."""

    alpha: list[float] = field(
        default_factory=lambda: [2.0],
        metadata=about("alpha of the ordinal loss, for the near side (3.5); one number, or one per cut", above(0)),
    )
    beta: list[float] = field(
        default_factory=lambda: [2.0],
        metadata=about("beta of the ordinal loss, for the far side (3.5); one number, or one per cut", above(0)),
    )
    base: list[float] = field(
        default_factory=lambda: [0.5],
        metadata={"help": "base of the ordinal loss, lambda (3.5); one number, or one per cut"},
    )
    cut_weights: list[float] = field(
        default_factory=list, metadata=about("weight of each cut; all equal by default", WEIGHT)
    )
    form: str = field(
        default="ordinal",
        metadata=about("form of the loss: ordinal (3.5), or pairwise_mean (the published code)", one_of(*FORMS)),
    )
    similarity: str = field(
        default="cosine",
        metadata=about(
            "similarity: cosine (3.3), or half for (cos + 1) / 2 (the published code)", one_of(*SIMILARITIES)
        ),
    )
    reduction: str = field(default="sum", metadata=about("reduction over anchors (3.5: a sum)", one_of(*REDUCTIONS)))
    group_size: int | None = field(
        default=None,
        metadata=about("rows of the group within which an anchor is compared; the whole batch by default", COUNT),
    )

    def ordinal_loss(
        self,
        model: nn.Module,
        hierarchy: Hierarchy,
        *,
        mini_batch_size: int | None = None,
        gather_across_devices: bool = False,
    ) -> nn.Module:
        """The loss; a single number applies to every cut.

        Args:
            hierarchy: The distances of the labels.
            mini_batch_size: Texts embedded at a time by the cached loss; not cached by default.
            gather_across_devices: Whether the texts of all processes form one batch.
        """
        return cached_if(mini_batch_size, OrdinalMultiSimilarityLoss, CachedOrdinalMultiSimilarityLoss)(
            model,
            hierarchy,
            **{name: _one_or_each(getattr(self, name)) for name in ("alpha", "beta", "base")},
            cut_weights=self.cut_weights or None,
            form=self.form,
            reduction=self.reduction,
            similarity=self.similarity,
            group_size=self.group_size,
            gather_across_devices=gather_across_devices,
        )


def _one_or_each(values: list[float]) -> float | list[float]:
    return values[0] if len(values) == 1 else values
