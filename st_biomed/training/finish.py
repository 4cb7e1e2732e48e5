"""The end of every recipe: save the trained model, measure it, record the results and write the release."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import torch
from huggingface_hub import HfApi
from sentence_transformers import SentenceTransformer
from torch import nn
from transformers import TrainingArguments

from st_biomed.averaging.with_base import AverageWithBase
from st_biomed.encoder.released import require_this_package
from st_biomed.errors import InputError, disk_error
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.files import copy_folder, remove, replacing
from st_biomed.release.averaging_text import averaging_sentences
from st_biomed.release.folder import fill_release
from st_biomed.release.hub import plan_push, push_plan
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology
from st_biomed.training.checkpoints import drop_set_aside, last_complete_checkpoint
from st_biomed.training.output import OutputFolders

Measured = dict[str, dict[str, float]]
"""Figures by the evaluator's name."""

Found = TypeVar("Found")


def finish(
    folders: OutputFolders,
    *,
    save: Callable[[Path], None],
    measure: Callable[[], Found],
    release: Callable[[Path, Found], None],
    beside: Sequence[str] = (),
    keep: bool = False,
    writes: bool = True,
) -> Found:
    """Save the trained model, measure it, write the new release beside the earlier one, and replace the earlier one.

    If the process is killed at any step, one complete release remains, the earlier or the new one. Until the new
    release is written, the trained model is in the folder ``trained`` beside the checkpoints.

    Args:
        save: Writes the trained model into an empty folder.
        measure: Measures the trained model; every process calls it.
        release: Writes the release into an empty folder, and checks it.
        beside: Names of folders that ``save`` writes and that are copied beside the checkpoints.
        keep: Whether to keep ``trained``, because the release has another form.

    Returns:
        The result of ``measure``.

    Raises:
        InputError: Measuring or writing the release failed, or the disk is full; the message names the folder of the
            trained model.
    """
    if writes:
        last = last_complete_checkpoint(folders.work)[0]
        unwritten = f"{folders.trained} was not written" + ("" if last is None else f", the last checkpoint is {last}")
        with _state_in_errors(unwritten), replacing(folders.trained) as draft:
            save(draft)
        drop_set_aside(folders.work)
    with _state_in_errors(f"{folders.release} was not written, the trained model is in {folders.trained}"):
        found = measure()
        if not writes:
            return found
        with replacing(folders.release) as draft:
            release(draft, found)
    with _state_in_errors(f"{folders.release} is the new release, and {folders.trained} stays"):
        for name in beside:
            with replacing(folders.work / name) as draft:
                copy_folder(folders.trained / name, draft)
        if not keep:
            remove(folders.trained)
    return found


@contextmanager
def _state_in_errors(state: str) -> Iterator[None]:
    """Add the state of the run to an input error or an error of the disk."""
    try:
        yield
    except Exception as error:
        explained = error if isinstance(error, InputError) else disk_error(error)
        if explained is None:
            raise
        raise InputError(f"{explained}; {state}") from error


