"""Arguments for the multi-similarity losses of a recipe."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from st_biomed.errors import InputError, check_name
from st_biomed.losses.cached import CachedMultiSimilarityLoss, cached_if
from st_biomed.losses.miners import MINED, MODES, TripletMarginMiner
from st_biomed.losses.multi_similarity import PRESETS, MultiSimilarityLoss
from st_biomed.settings.checks import WEIGHT, about, one_of

if TYPE_CHECKING:
    from torch import nn

    from st_biomed.terminology import Terminology
    from st_biomed.training_data import RelationLookup


@dataclass
class MultiSimilarityArguments:
    """Presets for synonyms and relations, and changes of their miner."""

    synonym_preset: str = field(
        default="hiprbert",
        metadata=about("multi-similarity preset for synonyms (3.5)", one_of(*PRESETS, called="preset")),
    )
    relation_preset: str = field(
        default="hiprbert",
        metadata=about("multi-similarity preset for relations (3.5)", one_of(*PRESETS, called="preset")),
    )
    margin: float | None = field(
        default=None, metadata=about("margin of the triplet miner; the preset's by default", WEIGHT)
    )
    mining: str | None = field(
        default=None,
        metadata=about(
            "triplets to keep: all, hard, semihard, easy or violate; the preset's by default", one_of(*MODES)
        ),
    )
    mine: str | None = field(
        default=None,
        metadata=about(
            "pairs to mine: both, or negatives, which keeps every positive (3.5); the preset's by default",
            one_of(*MINED),
        ),
    )

    def check_presets(self) -> None:
        """Reject changes of the triplet miner for a preset with another miner.

        Raises:
            InputError: A preset has another miner.
        """
        changed = [name for name in ("margin", "mining", "mine") if getattr(self, name) is not None]
        for option in ("synonym_preset", "relation_preset"):
            miner = PRESETS[check_name("preset", getattr(self, option), PRESETS)]["miner"]
            if changed and not isinstance(miner, TripletMarginMiner):
                raise InputError(
                    f"{changed[0]}: is of the triplet miner, and {option} {getattr(self, option)} has a "
                    f"{type(miner).__name__}"
                )

    def multi_similarity(
        self,
        model: nn.Module,
        preset: str,
        lookup: Terminology | RelationLookup,
        *,
        mini_batch_size: int | None = None,
        gather_across_devices: bool = False,
    ) -> nn.Module:
        """The loss of the preset, changed by the arguments.

        Args:
            preset: A key of :data:`~st_biomed.losses.multi_similarity.PRESETS`.
            lookup: Determines the labels that belong together.
            mini_batch_size: Texts embedded at a time by the cached loss; not cached by default.
            gather_across_devices: Whether the texts of all processes form one batch.

        Raises:
            InputError: As in :meth:`check_presets`, or an unknown preset.
        """
        self.check_presets()
        check_name("preset", preset, PRESETS)
        options: dict[str, Any] = {"lookup": lookup, "gather_across_devices": gather_across_devices}
        if (self.margin, self.mining, self.mine) != (None, None, None):
            changes = {"margin": self.margin, "mode": self.mining, "mine": self.mine}
            changes = {name: value for name, value in changes.items() if value is not None}
            options["miner"] = replace(PRESETS[preset]["miner"], **changes)
        plain, cached = MultiSimilarityLoss.from_preset, CachedMultiSimilarityLoss.from_preset
        return cached_if(mini_batch_size, plain, cached)(model, preset, **options)
