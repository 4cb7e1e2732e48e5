"""A warm-up of the learning rate of a loss's parameters, apart from that of the encoder."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from transformers import SchedulerType, TrainerCallback, TrainerControl, TrainerState, TrainingArguments, get_scheduler

from st_biomed.errors import InputError

_BY_METRICS = ("reduce_lr_on_plateau", "greedy")


class LossWarmupCallback(TrainerCallback):
    """Gives the parameters outside the encoder, those of a loss, a warm-up of their own.

    Their learning rate rises from 0 over these steps and then follows the trainer's schedule as it would be with this
    warm-up. The rate of the encoder is not changed. A ``constant`` schedule, which has no warm-up, is constant after it.

    Args:
        model: The encoder. Its parameters and those of the loss are in different groups of the optimizer
            (:func:`~st_biomed.training.optimizer.set_loss_rate`).
        steps: Steps of the warm-up, or a share of all steps if below 1, as in the trainer's ``warmup_steps``.
    """

    def __init__(self, model: SentenceTransformer, steps: float) -> None:
        self.model, self.steps = model, steps

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        scheduler = kwargs["lr_scheduler"]
        schedule = schedule_with_warmup(args, state.max_steps, self.steps)
        encoder = {id(parameter) for parameter in self.model.parameters()}
        for index, group in enumerate(scheduler.optimizer.param_groups):
            if not any(id(parameter) in encoder for parameter in group["params"]):
                scheduler.lr_lambdas[index] = schedule
                group["lr"] = scheduler.base_lrs[index] * schedule(scheduler.last_epoch)


def schedule_with_warmup(args: TrainingArguments, total: int, warmup: float) -> Callable[[int], float]:
    """The factor of the learning rate by step: the trainer's schedule with another warm-up.

    Args:
        args: The trainer's arguments.
        total: Number of steps of the training.
        warmup: Steps of the warm-up, or their share of all steps if below 1.

    Raises:
        InputError: An error of :func:`check_schedule`.
    """
    check_schedule(args)
    name = SchedulerType(args.lr_scheduler_type)
    steps = int(warmup) if warmup >= 1 else math.ceil(total * warmup)
    options: Any = args.lr_scheduler_kwargs
    # Schedules with a least rate divide it by the rate of the optimizer.
    unused = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=args.learning_rate)
    scheduler: Any = get_scheduler(
        SchedulerType.CONSTANT_WITH_WARMUP if name == SchedulerType.CONSTANT else name,
        unused,
        num_warmup_steps=steps,
        num_training_steps=total,
        scheduler_specific_kwargs=options,
    )
    factor = scheduler.lr_lambdas[0]
    return lambda step: float(factor(step))


def check_schedule(args: TrainingArguments) -> None:
    """Reject a schedule that depends on measurements, whose warm-up cannot be told apart.

    Raises:
        InputError: The schedule is one of these.
    """
    name = SchedulerType(args.lr_scheduler_type).value
    if name in _BY_METRICS:
        raise InputError(f"graph_warmup_steps: lr_scheduler_type {name!r} depends on measurements; choose another one")
