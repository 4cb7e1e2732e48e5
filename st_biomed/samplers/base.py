"""The base of all samplers of one dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypedDict, Unpack

from sentence_transformers.base import DefaultBatchSampler

from st_biomed.errors import InputError, check_integer

if TYPE_CHECKING:
    import torch
    from datasets import Dataset


class SamplerArguments(TypedDict, total=False):
    """Arguments that sentence-transformers passes to a sampler besides dataset and size; only ``seed`` is used."""

    drop_last: bool
    valid_label_columns: list[str] | None
    generator: torch.Generator | None
    seed: int


class EpochBatchSampler(DefaultBatchSampler):
    """Full batches that depend only on ``seed`` and ``epoch``, in every process.

    Args:
        dataset: The rows.
        batch_size: Rows of every batch.
        **sampler_arguments: ``seed`` (0 by default) and ignored arguments, see :class:`SamplerArguments`.

    Raises:
        InputError: A seed that is no integer from 0.
    """

    def __init__(self, dataset: Dataset, batch_size: int, **sampler_arguments: Unpack[SamplerArguments]) -> None:
        super().__init__(dataset, batch_size, **SamplerArguments(drop_last=True) | sampler_arguments)
        check_integer("seed", self.seed, least=0)
        self.dataset = dataset

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse to be a factory: sentence-transformers would take an object that it cannot call for its default batches of one.

        Raises:
            InputError: Always.
        """
        raise InputError(
            f"batch_sampler: found a {type(self).__name__}; give the training arguments an object that makes one, such as "
            "SynonymBatches.of(terminology)"
        )
