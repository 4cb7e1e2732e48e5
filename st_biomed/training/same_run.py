"""Checks that a finished or interrupted run was trained with the settings of the present one, by the record of the run."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path, PurePath
from typing import Any

from transformers import TrainingArguments

from st_biomed.averaging.arguments import AveragingArguments
from st_biomed.errors import InputError, shown
from st_biomed.release.model_record import BEGUN
from st_biomed.release.portable import plain
from st_biomed.release.run_data import RunData, read_run, write_run
from st_biomed.release.run_record import RunRecord
from st_biomed.training.checkpoints import belongs_to, is_set_aside
from st_biomed.training.output import resume_point

AVERAGING = {argument.name for argument in fields(AveragingArguments)}
"""Arguments of recipes that decide nothing until training has ended."""

_MAY_GROW = ("num_train_epochs", "max_steps")
"""Arguments of the trainer by which a resumed run may be longer."""

_DECIDE_WEIGHTS = (
    *("learning_rate", "learning_rate_mapping", "lr_scheduler_type", "lr_scheduler_kwargs", "warmup_steps"),
    *("warmup_ratio", "optim", "optim_args", "adam_beta1", "adam_beta2", "adam_epsilon", "weight_decay"),
    *("max_grad_norm", "label_smoothing_factor", "neftune_noise_alpha", "bf16", "fp16", "data_seed"),
    *("optim_target_modules", "ignore_data_skip"),
    *("per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "max_steps"),
)
"""Arguments of the trainer that decide the weights."""

_DECIDE_CHECKPOINT = (
    "load_best_model_at_end",
    "metric_for_best_model",
    "greater_is_better",
    "eval_strategy",
    "eval_steps",
)
"""Arguments of the trainer that decide which weights are kept, if the best are."""

_DECIDE_BY_DEV = {"benchmarks", "linking"}
"""Arguments of recipes whose dev splits decide the weights if the best are kept, or the share of an average."""

_MAY_DIFFER = {
    *("base_model", "terminology"),  # compared by themselves
    *("benchmarks", "linking", "relatedness"),  # measured only
    *("cache_dir", "corpus_license", "distilled_texts_license", "keep_trained", "license"),
    *("overwrite", "processes", "seeds", "trust_remote_code"),
}
"""Arguments of recipes that may differ."""


def check_or_record_run(record: RunRecord, training: TrainingArguments) -> None:
    """Keep the record of a run that begins, and refuse to resume one with other settings, except for its steps.

    A checkpoint of an earlier run, which was set aside, has no record any more and is not checked.

    Args:
        record: The record of the present run, with its losses.
        training: The trainer's arguments, as training takes them.

    Raises:
        InputError: An error of :func:`check_same`.
    """
    record.add_training_arguments(training)
    point, work = resume_point(training), Path(training.output_dir or ".")
    home = Path(point).parent if isinstance(point, str) else work
    if point and not (isinstance(point, str) and is_set_aside(Path(point))) and (home / BEGUN).is_file():
        earlier, given = read_run(home / BEGUN), plain(training.to_dict())
        _check_not_shorter(point, earlier["training_arguments"], training, home)
        earlier["training_arguments"] |= {name: given[name] for name in _MAY_GROW}
        check_same(earlier, record.to_dict(), training, home, free=AVERAGING, final_arguments=True)
    is_own = point and (not isinstance(point, str) or belongs_to(Path(point), work))
    with training.main_process_first(desc="record"):
        if training.should_save and not (is_own and (work / BEGUN).is_file()):
            work.mkdir(parents=True, exist_ok=True)
            write_run(record.to_dict(), work / BEGUN)


def _check_not_shorter(
    point: str | bool, earlier: Mapping[str, Any], training: TrainingArguments, folder: Path
) -> None:
    """Refuse fewer steps than those of the checkpoint's run, or fewer epochs than a run began with, where these decide."""
    state = Path(point, "trainer_state.json") if isinstance(point, str) else None
    planned = json.loads(state.read_text("utf-8"))["max_steps"] if state is not None and state.is_file() else 0
    if 0 < training.max_steps < planned:
        raise InputError(
            f"{point}: is of a run of {planned:,} steps, found max_steps {training.max_steps}; a resumed run may be longer, not "
            "shorter"
        )
    epochs = earlier.get("num_train_epochs") or 0
    if training.max_steps <= 0 and (earlier.get("max_steps") or -1) <= 0 and training.num_train_epochs < epochs:
        raise InputError(
            f"{folder}: was begun with num_train_epochs {epochs:g}, found {training.num_train_epochs:g}; a resumed run may be "
            "longer, not shorter"
        )


