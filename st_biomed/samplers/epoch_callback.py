"""The epoch of samplers in resumed training, and a check that they draw the training batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils.data import IterableDataset
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from st_biomed.errors import InputError
from st_biomed.samplers.batch_factories import InOrderBatchSampler


class EpochCallback(TrainerCallback):
    """Sets the epoch of every sampler at the start of each epoch.

    The trainer does so too. But if several processes resume within an epoch, it wraps the samplers once more than it
    unwraps them. Without this callback, the next epoch would draw the batches of epoch 0 again.

    Raises:
        InputError: When training begins: the training dataset is not the one that its batches were made for, so that its rows
            would be taken in order; it is an iterable dataset, which has no batch sampler; or there are prompts, and the collator
            takes none.
    """

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        dataloader = kwargs["train_dataloader"]
        prompts = getattr(args, "prompts", None)
        if prompts and not getattr(dataloader.collate_fn, "takes_prompts", True):
            raise InputError(f"prompts must be None with {type(dataloader.collate_fn).__name__}, found {prompts!r}")
        if isinstance(dataloader.dataset, IterableDataset):
            raise InputError(
                "train_dataset must have a length, as its batches do; an iterable dataset is taken in its order without them"
            )
        if any(isinstance(sampler, InOrderBatchSampler) for sampler in samplers_of(dataloader)):
            raise InputError(
                "batch_sampler: the training dataset is not the one that the batches were made for (shuffled, mapped, or a "
                "selection?): make them with of(..., dataset=train_dataset)"
            )

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        for sampler in samplers_of(kwargs["train_dataloader"]):
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(int(state.epoch or 0))


def samplers_of(dataloader: Any) -> Iterator[Any]:
    """Every batch sampler of a data loader, through all wrappers and among several datasets, outermost first."""
    waiting = [dataloader.batch_sampler]
    while waiting:
        sampler = waiting.pop(0)
        yield sampler
        inner = getattr(sampler, "batch_sampler", None)
        waiting += [*getattr(sampler, "batch_samplers", ()), *([] if inner is None else [inner])]
