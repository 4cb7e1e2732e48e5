"""A check that the weights of the best checkpoint were loaded at the end of training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from st_biomed.encoder.digest import model_digest
from st_biomed.errors import InputError
from st_biomed.files.checkpoint_folders import checkpoint_folder


class BestWeightsCallback(TrainerCallback):
    """Raises an error if the best weights were not loaded at the end; the trainer only logs such an error.

    The digest of a checkpoint is taken when it is saved. If training resumed after the best checkpoint was saved, there is
    no digest and nothing is checked.

    It must precede callbacks that change the weights at the end, such as
    :class:`~st_biomed.training.moving_average.MovingAverageCallback`.

    Raises:
        InputError: When training begins: the resumed checkpoint names a best checkpoint that does not exist. When training
            ends: the model is not that of the best checkpoint.
    """

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """sentence-transformers forgets a best checkpoint that it does not find, such as one that was set aside, and keeps its figure."""
        if args.load_best_model_at_end and state.best_metric is not None and state.best_model_checkpoint is None:
            raise InputError(
                f"--resume_from_checkpoint {args.resume_from_checkpoint}: its best checkpoint, with "
                f"{args.metric_for_best_model} {state.best_metric:.4f}, is not where it was: rename earlier-checkpoint-N of "
                "that run to checkpoint-N, or give --load_best_model_at_end false for the last weights"
            )

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        best = Path(state.best_model_checkpoint or "").name
        if args.load_best_model_at_end and best == checkpoint_folder(args, state).name:
            self._digests = {best: model_digest(kwargs["model"])}

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        saved = self._digests.get(Path(state.best_model_checkpoint or "").name)
        if args.load_best_model_at_end and saved is not None and model_digest(kwargs["model"]) != saved:
            raise InputError(
                f"{state.best_model_checkpoint}: is the best checkpoint, and its weights were not loaded at the end of "
                "training; the error is logged above"
            )