def evaluate_and_release(  # noqa: PLR0913 - one call at the end of every recipe that trains an encoder
    model: SentenceTransformer,
    suite: EvaluatorSuite,
    folders: OutputFolders,
    record: RunRecord,
    *,
    before: Mapping[str, Mapping[str, float]],
    terminologies: Sequence[Terminology],
    training: TrainingArguments | None = None,
    after: Mapping[str, Mapping[str, float]] | None = None,
    base_model: str | None = "",
    form: Callable[[SentenceTransformer], SentenceTransformer] | None = None,
    beside: Mapping[str, Callable[[Path], None]] | None = None,
    shown: Callable[[Measured], str] | None = None,
    needs_code: bool = False,
    averaging: AverageWithBase | None = None,
) -> Measured:
    """:func:`finish` for an encoder: measure the trained model, write the release folder, and publish it if requested.

    Args:
        record: The record to which the results are added.
        before: The results of the suite before training.
        terminologies: The terminologies of training and measurement; the release is checked for their strings.
        training: The trainer's arguments, from which the process that writes is known; without them, this process writes.
        after: The results after training, if they are known already.
        base_model: The model whose tokenizer the release may have: the record's by default; ``None`` if there is none.
        form: Makes the released model from the trained one, e.g. :func:`~st_biomed.release.fold_modules.fold_modules`.
        beside: Folder name to a function that writes another trained module, which stays in the training folder.
        shown: The text that is printed for the results; by default the suite's table.
        needs_code: Whether the released model must be loaded with ``trust_remote_code=True``.
        averaging: Averages the trained weights with those of the base model; the average is measured and released.

    Returns:
        The results of the suite after training.

    Raises:
        InputError: Training diverged, or an error of :func:`finish` or :func:`publish`.
    """
    writes = training is None or training.process_index == 0
    label = "the trained model" if averaging is None else "the averaged model"
    logged_label = label if training is not None and training.should_log else ""
    modules_beside = beside or {}
    tokenizer_of = record.base_model if base_model == "" else base_model
    if writes:
        check_finite(model, folders)

    def save(folder: Path) -> None:
        model.save_pretrained(str(folder), create_model_card=False)
        require_this_package(folder)
        record.save(folder)  # a training that starts from this model has to know its data
        for name, write in modules_beside.items():
            write(folder / name)

    def release(folder: Path, results: Measured) -> None:
        for name, figures in results.items():
            record.add_results(name, "before", before[name])
            record.add_results(name, "after", figures)
        record.add_published(
            figure for figure in suite.published if any(figure.metric in metrics for metrics in results.values())
        )
        fill_release(
            model if form is None else form(model),
            folder,
            run=record.to_dict(),
            terminologies=terminologies,
            base_model=tokenizer_of,
        )

    def measure() -> Measured:
        if averaging is not None:
            averaged = averaging.apply(model, verbose=bool(logged_label))
            record.add_averaging(averaged)
            if logged_label:
                print(" ".join(averaging_sentences(averaged, record.recipe)), flush=True)
        return (
            suite.measure(model, logged_label)
            if after is None
            else {name: {**figures} for name, figures in after.items()}
        )

    results = finish(
        folders,
        save=save,
        measure=measure,
        release=release,
        beside=list(modules_beside),
        keep=form is not None or (averaging is not None and averaging.keep_trained),
        writes=writes,
    )
    if writes:
        if suite.tests:
            print(f"\n{suite.table(before=before, after=results) if shown is None else shown(results)}")
        flag = ", trust_remote_code=True" if needs_code else ""
        print(f"\nSaved. Load it with SentenceTransformer({str(folders.release)!r}{flag})")
        publish(folders, terminologies, tokenizer_of)
    return results


@torch.no_grad()
def check_finite(model: nn.Module, folders: OutputFolders) -> None:
    """Raise InputError if a weight is NaN or infinite, before any file is replaced.

    Raises:
        InputError: Training diverged.
    """
    weights = dict(model.named_parameters())
    broken = [name for name, weight in weights.items() if not torch.isfinite(weight).all()]
    if broken:
        stays = f", {folders.release} stays as it was" if (folders.release / "run.json").is_file() else ""
        raise InputError(
            f"training diverged: {len(broken)} of {len(weights)} tensors hold NaN or infinity, the first is {broken[0]}; "
            f"nothing was released{stays}; lower --learning_rate or --max_grad_norm"
        )


def publish(folders: OutputFolders, terminologies: Sequence[Terminology], base_model: str | None) -> None:
    """Publish the release folder if ``--push_to_hub`` is set.

    Args:
        folders: The output folders, after the release is written.
        terminologies: The terminologies of training and measurement.
        base_model: The model whose tokenizer the release may have; that of the record by default.

    Raises:
        InputError: Publishing failed; the message has the command that repeats it.
    """
    if folders.push is None:
        return
    api = HfApi(token=folders.token)
    try:
        plan = plan_push(folders.release, folders.push, terminologies=terminologies, base_model=base_model, api=api)
        print(f"\n{plan}")
        pushed = push_plan(plan, api=api)
    except InputError as error:
        again = f"st-biomed release {folders.release} {folders.push.repo_id} --push"
        raise InputError(f"{error}; the release is in {folders.release}: {again}") from error
    print(f"\nPublished: {pushed.url}")
