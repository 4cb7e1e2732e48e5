"""Rows in random order, for datasets without constraints on batches (relation pairs)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import numpy as np

from st_biomed.errors import InputError
from st_biomed.samplers.base import EpochBatchSampler, SamplerArguments
from st_biomed.samplers.batch_factories import TrainingBatches, dataset_digest

if TYPE_CHECKING:
    from datasets import Dataset


class ShuffledBatchSampler(EpochBatchSampler):
    """All rows once per epoch in random order, except for a remainder smaller than a batch.

    Args:
        batch_size: Rows of every batch.
        **sampler_arguments: See :class:`~st_biomed.samplers.base.EpochBatchSampler`.

    Raises:
        InputError: The dataset does not fill one batch.
    """

    def __init__(self, dataset: Dataset, batch_size: int, **sampler_arguments: Unpack[SamplerArguments]) -> None:
        super().__init__(dataset, batch_size, **sampler_arguments)
        if len(dataset) < batch_size:
            raise InputError(f"batch_size {batch_size} is too large: the dataset has {len(dataset)} rows")

    def __iter__(self) -> Iterator[list[int]]:
        order = np.random.default_rng([self.seed, self.epoch]).permutation(len(self.dataset))
        for i in range(len(self)):
            yield order[i * self.batch_size : (i + 1) * self.batch_size].tolist()

    def __len__(self) -> int:
        return len(self.dataset) // self.batch_size


@dataclass(frozen=True, kw_only=True)
class ShuffledBatches(TrainingBatches):
    """Creates a :class:`ShuffledBatchSampler`; see :class:`~st_biomed.samplers.batch_factories.TrainingBatches`."""

    @classmethod
    def of(cls, dataset: Dataset) -> ShuffledBatches:
        """The batches of a training dataset.

        Raises:
            InputError: It is no ``Dataset``.
        """
        return cls(rows=dataset_digest(dataset))

    def sampler(self, dataset: Dataset, batch_size: int, seed: int) -> ShuffledBatchSampler:
        return ShuffledBatchSampler(dataset, batch_size, seed=seed)
