"""Where a recipe writes, and what it finds there: an earlier release, checkpoints to go on from, trained weights."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from huggingface_hub import HfApi
from transformers import TrainingArguments

from st_biomed.encoder.sentence_settings import check_sentence_settings
from st_biomed.errors import InputError
from st_biomed.files import check_output, check_writable, lock, settle
from st_biomed.release.hub import check_target
from st_biomed.release.hub_plan import PushOptions
from st_biomed.release.privacy import may_leave
from st_biomed.release.push_target import push_target
from st_biomed.terminology import Terminology
from st_biomed.training.checkpoints import checkpoints_in, damage, last_whole, set_aside, step_of


@dataclass
class OutputFolders:
    """Where a run writes: the release, and beside it checkpoints and what holds training strings.

    What an earlier run left is removed only when something new stands in its place: its checkpoints when this run has
    one, what it trained when this run has trained, its release when the new one is built and checked.

    Attributes:
        release: The release folder.
        work: ``<release>-training``.
        checkpoint: What training goes on from; nothing where it begins anew.
        push: Where the release is published in the end; nowhere by default.
        token: Of the Hub; the one that is stored by default.
    """

    release: Path
    work: Path
    checkpoint: Path | None = None
    push: PushOptions | None = None
    token: str | None = field(default=None, repr=False)

    @property
    def trained(self) -> Path:
        """The model as it was trained, from the end of training until the release stands."""
        return self.work / "trained"

    def begin(self, terminology: Terminology | None) -> None:
        """Set the checkpoints of an earlier run aside, and keep what is trained on beside those of this one.

        Args:
            terminology: What is trained on, where it is one.

        Raises:
            InputError: The run that is resumed was trained on something else.
        """
        kept = (self.work if self.checkpoint is None else self.checkpoint.parent) / "terminology"
        if self.checkpoint is None:
            for name in ("eval", "runs"):
                shutil.rmtree(self.work / name, ignore_errors=True)
        elif terminology is not None and kept.is_dir() and Terminology.load(kept).digest != terminology.digest:
            raise InputError(
                f"{kept.parent}: the checkpoint was trained on another terminology or split than this run; "
                "resume with the same --terminology and --split_seed"
            )
        moved = set_aside(self.work, after=-1 if self.checkpoint is None else step_of(self.checkpoint))
        if moved:
            print(f"until this run has a checkpoint, what was there is kept: {', '.join(map(str, moved))}")
        if terminology is not None and (self.checkpoint is None or not (self.work / "terminology").is_dir()):
            terminology.save(self.work / "terminology")

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
    is_own: Callable[[str], bool] = may_leave,
    in_phases: bool = False,
) -> Iterator[OutputFolders]:
    """The release goes to ``output_dir``; checkpoints and what holds training strings stay in ``<output_dir>-training``.

    The main process holds both folders until the run ends, so that no second one writes there.

    Args:
        training: The trainer's arguments; its ``output_dir`` becomes the second folder, and what it resumes from the
            checkpoint that was found.
        name: The recipe's name, for where no output folder is given.
        overwrite: Whether an earlier run's release may be replaced, and what it trained and never released.
        base_model: What training starts from.
        is_own: Whether a file of the release folder is a release's, by its path there.
        in_phases: Whether :class:`~st_biomed.training.phases.Phases` finds what a resumed run goes on from.

    Raises:
        InputError: Another process writes there, the release folder holds something that is not to be replaced, there is
            no whole checkpoint to resume from, or the release could not be published where it is to be.
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
            settle(folders.trained)
            check_output(release, what="a release", is_own=is_own, marker="run.json", overwrite=overwrite)
            _check_base_model(base_model, work)
        folders.checkpoint = None if in_phases else _checkpoint_to_resume(training, work)
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
    """Whether this is the process that writes."""
    return training.process_index == 0


def resume_point(training: TrainingArguments) -> str | bool | None:
    """``--resume_from_checkpoint`` as the trainer takes it: a folder, or whether to take the last checkpoint."""
    argument = training.resume_from_checkpoint
    return argument.lower() == "true" if argument in ("true", "false", "True", "False") else argument


def _checkpoint_to_resume(training: TrainingArguments, work: Path) -> Path | None:
    """The checkpoint that training goes on from, which is whole; what was passed over is said.

    Raises:
        InputError: It is not, or there is none.
    """
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
        check_sentence_settings(folder)
        return folder
    found, passed = last_whole(work)
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
    check_sentence_settings(found)
    training.resume_from_checkpoint = str(found)
    return found


def _check_base_model(base_model: str, work: Path) -> None:
    """Refuse to start from a folder that this run replaces while it still needs it."""
    if base_model and Path(base_model).exists() and work.resolve() in Path(base_model).resolve().parents:
        raise InputError(
            f"base_model {base_model}: lies in {work}, which this run replaces; choose another output_dir"
        )


def _check_trained(folders: OutputFolders, overwrite: bool) -> None:
    """Refuse to begin where an earlier run trained something that was never released."""
    if folders.trained.is_dir() and folders.checkpoint is None and not overwrite:
        end = "" if last_whole(folders.work)[0] is None else "; --resume_from_checkpoint true ends that run"
        raise InputError(
            f"{folders.trained}: holds what an earlier run trained and did not release{end}; move it elsewhere "
            "(st_biomed.load reads it), or replace it with --overwrite true"
        )
