"""What all samplers of one dataset have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, Unpack

from sentence_transformers.base import DefaultBatchSampler

if TYPE_CHECKING:
    import torch
    from datasets import Dataset


class HostArguments(TypedDict, total=False):
    """What sentence-transformers gives a sampler besides the dataset and the size; all but ``seed`` are ignored."""

    drop_last: bool
    valid_label_columns: list[str] | None
    generator: torch.Generator | None
    seed: int


class EpochBatchSampler(DefaultBatchSampler):
    """Batches that are always full, and that depend on ``seed`` and ``epoch`` alone, in every process.

    Args:
        dataset: The rows.
        batch_size: Rows of every batch.
        **host: ``seed`` (0 by default), and what is ignored, see :class:`HostArguments`.
    """

    def __init__(self, dataset: Dataset, batch_size: int, **host: Unpack[HostArguments]) -> None:
        super().__init__(dataset, batch_size, **HostArguments(drop_last=True) | host)
        self.dataset = dataset
