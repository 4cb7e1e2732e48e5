"""Batches of several datasets in one run, all processes on the same dataset at the same step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
from sentence_transformers.base import MultiDatasetDefaultBatchSampler
from sentence_transformers.util import get_world_size
from torch.utils.data import BatchSampler, SequentialSampler

from st_biomed.errors import InputError, check_integer, check_number

if TYPE_CHECKING:
    import torch
    from torch.utils.data import ConcatDataset


class RankAlignedBatchSampler(MultiDatasetDefaultBatchSampler):
    """Random order of blocks of ``world_size`` batches, each block from one dataset.

    Batches are dealt to the processes in turn, so every process gets one batch of a block. A loss that gathers from
    all processes needs them on the same dataset. With temperature T, a dataset of n blocks gets a share of the total
    number of blocks proportional to ``n ** (1 / T)``, and at least one block. T = 1 uses every batch once. Larger
    values favor small datasets, up to equal shares; small datasets are then repeated with new batches. With shares, each
    dataset gets its share of all blocks. A short last block is filled from the start of the dataset. Datasets may have
    batches of different sizes; ``batch_size`` is then ``None``. Datasets whose batches are all in order, as in
    evaluation, are never reweighted.

    Args:
        dataset: The concatenated datasets.
        generator: The generator of the batches of each dataset, if they need one; it is seeded for each pass over a dataset, so an
            epoch depends only on ``seed`` and ``epoch``, in every process.
        temperature: T, at least 1.
        shares: A number above 0 for each dataset, in their order, in place of a temperature; they need not add up to 1.

    Raises:
        InputError: A seed that is no integer from 0, a temperature below 1, shares with a temperature, another number of
            shares, nothing to mix, or one dataset object under two names (sentence-transformers has then given both the same name).
    """

    def __init__(
        self,
        dataset: ConcatDataset,
        batch_samplers: list[BatchSampler],
        generator: torch.Generator | None = None,
        seed: int = 0,
        *,
        temperature: float = 1.0,
        shares: Sequence[float] = (),
    ) -> None:
        check_integer("seed", seed, least=0)
        check_number("temperature", temperature, least=1.0)
        if shares and (temperature != 1 or len(shares) != len(batch_samplers) or not _positive(shares)):
            raise InputError(
                f"shares must be {len(batch_samplers)} numbers above 0, one for each dataset, without a temperature; "
                f"found {list(shares)} and temperature {temperature}"
            )
        if len({id(part) for part in dataset.datasets}) < len(dataset.datasets):
            raise InputError("two names share one dataset object: make one for each, e.g. call names_dataset twice")
        super().__init__(dataset, batch_samplers, generator, seed)
        self.world_size = get_world_size()
        if all(isinstance(sampler.sampler, SequentialSampler) for sampler in batch_samplers):
            temperature, shares = 1.0, ()
        batches = np.array([len(sampler) for sampler in batch_samplers])
        if not batches.any():
            raise InputError(f"nothing to mix: none of {len(batches)} datasets fills a batch of {self.batch_size}")
        if len({sampler.batch_size for sampler in batch_samplers}) > 1:
            self.batch_size = None  # type: ignore[assignment]  # accelerate leaves out batches of a size that is not stated
        blocks = -(-batches // self.world_size)
        weights = np.array(shares) if shares else blocks ** (1 / temperature)
        self.blocks = blocks if temperature == 1 and not shares else _shared_out(blocks, weights)
        self._passes = -(-self.batches // np.maximum(batches, 1))

    @property
    def batches(self) -> np.ndarray:
        """(datasets,) number of batches of each dataset in an epoch, of all processes together."""
        return self.blocks * self.world_size

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng([self.seed, self.epoch])
        streams = [self._stream(i, self.epoch * int(passes)) for i, passes in enumerate(self._passes)]
        for i in rng.permutation(np.repeat(np.arange(len(self.blocks)), self.blocks)).tolist():
            for _ in range(self.world_size):
                yield next(streams[i])

    def _stream(self, i: int, epoch: int) -> Iterator[list[int]]:
        """Batches of one dataset without end, each pass an epoch of its own sampler."""
        start = self.dataset.cumulative_sizes[i - 1] if i else 0
        sampler = self.batch_samplers[i]
        for epoch_number in count(epoch):
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(epoch_number)
            if self.generator is not None:
                number = np.random.SeedSequence([self.seed, i, epoch_number]).generate_state(1)
                self.generator.manual_seed(int(number[0]))
            batch = None
            for batch in sampler:
                yield [row + start for row in batch]
            if batch is None:
                raise InputError(
                    f"dataset {i + 1} of {len(self.batch_samplers)}: its {type(sampler).__name__} makes no batch of "
                    f"{sampler.batch_size} rows; use smaller batches or more different rows"
                )

    def __len__(self) -> int:
        return int(self.batches.sum())


@dataclass(frozen=True)
class RankAlignedMixing:
    """The callable for ``multi_dataset_batch_sampler`` of the training arguments.

    Attributes:
        temperature, shares: See :class:`RankAlignedBatchSampler`.

    Raises:
        InputError: A temperature below 1, shares that are not above 0, or both.
    """

    temperature: float = 1.0
    shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_number("temperature", self.temperature, least=1.0)
        if not isinstance(self.shares, (tuple, list)) or not _positive(self.shares):
            raise InputError(f"shares must be numbers above 0, one for each dataset, found {self.shares!r}")
        if self.shares and self.temperature != 1:
            raise InputError(f"temperature must be 1 with shares, found {self.temperature}")

    def __call__(
        self,
        dataset: ConcatDataset,
        batch_samplers: list[BatchSampler],
        generator: torch.Generator | None = None,
        seed: int = 0,
    ) -> RankAlignedBatchSampler:
        """sentence-transformers' interface for a callable ``multi_dataset_batch_sampler``."""
        return RankAlignedBatchSampler(
            dataset, batch_samplers, generator, seed, temperature=self.temperature, shares=self.shares
        )


def _positive(shares: Sequence[float]) -> bool:
    return all(isinstance(share, (int, float)) and 0 < share < math.inf for share in shares)


def _shared_out(blocks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """As many blocks as there are, shared out by the weights of the datasets with largest remainders.

    A dataset with a block has at least one; where small datasets need that, there are more blocks than before.
    """
    weight = np.where(blocks > 0, weights, 0.0)
    exact = weight / weight.sum() * blocks.sum()
    shares = np.where(blocks > 0, np.maximum(1, np.floor(exact)), 0).astype(np.int64)
    short = int(blocks.sum() - shares.sum())
    if short > 0:
        shares[np.argsort(np.floor(exact) - exact, kind="stable")[:short]] += 1
    return shares
