"""Trainers that end a resumed run which has all of its steps, where transformers trains one more."""

from __future__ import annotations

from typing import Any

from sentence_transformers import SentenceTransformerTrainer

from st_biomed.errors import InputError


class EndsAtMaxSteps:
    """Takes no step if the checkpoint that a run resumes from has all of them, see :class:`EncoderTrainer`.

    The trainer of transformers compares the number of steps with ``max_steps`` only after a step. A run that was interrupted
    between its last step and its release would be trained further, and the last weights would be others.

    Raises:
        InputError: In training, a checkpoint with more steps than the run has.
    """

    state: Any
    control: Any

    def _run_epoch(self, *args: Any, **kwargs: Any) -> None:
        if self.state.global_step > self.state.max_steps:
            raise InputError(
                f"resume_from_checkpoint: the checkpoint has {self.state.global_step:,} steps, this run {self.state.max_steps:,}; "
                "a resumed run may be longer, not shorter"
            )
        if self.state.global_step == self.state.max_steps:
            self.control.should_training_stop = True
        else:
            super()._run_epoch(*args, **kwargs)  # type: ignore[misc]  # of transformers.Trainer


class EncoderTrainer(EndsAtMaxSteps, SentenceTransformerTrainer):
    """The trainer of all recipes of encoders."""