def check_same(
    earlier: RunData,
    now: RunData,
    training: TrainingArguments,
    folder: Path,
    *,
    free: Collection[str] = (),
    final_arguments: bool = False,
    instead: str = "leave --resume_from_checkpoint out to begin anew",
) -> None:
    """Raise InputError if a finished run was trained with other settings than the present one.

    Args:
        earlier: The record of the finished run.
        now: The record of the present run; those of its losses that it has already are compared.
        training: The trainer's arguments of the present run.
        folder: The folder of the finished run.
        free: Arguments of the recipe that may differ, in addition to those that never decide the weights.
        final_arguments: Whether ``training`` is final. Otherwise training may still switch evaluation off because nothing
            is measured, and the evaluation arguments of an earlier run without evaluation are not compared.
        instead: What else can be done, for the message.

    Raises:
        InputError: With the first setting that differs and its two values.
    """
    earlier_arguments, given = earlier["training_arguments"], plain(training.to_dict())
    evaluated = final_arguments or earlier_arguments.get("eval_strategy") != "no"
    best = _DECIDE_CHECKPOINT if evaluated and (_keeps_best(earlier_arguments) or _keeps_best(given)) else ()
    by_dev = best or ("average" not in free and now["configuration"].get("average") == "dev")
    may_differ = {*(_MAY_DIFFER - _DECIDE_BY_DEV if by_dev else _MAY_DIFFER), *free}
    found, wanted = (_settings(run, may_differ) for run in (earlier, now))
    found |= {name: earlier_arguments.get(name) for name in (*_DECIDE_WEIGHTS, *best)}
    wanted |= weight_arguments(training) | {name: given.get(name) for name in best}
    found["loss"] = {name: loss for name, loss in earlier["losses"].items() if name in now["losses"]}
    wanted["loss"] = now["losses"]
    for name, value in wanted.items():
        if name in found and not _equal(found[name], value):
            raise InputError(
                f"{folder}: was trained with {name} {shown(found[name])}, found {shown(value)}; give the same, or {instead}"
            )


def weight_arguments(training: TrainingArguments) -> dict[str, Any]:
    """The arguments of the trainer that decide the weights, as they are in a record."""
    arguments = training.to_dict()
    return {name: plain(arguments.get(name)) for name in _DECIDE_WEIGHTS}


def _settings(run: RunData, free: Collection[str]) -> dict[str, Any]:
    return {
        "base_model": run["base_model"],
        "seed": run["seed"],
        "terminology (SHA-256)": [terminology["digest"] for terminology in run["terminologies"]],
        "corpus (documents, words)": [[corpus["documents"], corpus["words"]] for corpus in run["corpora"]],
        **{name: value for name, value in run["configuration"].items() if name not in free},
    }


def _keeps_best(arguments: Mapping[str, Any]) -> bool:
    return bool(arguments.get("load_best_model_at_end"))


def _equal(found: Any, wanted: Any) -> bool:
    """Whether two values are equal. Paths are compared by the parts at their ends that both have: a record has no location."""
    if isinstance(found, str) and isinstance(wanted, str):
        parts, others = PurePath(found).parts, PurePath(wanted).parts
        n = min(len(parts), len(others))
        return parts[-n:] == others[-n:]
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_equal, found, wanted))
    return bool(found == wanted)
