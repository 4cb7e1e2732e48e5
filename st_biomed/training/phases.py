"""Phases of one run, which are trained one after the other. A resumed run continues in the first unfinished phase.

The folder is ``<output_dir>-training/phases``. A finished phase has a folder ``<name>`` with its model and its record,
an unfinished phase a folder ``<name>-training`` with its checkpoints. A run that is not resumed renames the phases of
an earlier run, and removes them when its first phase is finished.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from sentence_transformers.base.evaluation import BaseEvaluator
from torch import nn
from transformers import TrainerCallback, set_seed

from st_biomed.encoder import load_encoder
from st_biomed.encoder.released import require_this_package
from st_biomed.errors import InputError
from st_biomed.files import finish_replacement, replacing
from st_biomed.release.model_record import BEGUN
from st_biomed.release.run_data import read_run, write_run
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import EncoderArguments, measured_in_training
from st_biomed.training.checkpoints import check_checkpoint, earlier_name, last_complete_checkpoint, set_aside, step_of
from st_biomed.training.encoder_run import run_trainer
from st_biomed.training.finish import check_finite
from st_biomed.training.output import OutputFolders, resume_point
from st_biomed.training.same_run import AVERAGING, check_same

_SET_ASIDE = re.compile(r"earlier-phases(-\d+)?")


@dataclass
class Phases:
    """The phases of one run.

    Args:
        folders: The output folders of the run, prepared with ``in_phases=True``.
        training: The trainer's arguments; :meth:`train` replaces some of them in a phase.
        free: Arguments of the recipe that may change when a run is resumed: they decide nothing in a finished phase, or
            are arguments of the trainer in it.

    Raises:
        InputError: ``resume_from_checkpoint`` names a checkpoint, or there is nothing to resume from.
    """

    folders: OutputFolders
    training: SentenceTransformerTrainingArguments
    free: Collection[str] = ()

    def __post_init__(self) -> None:
        point = resume_point(self.training)
        if isinstance(point, str):
            raise InputError(f"resume_from_checkpoint: a run of several phases takes true, found {point}")
        self.resumes = bool(point)
        self.training.resume_from_checkpoint = None
        if self.resumes and not any(self._left()):
            raise InputError(
                f"{self.folder}: holds no finished phase and no whole checkpoint to resume from; "
                "leave --resume_from_checkpoint out to begin anew"
            )

    @property
    def folder(self) -> Path:
        """The folder of the phases."""
        return self.folders.work / "phases"

    def _left(self) -> Iterator[Path]:
        """Finished phases, and complete checkpoints of unfinished ones."""
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if (path / "run.json").is_file():
                yield path
            elif (checkpoint := last_complete_checkpoint(path)[0]) is not None:
                yield checkpoint

    def begin(self, train: Terminology) -> None:
        """Rename the phases of an earlier run and save the training terminology, in the process that writes.

        Raises:
            InputError: The resumed run was trained on another terminology.
        """
        with self.training.main_process_first(desc="phases"):
            if not self.training.should_save:
                return
            kept = self.folders.work / "terminology"
            if not self.resumes and self.folder.is_dir():
                _set_aside(self.folder)
            elif self.resumes and kept.is_dir() and Terminology.load(kept).digest != train.digest:
                raise InputError(
                    f"{self.folder}: was trained on another terminology or split than this run; "
                    "resume with the same --terminology and --split_seed"
                )
            self.folders.begin(train)

    def train(  # noqa: PLR0913 - what is trained on, and what the record says of it
        self,
        name: str,
        model: SentenceTransformer,
        recipe: EncoderArguments,
        rows: Any,
        loss: nn.Module | Mapping[str, nn.Module],
        record: RunRecord,
        *callbacks: TrainerCallback,
        dev: BaseEvaluator | None = None,
        free: Collection[str] = (),
        details: Mapping[str, Any] | None = None,
        **changed: Any,
    ) -> None:
        """Train a model in place, or load the weights of the phase if the resumed run has finished it.

        Args:
            name: Name of the phase and of its folder.
            recipe, rows, loss, callbacks, dev: As for :func:`~st_biomed.training.encoder_run.train_encoder`.
            record: The record of the run; the loss is added to it as ``name`` (the losses of several parts under their own
                names), and the figures of training as ``name/loss`` etc.
            free: Arguments of the recipe that may change after this phase, in addition to those of the run.
            details: What the record of this phase has in place of that of the run, as arguments of
                :class:`~st_biomed.release.run_record.RunRecord`; its configuration is that of ``recipe``.
            **changed: Arguments of the trainer that replace those of the run in this phase.

        Raises:
            InputError: Training diverged, or the phase was finished or begun with other settings.
        """
        if self.training.should_log:
            print(f"\n== {name}", flush=True)
        finished, work = self.folder / name, self.folder / f"{name}-training"
        finish_replacement(finished)
        training = replace(self.training, output_dir=str(work), **changed)
        own = replace(record, seed=training.seed, configuration=asdict(recipe), **(details or {}))
        losses = dict(loss) if isinstance(loss, Mapping) else {name: loss}
        own.add_losses(losses)
        record.add_losses(losses)
        may_change = {*self.free, *AVERAGING, *free}
        if self.resumes and (finished / "run.json").is_file():
            earlier = read_run(finished / "run.json")
            check_same(earlier, own.to_dict(), training, finished, free=may_change, final_arguments=True)
            if training.should_log:
                print(f"{name}: finished in an earlier run ({finished})", flush=True)
            trained = load_encoder(finished, device=str(model.device), trust_remote_code=recipe.trust_remote_code)
            model.load_state_dict(trained.state_dict())
        else:
            set_seed(training.seed)
            own.add_training_arguments(training)
            self._resume(training, work, own, may_change)
            dev = measured_in_training(training, dev)
            run_trainer(model, recipe, training, rows, loss, own, *callbacks, dev=dev)
            check_finite(model, self.folders)
            with training.main_process_first(desc=name):
                if training.should_save:
                    self._keep(model, own, finished, work)
        kept = read_run(finished / "run.json")
        record.add_batches(kept["batches"])
        for entry in kept["metrics"]:
            value = float("nan") if entry["value"] is None else entry["value"]
            record.add_metrics(entry["step"], entry["epoch"], {f"{name}/{entry['name']}": value})

    def _resume(
        self,
        training: SentenceTransformerTrainingArguments,
        work: Path,
        own: RunRecord,
        may_change: Collection[str],
    ) -> None:
        """Resume a phase from its last complete checkpoint, if there is one; later checkpoints are renamed.

        Raises:
            InputError: The phase was begun with other settings, or as of :func:`~st_biomed.training.checkpoints.check_checkpoint`.
        """
        found, passed = last_complete_checkpoint(work) if self.resumes else (None, {})
        begun = work / BEGUN
        if found is not None:
            check_checkpoint(found)
        if found is not None and begun.is_file():
            check_same(read_run(begun), own.to_dict(), training, work, free=may_change, final_arguments=True)
        with training.main_process_first(desc="checkpoint"):
            if training.should_save:
                set_aside(work, after=-1 if found is None else step_of(found))
                if found is None:
                    work.mkdir(parents=True, exist_ok=True)
                    write_run(own.to_dict(), begun)
        if found is not None:
            training.resume_from_checkpoint = str(found)
        if training.should_log:
            for why in passed.values():
                print(f"passed over: {why}")
            if found is not None:
                print(f"going on from {found}", flush=True)

    def _keep(self, model: SentenceTransformer, own: RunRecord, finished: Path, work: Path) -> None:
        """Save the model of a phase, and remove its checkpoints and the phases of an earlier run."""
        with replacing(finished) as draft:
            model.save_pretrained(str(draft), create_model_card=False)
            require_this_package(draft)
            own.save(draft)
        shutil.rmtree(work, ignore_errors=True)
        for path in self.folder.parent.glob(f"earlier-{self.folder.name}*"):
            if path.is_dir() and _SET_ASIDE.fullmatch(path.name):
                shutil.rmtree(path)


def _set_aside(folder: Path) -> None:
    """Rename the phases of an earlier run; they are removed when a phase of this run is finished."""
    print(f"until a phase of this run is finished, what was there is kept: {folder.rename(earlier_name(folder))}")
