"""The output folders of a recipe, and the files of earlier runs in them: a release, checkpoints, a trained model."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from huggingface_hub import HfApi
from transformers import TrainingArguments

from st_biomed.encoder.sources import find_model
from st_biomed.errors import InputError
from st_biomed.files import check_output, check_writable, finish_replacement, lock
from st_biomed.release.hub import check_target
from st_biomed.release.hub_plan import PushOptions
from st_biomed.release.model_record import BEGUN
from st_biomed.release.privacy import may_leave
from st_biomed.release.push_target import push_target
from st_biomed.terminology import Terminology
from st_biomed.training.checkpoints import (
    belongs_to,
    check_checkpoint,
    checkpoints_in,
    damage,
    is_set_aside,
    last_complete_checkpoint,
    set_aside,
    step_of,
)


@dataclass
class OutputFolders:
    """The output folders of a run: the release, and a second folder for checkpoints and files with training strings.

    Files of an earlier run are removed only after this run has replaced them: checkpoints after its first checkpoint,
    the trained model after its training, the release after the new release is written and checked.

    Attributes:
        work: ``<release>-training``.
        checkpoint: The checkpoint that training resumes from; ``None`` if training starts from the base model.
        push: Where the release is published at the end; nowhere by default.
        token: The token of the Hub; the stored one by default.
    """

    release: Path
    work: Path
    checkpoint: Path | None = None
    push: PushOptions | None = None
    token: str | None = field(default=None, repr=False)

    @property
    def trained(self) -> Path:
        """The folder of the trained model, from the end of training until the release is written."""
        return self.work / "trained"

    def begin(self, terminology: Terminology | None) -> None:
        """Rename the checkpoints of an earlier run, and save the training terminology beside those of this run.

        Raises:
            InputError: The resumed run was trained on another terminology.
        """
        point, kept = self.checkpoint, self.work / "terminology"
        continues = point is not None and belongs_to(point, self.work)
        if terminology is not None and point is not None and not is_set_aside(point):
            _check_terminology(point.parent, terminology)
        if not continues:
            marks = (self.work / BEGUN, kept / "terminology.json")
            is_own = checkpoints_in(self.work) or any(mark.is_file() for mark in marks)
            for name in ("eval", "runs") if is_own else ():
                shutil.rmtree(self.work / name, ignore_errors=True)
        moved = set_aside(self.work, after=step_of(point) if point is not None and continues else -1)
        if moved:
            print(f"until this run has a checkpoint, what was there is kept: {', '.join(map(str, moved))}")
        if terminology is not None and not (continues and kept.is_dir()):
            terminology.save(kept)

    def begin_in_main(self, training: TrainingArguments, terminology: Terminology | None) -> None:
        """:meth:`begin` in the process that writes, for which the others wait."""
        with training.main_process_first(desc="terminology"):
            if training.should_save:
                self.begin(terminology)


@contextmanager
def output_folders(
    training: TrainingArguments,
    name: str,
    overwrite: bool,
    *,
    base_model: str = "",
    base_is_model: bool = True,
    is_own: Callable[[str], bool] = may_leave,
    in_phases: bool = False,
) -> Iterator[OutputFolders]:
    """Prepare ``output_dir`` for the release, and ``<output_dir>-training`` for all files with training strings.

    The main process locks both folders until the run ends, so that no other run writes to them.

    Args:
        training: The trainer's arguments; ``output_dir`` is set to the second folder, and ``resume_from_checkpoint``
            to the checkpoint that was found.
        name: The recipe's name; the default of ``output_dir`` is ``out/<name>``.
        overwrite: Whether to replace an earlier run's release, or a model that it trained but did not release.
        base_is_model: Whether it is a model, which must be available, and not a table of word vectors.
        is_own: Whether a relative path in the release folder is that of a release file.
        in_phases: Whether :class:`~st_biomed.training.phases.Phases` finds the checkpoint of a resumed run.

    Raises:
        InputError: Another process writes to the folders, the release folder contains other files, there is no
            complete checkpoint to resume from, the base model is not available, or the release cannot be published to
            its target.
    """
    push = push_target(training)
    release = Path(training.output_dir or f"out/{name}")
    if release.name in ("", ".."):
        release = release.resolve()
    if not release.name:
        raise InputError(f"output_dir {str(release)!r}: a folder with a name is needed, e.g. out/{name}")
    work = release.with_name(f"{release.name}-training")
    folders = OutputFolders(release, work, None, push, training.hub_token)
    training.hub_token = None
    with ExitStack() as held:
        if is_main(training):
            for folder in (release, work):
                check_writable(folder)
                held.enter_context(lock(folder))
            finish_replacement(folders.trained)
            check_output(release, what="a release", is_own=is_own, marker="run.json", overwrite=overwrite)
            if base_model and Path(base_model).exists() and work.resolve() in Path(base_model).resolve().parents:
                raise InputError(
                    f"base_model {base_model}: is in {work}, which this run replaces; choose another output_dir"
                )
        folders.checkpoint = None if in_phases else _checkpoint_to_resume(training, work)
        if base_model and base_is_model and not in_phases:
            find_model(base_model)
        training.output_dir = str(work)
        if is_main(training):
            _check_trained(folders, overwrite or (in_phases and bool(resume_point(training))))
            if folders.checkpoint is not None:
                print(f"going on from {folders.checkpoint}")
            if (release / "run.json").is_file():
                print(f"{release}: the release of an earlier run is there, and is replaced when this one ends")
            if push is not None:
                check_target(HfApi(token=folders.token), push)
        yield folders


def is_main(training: TrainingArguments) -> bool:
    """Whether this is the process that writes files."""
    return training.process_index == 0


def resume_point(training: TrainingArguments) -> str | bool | None:
    """``--resume_from_checkpoint`` in the trainer's form: a folder, or whether to resume from the last checkpoint."""
    argument = training.resume_from_checkpoint
    return argument.lower() == "true" if argument in ("true", "false", "True", "False") else argument


