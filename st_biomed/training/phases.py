"""Trainings that follow each other in one run: each leaves its model, and a resumed run goes on in the first that is not finished.

They lie in ``<output_dir>-training/phases``: the model and the record of a finished phase in a folder of its name, and the
checkpoints of the others in ``<name>-training``. What an earlier run left there is set aside when a run begins anew, and
goes when a phase of the new one is finished.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from sentence_transformers.base.evaluation import BaseEvaluator
from torch import nn
from transformers import TrainerCallback, set_seed

from st_biomed.encoder import load_encoder
from st_biomed.encoder.released import require_this_package
from st_biomed.errors import InputError, shown
from st_biomed.files import replacing, settle
from st_biomed.release.portable import plain
from st_biomed.release.run_data import RunData, read_run
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology
from st_biomed.training.arguments import EncoderArguments
from st_biomed.training.checkpoints import last_whole, set_aside, step_of
from st_biomed.training.encoder_run import train_encoder
from st_biomed.training.finish import check_finite
from st_biomed.training.output import OutputFolders, resume_point

_DECIDES = (
    "learning_rate",
    "lr_scheduler_type",
    "warmup_steps",
    "weight_decay",
    "max_grad_norm",
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "num_train_epochs",
    "max_steps",
)
"""Arguments of the trainer that a finished phase shares with the run that takes it."""


@dataclass
class Phases:
    """The trainings of one run.

    Args:
        folders: Where the run writes; made with ``in_phases=True``.
        training: The trainer's arguments; :meth:`train` changes some for a phase.

    Raises:
        InputError: A checkpoint is named, or nothing is there to resume from.
    """

    folders: OutputFolders
    training: SentenceTransformerTrainingArguments

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
        """Where the phases lie."""
        return self.folders.work / "phases"

    def _left(self) -> Iterator[Path]:
        """Finished phases, and whole checkpoints of others."""
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            if (path / "run.json").is_file():
                yield path
            elif (checkpoint := last_whole(path)[0]) is not None:
                yield checkpoint

    def begin(self, train: Terminology) -> None:
        """Set the phases of an earlier run aside, and keep what is trained on; in the process that writes.

        Args:
            train: What is trained on.

        Raises:
            InputError: The run that is resumed was trained on something else.
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

    def train(
        self,
        name: str,
        model: SentenceTransformer,
        recipe: EncoderArguments,
        rows: Any,
        loss: nn.Module,
        record: RunRecord,
        *callbacks: TrainerCallback,
        dev: BaseEvaluator | None = None,
        **changed: Any,
    ) -> None:
        """Train a model in place, or give it the weights of the phase where a resumed run finds it finished.

        Args:
            name: The phase's; a folder's name.
            model: The encoder.
            recipe, rows, loss, callbacks, dev: As of :func:`~st_biomed.training.encoder_run.train_encoder`.
            record: Of the run: gets the loss, and the figures of training as ``name/loss`` and so on.
            **changed: Arguments of the trainer that the phase has of its own.

        Raises:
            InputError: Training diverged, or the finished phase was trained in another way than this one would be.
        """
        if self.training.should_log:
            print(f"\n== {name}", flush=True)
        finished, work = self.folder / name, self.folder / f"{name}-training"
        settle(finished)
        training = replace(self.training, output_dir=str(work), **changed)
        own = replace(record, seed=training.seed)
        own.add_losses({name: loss})
        record.add_losses({name: loss})
        if self.resumes and (finished / "run.json").is_file():
            _check_same(read_run(finished / "run.json"), own, training, finished)
            if training.should_log:
                print(f"{name}: finished in an earlier run ({finished})", flush=True)
            model.load_state_dict(load_encoder(finished, device=str(model.device)).state_dict())
        else:
            set_seed(training.seed)
            self._go_on(training, work)
            train_encoder(model, recipe, training, rows, loss, own, *callbacks, dev=dev)
            check_finite(model, self.folders)
            with training.main_process_first(desc=name):
                if training.should_save:
                    self._keep(model, own, finished, work)
        for entry in read_run(finished / "run.json")["metrics"]:
            value = float("nan") if entry["value"] is None else entry["value"]
            record.add_metrics(entry["step"], entry["epoch"], {f"{name}/{entry['name']}": value})

    def _go_on(self, training: SentenceTransformerTrainingArguments, work: Path) -> None:
        """Resume a phase from its last whole checkpoint, where there is one; later ones wait under another name."""
        found, passed = last_whole(work) if self.resumes else (None, {})
        with training.main_process_first(desc="checkpoint"):
            if training.should_save:
                set_aside(work, after=-1 if found is None else step_of(found))
        if found is not None:
            training.resume_from_checkpoint = str(found)
        if training.should_log:
            for why in passed.values():
                print(f"passed over: {why}")
            if found is not None:
                print(f"going on from {found}", flush=True)

    def _keep(self, model: SentenceTransformer, own: RunRecord, finished: Path, work: Path) -> None:
        """Save what a phase has trained; its checkpoints go, and so do the phases of an earlier run."""
        with replacing(finished) as draft:
            model.save_pretrained(str(draft), create_model_card=False)
            require_this_package(draft)
            own.save(draft)
        shutil.rmtree(work, ignore_errors=True)
        for path in self.folder.parent.glob(f"earlier-{self.folder.name}*"):
            shutil.rmtree(path)


def _set_aside(folder: Path) -> None:
    """Give the phases of an earlier run another name, under which they wait until one of this run is finished."""
    new, number = folder.with_name(f"earlier-{folder.name}"), 2
    while new.exists():
        new, number = folder.with_name(f"earlier-{folder.name}-{number}"), number + 1
    print(f"until a phase of this run is finished, what was there is kept: {folder.rename(new)}")


def _check_same(run: RunData, own: RunRecord, training: SentenceTransformerTrainingArguments, finished: Path) -> None:
    """Refuse to take a phase that this run would have trained in another way."""
    now = own.to_dict()
    settings = training.to_dict()
    found, wanted = (
        {"base_model": Path(record["base_model"]).name, "seed": record["seed"], "loss": record["losses"]}
        for record in (run, now)
    )
    found |= {name: run["training_arguments"].get(name) for name in _DECIDES}
    wanted |= {name: plain(settings[name]) for name in _DECIDES}
    for name, value in wanted.items():
        if found[name] != value:
            raise InputError(
                f"{finished}: was trained with {name} {shown(found[name])}, found {shown(value)}; resume with the same, "
                "or leave --resume_from_checkpoint out to begin anew"
            )
