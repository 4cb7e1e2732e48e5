"""The epoch of samplers in resumed training."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments


class EpochCallback(TrainerCallback):
    """Sets the epoch of every sampler at the start of each epoch.

    The trainer does so too. But if several processes resume within an epoch, it wraps the samplers once more than it
    unwraps them. Without this callback, the next epoch would draw the batches of epoch 0 again.
    """

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        waiting = [kwargs["train_dataloader"].batch_sampler]
        while waiting:
            sampler = waiting.pop()
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(int(state.epoch or 0))
            inner = getattr(sampler, "batch_sampler", None)
            waiting += [*getattr(sampler, "batch_samplers", ()), *([] if inner is None else [inner])]
