"""Checks of sentence-transformers' training arguments, including errors that its trainer would report too late."""

from __future__ import annotations

import json
from dataclasses import Field
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError, shown, unknown_name
from st_biomed.settings.checks import (
    COUNT,
    DROPOUT,
    FOLDER,
    LARGEST,
    MAPPING,
    PATTERN,
    SEED,
    WEIGHT,
    Check,
    above,
    at_least,
    one_of,
    within,
)


def _no_steps(name: str, value: float) -> str | None:
    if not value > 0:
        return f"{name} must be above 0, found {value}"
    return f"{name} must be an integer if it is above 1, found {value}" if value > 1 and value != int(value) else None


def _no_limit(name: str, value: int) -> str | None:
    if value == -1 or 1 <= value <= LARGEST:
        return None
    return f"{name} must be at least 1, or -1 to train by --num_train_epochs, found {shown(value)}"


def _no_learning_rates(name: str, value: Any) -> str | None:
    """The mapping from expressions to rates, which is written as JSON."""
    if not value:
        return None
    if line := MAPPING.wrong(name, value):
        return line
    rates = json.loads(value) if isinstance(value, str) else value
    for pattern, rate in rates.items():
        if line := PATTERN.wrong(name, pattern):
            return line
        if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < float("inf"):
            return f"{name}: the learning rate of {pattern!r} must be above 0, found {rate!r}"
    return None


def _no_configuration(name: str, value: Any) -> str | None:
    """A JSON object, or the file with one."""
    if isinstance(value, str) and not value.startswith("{"):
        return None if Path(value).is_file() else f"{name}: {shown(value)} must be a JSON object or a file"
    return MAPPING.wrong(name, value)


def _no_reporter(name: str, value: str) -> str | None:
    from transformers.integrations import get_available_reporting_integrations
    from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK

    known = ("all", "none", *INTEGRATION_TO_CALLBACK)
    if value not in known:
        return str(unknown_name(name, value, known))
    installed = get_available_reporting_integrations()
    if value in ("all", "none", *installed):
        return None
    return f"{name}: the package of {value!r} is not installed; available are {', '.join(['none', *installed])}"


def _no_compiler(name: str, value: str) -> str | None:
    import torch

    backends = torch.compiler.list_backends()
    return None if value in backends else str(unknown_name(name, value, backends))


def _chosen_by_recipes(default: object, why: str) -> Check:
    """An argument of sentence-transformers that a recipe sets itself, or that it cannot apply to all of its texts."""

    def wrong(name: str, value: Any) -> str | None:
        if not value or value == default:
            return None
        return f"{name}: {why}, found {shown(value)}; leave it out"

    return Check(wrong)


STEPS = Check(_no_steps)
WORKERS = at_least(0, 1024)

TRAINER: dict[str, Check] = {
    "output_dir": FOLDER,
    "per_device_train_batch_size": COUNT,
    "per_device_eval_batch_size": COUNT,
    "gradient_accumulation_steps": COUNT,
    "eval_accumulation_steps": COUNT,
    "num_train_epochs": above(0),
    "max_steps": Check(_no_limit),
    "learning_rate": above(0),
    "learning_rate_mapping": Check(_no_learning_rates),
    "lr_scheduler_kwargs": MAPPING,
    "warmup_steps": WEIGHT,
    "warmup_ratio": within("[0, 1]"),
    "weight_decay": WEIGHT,
    "adam_beta1": DROPOUT,
    "adam_beta2": DROPOUT,
    "adam_epsilon": WEIGHT,
    "max_grad_norm": WEIGHT,
    "label_smoothing_factor": DROPOUT,
    "neftune_noise_alpha": WEIGHT,
    "torch_empty_cache_steps": COUNT,
    "torch_compile_backend": Check(_no_compiler),
    "logging_steps": STEPS,
    "eval_steps": STEPS,
    "eval_delay": WEIGHT,
    "save_steps": STEPS,
    "save_total_limit": COUNT,
    "seed": SEED,
    "data_seed": SEED,
    "dataloader_num_workers": WORKERS,
    "dataloader_prefetch_factor": COUNT,
    "dataloader_multiprocessing_context": one_of("fork", "spawn", "forkserver"),
    "ddp_backend": one_of("nccl", "gloo", "mpi", "xccl", "hccl", "cncl", "mccl"),
    "ddp_bucket_cap_mb": COUNT,
    "ddp_timeout": COUNT,
    "local_rank": at_least(-1),
    "report_to": Check(_no_reporter),
    "accelerator_config": Check(_no_configuration),
    "deepspeed": Check(_no_configuration),
    "fsdp_config": Check(_no_configuration),
    "activation_checkpointing_kwargs": MAPPING,
    "gradient_checkpointing_kwargs": MAPPING,
    "save_only_model": _chosen_by_recipes(False, "no run goes on from a checkpoint without its optimizer"),
    "prompts": _chosen_by_recipes(None, "a recipe trains on texts without prompts"),
    "router_mapping": _chosen_by_recipes(None, "a recipe embeds all texts by the default route"),
    "batch_sampler": _chosen_by_recipes("batch_sampler", "a recipe makes its own batches"),
    "multi_dataset_batch_sampler": _chosen_by_recipes("proportional", "a recipe mixes its parts itself"),
}
"""Checks by the argument's name; sentence-transformers' parser and types check all others."""

_NEED_A_MODEL = ("lomo", "galore", "apollo")  # optimizers that cannot be checked without a model


def check_of(name: str, argument: Field[Any]) -> Check | None:
    """The check of an argument: its own, or that of sentence-transformers' argument with its name."""
    return argument.metadata.get("check", TRAINER.get(name))


def check_trainer(training: Any) -> None:
    """Create the optimizer and the scheduler for one parameter, so that errors are reported before anything is read.

    Raises:
        InputError: With the library's message on the optimizer, the scheduler or their arguments.
    """
    import torch
    from transformers import Trainer, get_scheduler

    requested = f"optim {getattr(training.optim, 'value', training.optim)!s}"
    optimizer: Any = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))])
    try:
        if not any(word in requested for word in _NEED_A_MODEL):
            requested += f", optim_args {training.optim_args}" if training.optim_args else ""
            cls, options = Trainer.get_optimizer_cls_and_kwargs(training)
            optimizer = cls([torch.nn.Parameter(torch.zeros(1))], **options)
        requested = f"lr_scheduler_type {getattr(training.lr_scheduler_type, 'value', training.lr_scheduler_type)}"
        get_scheduler(
            training.lr_scheduler_type,
            optimizer=optimizer,
            num_warmup_steps=training.get_warmup_steps(10),
            num_training_steps=10,
            scheduler_specific_kwargs=training.lr_scheduler_kwargs or {},
        )
    except Exception as error:  # optimizers of different libraries raise different errors
        raise InputError(f"{requested}: {' '.join(str(error).split())}") from error
