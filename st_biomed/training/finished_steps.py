"""Trainers that end a resumed run which has all of its steps, where transformers trains one more."""

from __future__ import annotations

from typing import Any

from sentence_transformers import SentenceTransformerTrainer


class EndsAtMaxSteps:
    """Takes no step if the checkpoint that a run resumes from has all of them, see :class:`EncoderTrainer`.

    The trainer of transformers compares the number of steps with ``max_steps`` only after a step. A run that was interrupted
    between its last step and its release would be trained further, and the last weights would be others.
    """

    state: Any
    control: Any

    def _run_epoch(self, *args: Any, **kwargs: Any) -> None:
        if self.state.global_step >= self.state.max_steps:
            self.control.should_training_stop = True
        else:
            super()._run_epoch(*args, **kwargs)  # type: ignore[misc]  # of transformers.Trainer


class EncoderTrainer(EndsAtMaxSteps, SentenceTransformerTrainer):
    """The trainer of all recipes of encoders."""
