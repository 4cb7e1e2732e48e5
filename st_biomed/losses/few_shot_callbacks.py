"""Callbacks for a few-shot encoder: new negatives at every epoch, and early stopping with the best weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from st_biomed.errors import InputError, check_integer
from st_biomed.files.checkpoint_folders import checkpoint_folder, resumed_checkpoint
from st_biomed.losses.few_shot import FewShotLoss
from st_biomed.losses.few_shot_names import checked_names
from st_biomed.losses.loss_parameters_callback import LossParametersCallback, trainable_parameters
from st_biomed.processes import from_first_process

FILE_NAME = "few_shot_validation.safetensors"
"""File in a checkpoint: the validation losses of the epochs so far, and the best weights."""

_ROWS = 4096  # names embedded at once


class FewShotNegativesCallback(LossParametersCallback):
    """Draws the negatives of :class:`~st_biomed.losses.FewShotLoss` at the start of every epoch.

    The current model embeds all training names in evaluation mode. The draw depends on these vectors, the seed and the
    epoch. It is saved in checkpoints, so resumed training continues with the same negatives; any other training begins
    without those of an earlier one.

    Args:
        loss: The loss.
    """

    def __init__(self, loss: FewShotLoss) -> None:
        super().__init__(loss)
        self.few_shot = loss

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if state.global_step == 0:
            self.few_shot.names.forget()
        super().on_train_begin(args, state, control, **kwargs)

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        names, epoch = self.few_shot.names, int(state.epoch or 0)
        if int(names.epoch) != epoch:
            names.draw(embed_vectors(kwargs["model"], names.vectors), epoch)


class FewShotValidationCallback(TrainerCallback):
    """Measures the loss on validation names after every epoch, stops training, and restores the best weights.

    "We then randomly sample the same amount of names as validation data to calculate the multi-task loss as stopping
    criterion" (Fivez et al. 2021, section 3.2). The validation names are compared with the training names, in evaluation
    mode (the published code leaves dropout on) and with one draw of negatives for all epochs. Training stops after an
    epoch t > ``lookback`` whose loss is not below that of epoch t - ``lookback`` + 1: the published code compares epochs
    11 and 2, 12 and 3, and so on. At this point, or when training ends otherwise, the model gets the weights of the
    first epoch with the smallest loss. Give the trainer a number of epochs that is not reached (1000 in the code) and
    a constant learning rate (``lr_scheduler_type="constant"``).

    A checkpoint holds the losses and the best weights, so resumed training continues exactly. The losses are also in
    the trainer's log, as ``validation_loss`` with its parts.

    Args:
        loss: The loss that is trained.
        vectors: u of the validation names, ``[m, D]``.
        labels: Their concepts, ``[m]``.
        lookback: Number of epochs; 10 in the published code.

    Attributes:
        losses: The validation loss after each epoch.
        best_epoch: The epoch whose weights the model gets, from 1 on; 0 before the first.

    Raises:
        InputError: Names that do not fit the loss, or a lookback below 1. In training: a loss that is not finite, or a
            checkpoint without the data needed to resume.
    """

    def __init__(
        self,
        loss: FewShotLoss,
        vectors: Tensor | np.ndarray,
        labels: Tensor | np.ndarray | Sequence[int],
        *,
        lookback: int = 10,
    ) -> None:
        check_integer("lookback", lookback)
        self.loss, self.lookback = loss, lookback
        self.vectors, self.labels = checked_names(vectors, labels)
        shape = loss.names.prototypes.shape
        if self.vectors.shape[1] != shape[1] or int(self.labels.max()) >= shape[0]:
            raise InputError(
                f"validation names must have {shape[1]} dimensions and concepts below {shape[0]} as the training names, "
                f"found {self.vectors.shape[1]} and {int(self.labels.max())}"
            )
        self.losses: list[float] = []
        self.best_epoch = 0
        self._best: dict[str, Tensor] = {}

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.losses, self.best_epoch, self._best = [], 0, {}
        device = self.loss.names.labels.device
        self.vectors, self.labels = self.vectors.to(device), self.labels.to(device)
        self._step = self.loss.names.validation_step(self.vectors, self.labels)
        if state.global_step > 0:
            self._resume(kwargs["model"], resumed_checkpoint(args, state) / FILE_NAME)
            if len(self.losses) < int(state.epoch or 0):  # saved after an epoch's last step, before its end
                self._measure(state, control, kwargs["model"])

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if not self.should_stop():
            self._measure(state, control, kwargs["model"])

    def _measure(self, state: TrainerState, control: TrainerControl, model: nn.Module) -> None:
        """Take the loss of the epoch that has ended into account."""
        parts = self.validate(model)
        value = from_first_process(sum(parts.values()))  # all processes stop together
        epoch = len(self.losses) + 1
        if not math.isfinite(value):
            raise InputError(f"the validation loss after epoch {epoch} is {value}: lower the learning rate")
        if value < min(self.losses, default=math.inf):
            self.best_epoch = epoch
            self._keep(model)
        self.losses.append(value)
        named = {f"validation_{name}": part for name, part in {"loss": value, **parts}.items()}
        state.log_history.append({**named, "epoch": state.epoch, "step": state.global_step})
        if self.should_stop():
            control.should_training_stop = True

    @torch.no_grad()
    def validate(self, model: nn.Module) -> dict[str, float]:
        """The weighted parts of the loss on the validation names."""
        embedded = embed_vectors(model, torch.cat([self.vectors, self.loss.names.vectors]))
        anchors, names = embedded.split([len(self.vectors), len(self.loss.names)])
        parts = self.loss.compute_loss_from_embeddings([anchors, names], self._step)
        return {name: part.item() for name, part in parts.items()}

    def should_stop(self) -> bool:
        """The published rule on the losses so far."""
        return len(self.losses) > self.lookback and self.losses[-1] >= self.losses[-self.lookback]

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if args.should_save and not state.is_hyper_param_search:
            losses = torch.tensor(self.losses, dtype=torch.float64)
            best = {f"best.{name}": weight.cpu() for name, weight in self._best.items()}
            save_file({"losses": losses, **best}, checkpoint_folder(args, state) / FILE_NAME)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        with torch.no_grad():
            for name, weight in trainable_parameters(kwargs["model"]).items():
                if name in self._best:
                    weight.copy_(self._best[name])

    def _keep(self, model: nn.Module) -> None:
        for name, weight in trainable_parameters(model).items():
            if name in self._best:
                self._best[name].copy_(weight.detach())
            else:
                self._best[name] = weight.detach().clone()

    def _resume(self, model: nn.Module, file: Path) -> None:
        if not file.is_file():
            raise InputError(f"{file}: missing, the checkpoint was saved without FewShotValidationCallback")
        saved = load_file(file)
        self.losses = saved.pop("losses").tolist()
        self.best_epoch = 1 + int(np.argmin(self.losses)) if self.losses else 0
        found = {name.removeprefix("best."): weight for name, weight in saved.items()}
        trained = trainable_parameters(model)
        if self.losses and _shapes(found) != _shapes(trained):
            raise InputError(f"{file}: holds {_shapes(found)}, the model trains {_shapes(trained)}")
        self._best = {name: weight.to(trained[name].device) for name, weight in found.items()}


@torch.no_grad()
def embed_vectors(model: nn.Module, vectors: Tensor) -> Tensor:
    """f of names with these vectors ``[n, D]`` in evaluation mode, ``[n, D]``; the mode of the model is restored."""
    training = model.training
    model.eval()
    rows = [model({"sentence_embedding": part})["sentence_embedding"] for part in vectors.split(_ROWS)]
    model.train(training)
    return torch.cat(rows)


def _shapes(weights: Mapping[str, Tensor]) -> dict[str, list[int]]:
    return {name: list(weight.shape) for name, weight in weights.items()}
