"""Arguments for the losses that the Italian paper compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from st_biomed.errors import InputError
from st_biomed.kge import KGETable
from st_biomed.kge.settings import MODEL_NAMES
from st_biomed.losses.barlow_twins import BarlowTwinsLoss
from st_biomed.losses.cached import CachedKGEMarginMultiSimilarityLoss, CachedMultiSimilarityLoss
from st_biomed.losses.kge_margin_multi_similarity import MISSING, KGEMarginMultiSimilarityLoss
from st_biomed.losses.kge_similarity import GRAPH_VECTORS
from st_biomed.losses.miners import MultiSimilarityMiner
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.settings.checks import WEIGHT, about, above, check_unused, one_of

if TYPE_CHECKING:
    from torch import nn

    from st_biomed.terminology import Terminology

ITALIAN_LOSSES = ("v1", "v2", "v3", "barlow_twins")


@dataclass
class ItalianLossArguments:
    """The loss and its parameters (sections 3.2, 4 and 5; Table 3)."""

    kge_model: str = field(
        default="complex",
        metadata=about("graph embedding for the loss and the injection (4)", one_of(*MODEL_NAMES)),
    )
    loss: str = field(
        default="v3",
        metadata=about(f"contrastive loss: {', '.join(ITALIAN_LOSSES)} (3.2, Table 3; 5)", one_of(*ITALIAN_LOSSES)),
    )
    alpha: float = field(default=2.0, metadata=about("alpha of the MS loss (4)", above(0)))
    beta: float = field(default=50.0, metadata=about("beta of the MS loss (4)", above(0)))
    epsilon: float = field(default=0.1, metadata=about("epsilon of the miner (4)", WEIGHT))
    graph_vectors: str = field(
        default="original",
        metadata=about(
            "vectors in the margin of v3: original, or a control: shuffled (exchanged among concepts at random, drawn by the "
            "seed), zeros (0 is the similarity of any two concepts with a vector)",
            one_of(*GRAPH_VECTORS),
        ),
    )
    detach_margin: bool = field(default=False, metadata={"help": "no gradient through the margin of v3"})
    missing: str = field(
        default="v2",
        metadata=about(
            "thresholds of pairs without a vector in the graph: v1, v2, or skip to leave them out", one_of(*MISSING)
        ),
    )

    def check_loss(self) -> None:
        """Reject a control of v3's margin, or a parameter, with a loss that does not have it.

        Raises:
            InputError: Such a loss.
        """
        if self.graph_vectors != "original" and self.loss != "v3":
            raise InputError(
                f"graph_vectors: {self.graph_vectors} is a control of the margin of loss v3, found loss {self.loss}"
            )
        if self.loss != "v3":
            check_unused(self, ("detach_margin", "missing"), f"loss {self.loss}")
        if self.loss == "barlow_twins":
            check_unused(self, ("alpha", "beta", "epsilon", "mini_batch_size"), "loss barlow_twins")

    def italian_loss(
        self,
        model: nn.Module,
        terminology: Terminology,
        graph: Callable[[str], Path],
        seed: int,
        *,
        mini_batch_size: int | None = None,
        gather_across_devices: bool = False,
    ) -> nn.Module:
        """The loss; contexts of one term are positives of each other.

        Args:
            graph: Finds the folder of the graph embeddings of a model, which only v3 reads.
            seed: Seed of shuffled vectors.
            mini_batch_size: Texts embedded at a time by the cached form of the loss; ``None`` for the uncached form.
                ``barlow_twins`` has no cached form.
            gather_across_devices: Whether the texts of all processes form one batch.

        Raises:
            InputError: The folder of graph embeddings cannot be read.
        """
        shared: dict[str, Any] = {"lookup": terminology, "gather_across_devices": gather_across_devices}
        if self.loss == "barlow_twins":
            return BarlowTwinsLoss(model, **shared)
        shared |= {"mask_same_text": False, "alpha": self.alpha, "beta": self.beta}
        shared["miner"] = MultiSimilarityMiner(self.epsilon)
        cached = mini_batch_size is not None
        shared |= {"mini_batch_size": mini_batch_size} if cached else {}
        if self.loss in ("v1", "v2"):
            plain = CachedMultiSimilarityLoss if cached else MultiSimilarityLoss
            return plain.from_preset(model, f"italian_{self.loss}", **shared)
        margin = CachedKGEMarginMultiSimilarityLoss if cached else KGEMarginMultiSimilarityLoss
        return margin(
            model,
            KGETable.load(graph(self.kge_model)),
            graph_vectors=self.graph_vectors,
            shuffle_seed=seed,
            detach_margin=self.detach_margin,
            missing=self.missing,
            **shared,
        )
