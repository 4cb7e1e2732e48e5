"""The trainer callback for losses with their own parameters."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakSet

import torch
import torch.distributed as dist
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import get_world_size
from torch import Tensor, nn
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from st_biomed.errors import InputError
from st_biomed.files.checkpoint_folders import checkpoint_folder, resumed_checkpoint

FILE_NAME = "loss.safetensors"

_with_callback: WeakSet[nn.Module] = WeakSet()
_already_checked: WeakSet[nn.Module] = WeakSet()


def own_state(loss: nn.Module) -> dict[str, Tensor]:
    """What a loss holds beside the encoder: its parameters and persistent buffers, by their names in the loss."""
    encoders = [module for module in loss.modules() if isinstance(module, SentenceTransformer)]
    foreign = {id(tensor) for encoder in encoders for tensor in (*encoder.parameters(), *encoder.buffers())}
    state = loss.state_dict(keep_vars=True)
    return {name: tensor for name, tensor in state.items() if id(tensor) not in foreign}


def own_parameters(loss: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters a loss learns beside the encoder's, each once."""
    own = {id(tensor) for tensor in own_state(loss).values()}
    return {name: value for name, value in loss.named_parameters() if value.requires_grad and id(value) in own}


def trainable_parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters of a model or a loss that are trained, by name."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def require_loss_parameters_callback(loss: nn.Module) -> None:
    """Reject a loss with its own parameters on several processes without :class:`LossParametersCallback`; in one process
    warn once.

    A loss with parameters calls this in ``forward``. Otherwise the copies of the processes would diverge unnoticed, and a
    resumed training would begin with new parameters.

    Raises:
        InputError: Several processes, a loss with its own parameters, and no callback in the trainer.
    """
    if not torch.is_grad_enabled() or loss in _with_callback or loss in _already_checked:
        return
    own, several = own_parameters(loss), get_world_size() > 1
    if not (own and several):
        _already_checked.add(loss)  # refused in every step, warned of once
    if not own:
        return
    learns, remedy = f"{type(loss).__name__} learns {', '.join(own)}", "pass callbacks=[LossParametersCallback(loss)]"
    if several:
        raise InputError(f"{learns}, which several processes have to share: {remedy} to the trainer")
    warnings.warn(f"{learns}, which checkpoints of the trainer do not hold: {remedy} to it to resume", stacklevel=3)


class LossParametersCallback(TrainerCallback):
    """Handles the parameters of a loss as the trainer handles those of the model.

    The trainer optimizes the parameters of the loss, but it wraps, clips, saves and loads only the model. This
    callback

    * starts all processes from the values of the first;
    * averages the gradients over the processes before each optimizer step, as DistributedDataParallel does. A parameter
      that no process used keeps no gradient; one that some process used counts as zero on the others;
    * clips them to ``max_grad_norm`` as a separate group: the model's are already clipped by then;
    * clears them after the step, which Sentence Transformers 6.0 does only for the model;
    * writes them to ``checkpoint-N/loss.safetensors`` and restores them from there when training resumes, and those of
      the best checkpoint at the end with ``load_best_model_at_end``.

    Args:
        loss: The loss, or the dictionary of losses, that the trainer gets.

    Raises:
        InputError: When training begins: fp16 on several processes (its overflow check, made before the average, would
            let one process skip a step that another takes; use bf16), or a resumed checkpoint without these parameters.
            At once: a name of a loss with a dot, which the trainer cannot take either.
    """

    def __init__(self, loss: nn.Module | Mapping[str, nn.Module]) -> None:
        for name in loss if isinstance(loss, Mapping) else ():
            if "." in name:
                raise InputError(f"losses: the name of a dataset must have no dot, found {name!r}")
        # nn.Sequential allows the names that the trainer allows; nn.ModuleDict does not allow "items" or "values".
        self.loss: nn.Module = nn.Sequential(OrderedDict(loss)) if isinstance(loss, Mapping) else loss

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        _with_callback.update(self.loss.modules())
        own = own_state(self.loss)
        if own and args.fp16 and get_world_size() > 1:
            raise InputError(f"fp16 with several processes cannot learn {', '.join(own)} of the loss: use bf16")
        if own and state.global_step > 0:
            _load(own, resumed_checkpoint(args, state) / FILE_NAME)
        if get_world_size() > 1:
            for tensor in own.values():
                dist.broadcast(tensor.detach(), src=0)

    def on_pre_optimizer_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        parameters = list(own_parameters(self.loss).values())
        if parameters and get_world_size() > 1:
            _average_gradients(parameters)
        if parameters and args.max_grad_norm > 0:
            nn.utils.clip_grad_norm_(parameters, args.max_grad_norm)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        for parameter in own_parameters(self.loss).values():
            parameter.grad = None

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        own = own_state(self.loss)
        if own and args.should_save and not state.is_hyper_param_search:  # trials have other folders, and end for good
            copies = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in own.items()}
            save_file(copies, checkpoint_folder(args, state) / FILE_NAME)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        own = own_state(self.loss)
        if own and args.load_best_model_at_end and state.best_model_checkpoint is not None:
            _load(own, Path(state.best_model_checkpoint) / FILE_NAME)
        for known in (_with_callback, _already_checked):  # the next training needs a callback of its own
            known.difference_update(self.loss.modules())


def _average_gradients(parameters: list[nn.Parameter]) -> None:
    """Average gradients over the processes, in place; every process joins, whatever its own batch used."""
    used = torch.tensor([parameter.grad is not None for parameter in parameters], dtype=torch.int32)
    used = used.to(parameters[0].device)
    dist.all_reduce(used, op=dist.ReduceOp.MAX)
    for parameter, anywhere in zip(parameters, used.tolist()):
        if anywhere:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            dist.all_reduce(parameter.grad)
            parameter.grad /= get_world_size()


def _load(own: dict[str, Tensor], file: Path) -> None:
    """Copy saved values into the tensors of a loss, in place."""
    if not file.is_file():
        raise InputError(f"{file}: missing, the checkpoint was saved without LossParametersCallback")
    saved = load_file(file)
    found = {name: list(tensor.shape) for name, tensor in saved.items()}
    expected = {name: list(tensor.shape) for name, tensor in own.items()}
    if found != expected:
        raise InputError(f"{file}: holds {found}, the loss has {expected}")
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(saved[name])
