"""How many batches each part of a mixed training has, printed when training begins and kept in the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from st_biomed.release.run_record import RunRecord
from st_biomed.samplers import RankAlignedBatchSampler
from st_biomed.samplers.epoch_callback import samplers_of


class BatchesOfPartsCallback(TrainerCallback):
    """Prints and records the number of batches of each part in an epoch.

    Training takes the batches of an epoch in random order, so that their share is the part's expected share of the steps.
    Batches that another sampler mixes are not counted.

    Args:
        record: The record of the training.
        parts: Names of the parts, in the order of the trainer's datasets.
    """

    def __init__(self, record: RunRecord, parts: Sequence[str]) -> None:
        self.record, self.parts = record, list(parts)

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        for sampler in samplers_of(kwargs["train_dataloader"]):
            if isinstance(sampler, RankAlignedBatchSampler):
                batches = dict(zip(self.parts, sampler.batches.tolist(), strict=True))
                self.record.add_batches(batches)
                if args.should_log:
                    total = sum(batches.values())
                    shares = (f"{part} {n:,} ({n / total:.0%})" for part, n in batches.items())
                    print(f"batches of an epoch: {', '.join(shares)}", flush=True)