def _checkpoint_to_resume(training: TrainingArguments, work: Path) -> Path | None:
    """The complete checkpoint that training resumes from; incomplete ones are skipped with a printed line."""
    point = resume_point(training)
    if not point:
        return None
    if isinstance(point, str):
        folder = Path(point)
        if not folder.is_dir():
            names = ", ".join(path.name for path in checkpoints_in(work))
            held = f"; {work} holds {names}" if names else ""
            raise InputError(f"--resume_from_checkpoint {point}: is no checkpoint{held}")
        if wrong := damage(folder):
            raise InputError(f"--resume_from_checkpoint {point}: {wrong}; true takes the last one that is whole")
        check_checkpoint(folder)
        return folder
    found, passed = last_complete_checkpoint(work)
    if found is None:
        wrong = "".join(f" ({why})" for why in passed.values())
        aside = ", ".join(map(str, sorted(work.glob("earlier-checkpoint-*"))))
        raise InputError(
            f"{work}: holds no {'whole ' if passed else ''}checkpoint to resume from{wrong}; "
            + (f"name one of an earlier run ({aside}), or " if aside else "")
            + "leave --resume_from_checkpoint out to begin anew"
        )
    if is_main(training):
        for why in passed.values():
            print(f"passed over: {why}")
    check_checkpoint(found)
    training.resume_from_checkpoint = str(found)
    return found


def _check_terminology(folder: Path, terminology: Terminology) -> None:
    """Raise InputError if the run in a folder was trained on another terminology."""
    kept = folder / "terminology"
    if kept.is_dir() and Terminology.load(kept).digest != terminology.digest:
        raise InputError(
            f"{folder}: the checkpoint was trained on another terminology or split than this run; resume with the same "
            "--terminology and --split_seed"
        )


def _check_trained(folders: OutputFolders, overwrite: bool) -> None:
    """Raise InputError if an earlier run left a trained model without a release."""
    if folders.trained.is_dir() and folders.checkpoint is None and not overwrite:
        end = (
            ""
            if last_complete_checkpoint(folders.work)[0] is None
            else "; --resume_from_checkpoint true ends that run"
        )
        raise InputError(
            f"{folders.trained}: holds what an earlier run trained and did not release{end}; move it elsewhere "
            "(st_biomed.load reads it), or replace it with --overwrite true"
        )
