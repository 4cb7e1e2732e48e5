"""The folders of the trainer's checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from st_biomed.errors import InputError

if TYPE_CHECKING:
    from transformers import TrainerState, TrainingArguments


def checkpoint_folder(args: TrainingArguments, state: TrainerState) -> Path:
    """The folder of the checkpoint of the present step."""
    return Path(str(args.output_dir)) / f"checkpoint-{state.global_step}"


def resumed_checkpoint(args: TrainingArguments, state: TrainerState) -> Path:
    """The folder that training resumes from, found by its state, because the trainer does not pass it to callbacks.

    Raises:
        InputError: Neither ``args.resume_from_checkpoint`` nor ``output_dir`` contains it.
    """
    present = _fingerprint(state.global_step, state.log_history)
    folders = [checkpoint_folder(args, state)]
    if isinstance(args.resume_from_checkpoint, str):
        folders.insert(0, Path(args.resume_from_checkpoint))
    for folder in folders:
        file = folder / "trainer_state.json"
        if file.is_file():
            saved = json.loads(file.read_text("utf-8"))
            if _fingerprint(saved["global_step"], saved["log_history"]) == present:
                return folder
    raise InputError(
        f"training resumes at step {state.global_step}, whose checkpoint is not {' or '.join(map(str, folders))}: "
        "set resume_from_checkpoint in the training arguments to its folder, for the parameters of the loss"
    )


def _fingerprint(step: int, log: list[dict[str, float]]) -> str:
    """What tells two checkpoints of one step apart; as text, since a logged nan does not equal itself."""
    return json.dumps([step, log], sort_keys=True)
