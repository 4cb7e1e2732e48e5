"""The epoch of samplers in a training that is resumed."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments


class EpochCallback(TrainerCallback):
    """Tells every sampler its epoch at the start of each.

    The trainer does so too, but when several processes resume within an epoch it wraps the samplers once more than it
    unwraps them: without this callback the first epoch after that draws the batches of epoch 0 again.
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
