"""The exponential moving average of an encoder's weights, which replaces the last weights after training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from torch import Tensor
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from st_biomed.errors import InputError, check_integer
from st_biomed.files.checkpoint_folders import checkpoint_folder, resumed_checkpoint
from st_biomed.losses.loss_parameters_callback import trainable_parameters

FILE_NAME = "moving_average.safetensors"


class MovingAverageCallback(TrainerCallback):
    r"""Averages the trained weights of an encoder over the steps, :math:`s \leftarrow d\,s + (1 - d)\,\theta` after each.

    The average starts with the initial weights, which keep a share of :math:`d^T` after T steps. It is stored in
    float32, or in float64 for float64 parameters.

    * The trainer measures the average, and selects the best checkpoint by these measurements.
    * A checkpoint contains the trained weights, and the average in ``moving_average.safetensors``. A resumed training
      continues both.
    * At the end of training the encoder has the averaged weights: the last average, or that of the best checkpoint
      with ``load_best_model_at_end``.

    With several processes, each computes the same average, and the main process writes it. Hard negatives are found
    with the trained weights.

    Args:
        decay: d, above 0 and below 1.
        eval_datasets: Number of the trainer's evaluation datasets, if it has several; the trainer does not say which is the
            last.

    Raises:
        InputError: An argument is out of range; or, when training starts, the resumed checkpoint has no average, or an
            average with another decay or of other parameters; or, in training, there is another number of evaluation
            datasets.
    """

    def __init__(self, decay: float, *, eval_datasets: int = 1) -> None:
        number: object = decay  # whatever was passed
        if not isinstance(number, float) or not 0 < number < 1:
            raise InputError(f"ema_decay must be above 0 and below 1, found {decay!r}")
        check_integer("eval_datasets", eval_datasets)
        self.decay, self.eval_datasets = decay, eval_datasets
        self._n_measured, self._last_measured = 0, -1
        self.average: dict[str, Tensor] = {}
        self._before_average: dict[str, Tensor] = {}

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        parameters = trainable_parameters(kwargs["model"])
        self.average = {
            name: parameter.detach().to(torch.promote_types(parameter.dtype, torch.float32), copy=True)
            for name, parameter in parameters.items()
        }
        self._before_average = {}
        if state.global_step > 0:
            self._read(resumed_checkpoint(args, state))

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._put_back(kwargs["model"])

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        with torch.no_grad():
            for name, parameter in trainable_parameters(kwargs["model"]).items():
                shadow = self.average[name]
                shadow.lerp_(parameter.to(shadow), 1 - self.decay)
        self._put_in_to_measure(control, kwargs["model"])

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._put_in_to_measure(control, kwargs["model"])

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if self._before_average:
            self._n_measured += 1
            if self._n_measured >= self.eval_datasets:
                self._put_back(kwargs["model"])
                self._last_measured = state.global_step
        elif state.global_step == self._last_measured:
            raise InputError(
                f"eval_datasets: expected {self.eval_datasets} to measure, found another, which the moving average was not "
                "measured on; give the callback their number"
            )

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if self._before_average:  # the checkpoint has the average in their place
            raise InputError(
                f"eval_datasets: expected {self.eval_datasets} to measure, found {self._n_measured}; give the callback their "
                "number"
            )
        if args.should_save and not state.is_hyper_param_search:
            shadows = {name: shadow.detach().cpu().contiguous() for name, shadow in self.average.items()}
            save_file(shadows, checkpoint_folder(args, state) / FILE_NAME, {"decay": repr(self.decay)})

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._put_back(kwargs["model"])
        self._last_measured = -1  # what is measured after training has the average
        if args.load_best_model_at_end and state.best_model_checkpoint is not None:
            self._read(Path(state.best_model_checkpoint))
        _write(kwargs["model"], self.average)

    def _put_in_to_measure(self, control: TrainerControl, model: SentenceTransformer) -> None:
        """Switch to the average before a measurement, in every process, since all of them embed texts."""
        if control.should_evaluate and not self._before_average:
            self._before_average = {
                name: parameter.detach().clone() for name, parameter in trainable_parameters(model).items()
            }
            self._n_measured = 0
            _write(model, self.average)

    def _put_back(self, model: SentenceTransformer) -> None:
        """Switch back to the trained weights."""
        if self._before_average:
            _write(model, self._before_average)
            self._before_average = {}

    def _read(self, checkpoint: Path) -> None:
        """Read the average from a checkpoint."""
        file = checkpoint / FILE_NAME
        if not file.is_file():
            raise InputError(f"{file}: missing, the checkpoint was saved without --ema_decay; resume it without, too")
        with safe_open(file, framework="pt") as saved:
            decay = float((saved.metadata() or {}).get("decay", "nan"))
            found = {name: saved.get_tensor(name) for name in saved.keys()}  # noqa: SIM118
        if decay != self.decay:
            raise InputError(
                f"{file}: is an average with --ema_decay {decay}, found {self.decay}; resume with the same"
            )
        shapes = {name: shadow.shape for name, shadow in self.average.items()}
        if {name: tensor.shape for name, tensor in found.items()} != shapes:
            raise InputError(f"{file}: holds an average of other parameters than those that are trained here")
        self.average = {name: found[name].to(shadow) for name, shadow in self.average.items()}


@torch.no_grad()
def _write(model: SentenceTransformer, values: dict[str, Tensor]) -> None:
    """Copy values into the trained parameters, rounded to their dtype."""
    for name, parameter in trainable_parameters(model).items():
        parameter.copy_(values[name])
