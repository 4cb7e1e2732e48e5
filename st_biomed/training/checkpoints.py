"""Complete and incomplete checkpoints: which one training can resume from, and which ones can be removed.

The trainer writes a checkpoint file by file, callbacks add their files, and a process that is killed meanwhile leaves
an incomplete checkpoint. The last file is therefore a list of all other files with sizes and checksums. A checkpoint
without this list, or with files that differ from it, is skipped. Older checkpoints are removed only after the list is
written.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import torch.distributed as dist
from sentence_transformers.util import get_world_size
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from st_biomed.encoder.json_files import read_object
from st_biomed.encoder.listed_modules import MODULES, listed_modules
from st_biomed.encoder.sentence_settings import check_sentence_settings
from st_biomed.errors import InputError
from st_biomed.files import synchronize
from st_biomed.files.checkpoint_folders import checkpoint_folder
from st_biomed.files.sealed import Seal
from st_biomed.release.model_record import CHECKPOINT_FILES

_SEAL = Seal(CHECKPOINT_FILES, format=1, made_by="a recipe's training", remedy="the checkpoint is not whole")

_NAME = re.compile(r"checkpoint-(\d+)")
_SET_ASIDE = re.compile(r"earlier-checkpoint-\d+(-\d+)?")


def checkpoints_in(work: Path) -> list[Path]:
    """The complete and incomplete checkpoints in a folder, by their steps."""
    folders = [path for path in work.glob("checkpoint-*") if path.is_dir() and _NAME.fullmatch(path.name)]
    return sorted(folders, key=step_of)


def step_of(checkpoint: Path) -> int:
    """The number of training steps in the name of a checkpoint; 0 for another name."""
    found = _NAME.search(checkpoint.name)
    return int(found[1]) if found else 0


def belongs_to(checkpoint: Path, work: Path) -> bool:
    """Whether a checkpoint is of the run in a folder: it is in the folder, and no later run has set it aside."""
    return not is_set_aside(checkpoint) and checkpoint.parent.resolve() == work.resolve()


def is_set_aside(checkpoint: Path) -> bool:
    """Whether :func:`set_aside` has renamed a checkpoint: the files beside it are those of a later run."""
    return bool(_SET_ASIDE.fullmatch(checkpoint.name))


def seal(checkpoint: Path) -> None:
    """Write the list of the files of a checkpoint, which completes it."""
    (checkpoint / CHECKPOINT_FILES).unlink(missing_ok=True)
    synchronize(checkpoint)
    paths = sorted(path for path in checkpoint.rglob("*") if path.is_file())
    _SEAL.write(checkpoint, {}, [path.relative_to(checkpoint).as_posix() for path in paths])
    synchronize(checkpoint)


def damage(checkpoint: Path) -> str:
    """A description of the damage of a checkpoint, with the file; empty if the checkpoint is complete."""
    if not (checkpoint / CHECKPOINT_FILES).is_file():
        return f"{checkpoint / CHECKPOINT_FILES}: is missing, it is written last; {_SEAL.remedy}"
    try:
        sealed = _SEAL.read(checkpoint)
        _SEAL.check(checkpoint, sealed, ["trainer_state.json", *sealed["files"]])
    except InputError as error:
        return str(error)
    except OSError as error:  # another process removes or renames it
        return f"{checkpoint}: cannot be read ({error.strerror}); {_SEAL.remedy}"
    return ""


def last_complete_checkpoint(work: Path) -> tuple[Path | None, dict[str, str]]:
    """The last complete checkpoint, and the damage of those after it, by name."""
    passed: dict[str, str] = {}
    for checkpoint in reversed(checkpoints_in(work)):
        if not (wrong := damage(checkpoint)):
            return checkpoint, passed
        passed[checkpoint.name] = wrong
    return None, passed


def check_checkpoint(folder: Path) -> None:
    """Reject a checkpoint whose files would make the trainer run code or read files elsewhere.

    Args:
        folder: The checkpoint; the best checkpoint that it names is checked too, if it is there.

    Raises:
        ForeignCode: A file names code, or a setting that determines whether pickles are run.
        InputError: A damaged file, or a best checkpoint that is not beside this one.
    """
    best = read_object(folder / "trainer_state.json").get("best_model_checkpoint")
    if isinstance(best, str) and Path(best).exists() and Path(best).resolve() != folder.resolve():
        if Path(best).resolve().parent != folder.resolve().parent:
            raise InputError(
                f"{folder / 'trainer_state.json'}: best_model_checkpoint must be a folder beside {folder.name}, found {best}"
            )
        _check_files(Path(best))
    _check_files(folder)


def _check_files(folder: Path) -> None:
    places = [folder, *(path for path in sorted(folder.rglob("*")) if path.is_dir())]
    for place in places:
        check_sentence_settings(place)
    if (folder / MODULES).exists() and not any((place / "adapter_config.json").exists() for place in places):
        listed_modules(folder)


def set_aside(work: Path, *, after: int = -1) -> list[Path]:
    """Rename checkpoints of an earlier run; they are removed when the current run has a checkpoint.

    Args:
        after: Only checkpoints of later steps than this are renamed; all by default.

    Returns:
        The new paths.
    """
    moved = []
    for checkpoint in checkpoints_in(work):
        if step_of(checkpoint) > after:
            moved.append(checkpoint.rename(earlier_name(checkpoint)))
    return moved


def earlier_name(path: Path) -> Path:
    """A free name beside a folder for what an earlier run left in it."""
    name, number = path.with_name(f"earlier-{path.name}"), 2
    while name.exists():
        name, number = path.with_name(f"earlier-{path.name}-{number}"), number + 1
    return name


def drop_set_aside(work: Path) -> None:
    """Remove the checkpoints that :func:`set_aside` renamed."""
    for path in work.glob("earlier-checkpoint-*"):
        if _SET_ASIDE.fullmatch(path.name):
            shutil.rmtree(path)


def with_complete_checkpoints(*callbacks: TrainerCallback) -> list[TrainerCallback]:
    """A trainer's callbacks, with additional ones that complete its checkpoints.

    Args:
        *callbacks: The other callbacks; the files that they write into a checkpoint belong to it.
    """
    limit = _Limit()
    return [limit, *callbacks, _WholeCheckpoints(limit)]


class _Limit(TrainerCallback):
    """Takes over ``save_total_limit``, since the trainer removes old checkpoints before the new one is complete."""

    def __init__(self) -> None:
        self.checkpoints: int | None = None

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        """Clear the limit here, after other callbacks have recorded the arguments in ``on_train_begin``."""
        if args.save_total_limit is not None:
            self.checkpoints, args.save_total_limit = args.save_total_limit, None

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        args.save_total_limit = self.checkpoints if args.save_total_limit is None else args.save_total_limit


class _WholeCheckpoints(TrainerCallback):
    """Completes a checkpoint, then removes older ones."""

    def __init__(self, limit: _Limit) -> None:
        self.limit = limit

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object) -> None:
        if get_world_size() > 1:
            dist.barrier()  # every process has written its random state
        if not args.should_save or state.is_hyper_param_search:
            return
        checkpoint = checkpoint_folder(args, state)
        work = checkpoint.parent
        seal(checkpoint)
        drop_set_aside(work)
        kept = {checkpoint.name, Path(state.best_model_checkpoint or "").name}
        _remove_oldest(work, self.limit.checkpoints, kept)


def _remove_oldest(work: Path, limit: int | None, kept: set[str]) -> None:
    """Remove the oldest checkpoints down to the limit, except those to keep."""
    checkpoints = checkpoints_in(work)
    if limit is None or limit < 1:
        return
    others = [path for path in checkpoints if path.name not in kept]
    for path in others[: max(0, len(checkpoints) - limit)]:
        shutil.rmtree(path)
