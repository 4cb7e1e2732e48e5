"""Checkpoints that are whole, or are known not to be: which one training may go on from, and which ones may go.

The trainer writes a checkpoint file by file, callbacks add theirs, and a process that is killed in between leaves a part of
one. The last file that is written is therefore a list of all the others, with sizes and checksums. A checkpoint without it,
or with other files than it says, is passed over; older ones are removed when it stands, and not before.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import torch.distributed as dist
from sentence_transformers.util import get_world_size
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from st_biomed.errors import InputError
from st_biomed.files import synchronize
from st_biomed.files.sealed import Seal

FILES = "checkpoint_files.json"
"""In a checkpoint: every other file with its size and checksum."""

_SEAL = Seal(FILES, format=1, made_by="a recipe's training", remedy="the checkpoint is not whole")

_NAME = re.compile(r"checkpoint-(\d+)")
_SET_ASIDE = re.compile(r"earlier-checkpoint-\d+(-\d+)?")


def checkpoints_in(work: Path) -> list[Path]:
    """The checkpoints in a folder by their steps, whole or not."""
    folders = [path for path in work.glob("checkpoint-*") if path.is_dir() and _NAME.fullmatch(path.name)]
    return sorted(folders, key=step_of)


def step_of(checkpoint: Path) -> int:
    """Training steps before a checkpoint, by its name; 0 for another name."""
    found = _NAME.search(checkpoint.name)
    return int(found[1]) if found else 0


def seal(checkpoint: Path) -> None:
    """List the files of a checkpoint that has been written, which makes it whole."""
    (checkpoint / FILES).unlink(missing_ok=True)
    synchronize(checkpoint)
    paths = sorted(path for path in checkpoint.rglob("*") if path.is_file())
    _SEAL.write(checkpoint, {}, [path.relative_to(checkpoint).as_posix() for path in paths])
    synchronize(checkpoint)


def damage(checkpoint: Path) -> str:
    """What is wrong with a checkpoint, which file and in words; empty where it is whole."""
    if not (checkpoint / FILES).is_file():
        return f"{checkpoint / FILES}: is missing, it is written last; {_SEAL.remedy}"
    try:
        sealed = _SEAL.read(checkpoint)
        _SEAL.check(checkpoint, sealed, ["trainer_state.json", *sealed["files"]])
    except InputError as error:
        return str(error)
    except OSError as error:  # it is removed or set aside in this moment
        return f"{checkpoint}: cannot be read ({error.strerror}); {_SEAL.remedy}"
    return ""


def last_whole(work: Path) -> tuple[Path | None, dict[str, str]]:
    """The last checkpoint that training can go on from, and what is wrong with those after it, by name."""
    passed: dict[str, str] = {}
    for checkpoint in reversed(checkpoints_in(work)):
        if not (wrong := damage(checkpoint)):
            return checkpoint, passed
        passed[checkpoint.name] = wrong
    return None, passed


def set_aside(work: Path, *, after: int = -1) -> list[Path]:
    """Give checkpoints another name, under which they wait until the run that begins has one of its own.

    Args:
        work: The folder of checkpoints.
        after: Those of later steps than this; all by default.

    Returns:
        What they are called now.
    """
    moved = []
    for checkpoint in checkpoints_in(work):
        if step_of(checkpoint) > after:
            new, number = work / f"earlier-{checkpoint.name}", 2
            while new.exists():
                new, number = work / f"earlier-{checkpoint.name}-{number}", number + 1
            moved.append(checkpoint.rename(new))
    return moved


def drop_set_aside(work: Path) -> None:
    """Remove what :func:`set_aside` kept: something new stands."""
    for path in work.glob("earlier-checkpoint-*"):
        if _SET_ASIDE.fullmatch(path.name):
            shutil.rmtree(path)


def whole_checkpoints(*callbacks: TrainerCallback) -> list[TrainerCallback]:
    """A trainer's callbacks, and around them what makes its checkpoints whole.

    Args:
        *callbacks: The others; what they write into a checkpoint is part of it.
    """
    limit = _Limit()
    return [limit, *callbacks, _WholeCheckpoints(limit)]


class _Limit(TrainerCallback):
    """Takes ``save_total_limit`` from the trainer, which removes old checkpoints before the new one is whole."""

    def __init__(self) -> None:
        self.checkpoints: int | None = None

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        """After all that is recorded of the arguments when training begins."""
        if args.save_total_limit is not None:
            self.checkpoints, args.save_total_limit = args.save_total_limit, None

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        args.save_total_limit = self.checkpoints if args.save_total_limit is None else args.save_total_limit


class _WholeCheckpoints(TrainerCallback):
    """Makes the checkpoint that was written whole, then removes older ones."""

    def __init__(self, limit: _Limit) -> None:
        self.limit = limit

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object) -> None:
        if get_world_size() > 1:
            dist.barrier()  # each process has written the state of its random numbers
        if not args.should_save or state.is_hyper_param_search:
            return
        work = Path(str(args.output_dir))
        checkpoint = work / f"checkpoint-{state.global_step}"
        seal(checkpoint)
        drop_set_aside(work)
        kept = {checkpoint.name, Path(state.best_model_checkpoint or "").name}
        _remove_oldest(work, self.limit.checkpoints, kept)


def _remove_oldest(work: Path, limit: int | None, kept: set[str]) -> None:
    """Remove the oldest checkpoints until as many are left as the limit has, those to keep among them."""
    checkpoints = checkpoints_in(work)
    if limit is None or limit < 1:
        return
    others = [path for path in checkpoints if path.name not in kept]
    for path in others[: max(0, len(checkpoints) - limit)]:
        shutil.rmtree(path)
