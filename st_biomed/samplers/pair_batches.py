"""Batches whose size counts pairs of names, as papers do, where a sampler counts names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from st_biomed.errors import InputError, check_integer
from st_biomed.samplers.batch_factories import TrainingBatches

if TYPE_CHECKING:
    from datasets import Dataset
    from sentence_transformers.base import DefaultBatchSampler


@dataclass(frozen=True, kw_only=True)
class PairBatches(TrainingBatches):
    """Creates the sampler of other batches with as many whole groups as the pairs of a batch make.

    "A training batch size of 256" (HiPrBERT, section 4.1) are 256 pairs: 512 names of synonyms (two names and one pair
    in a group), or 12 groups of an anchor and its 20 partners (21 names and 20 pairs each).

    Attributes:
        batches: The batches, whose size counts names.
        names: Names of a group.
        pairs: Pairs of a group.

    Raises:
        InputError: ``names`` or ``pairs`` is not an integer of at least 1.
    """

    batches: TrainingBatches
    names: int = 2
    pairs: int = 1

    def __post_init__(self) -> None:
        check_integer("names", self.names)
        check_integer("pairs", self.pairs)

    @classmethod
    def of(cls, batches: TrainingBatches, *, names: int = 2, pairs: int = 1) -> PairBatches:
        """The batches of the same training dataset, whose size counts pairs."""
        return cls(rows=batches.rows, batches=batches, names=names, pairs=pairs)

    def sampler(self, dataset: Dataset, batch_size: int, seed: int) -> DefaultBatchSampler:
        """The sampler of ``batch_size`` pairs, rounded down to whole groups.

        Raises:
            InputError: Fewer pairs than those of a group, or an error of the sampler.
        """
        if batch_size < self.pairs:
            raise InputError(
                f"batch_size must hold the {self.pairs} pairs of an anchor and its partners, found {batch_size} pairs"
            )
        return self.batches.sampler(dataset, batch_size // self.pairs * self.names, seed)
