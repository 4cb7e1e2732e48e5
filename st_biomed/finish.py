"""How a recipe ends: the trained model is kept, measured, recorded and released."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from huggingface_hub import HfApi
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer

from st_biomed.errors import InputError
from st_biomed.evaluators.suite import EvaluatorSuite
from st_biomed.loading import require_this_package
from st_biomed.release.folder import save_release
from st_biomed.release.hub import plan_push, push_plan
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology
from st_biomed.training import OutputFolders

Measured = dict[str, dict[str, float]]
"""Figures by the evaluator's name."""


def measure_and_release(  # noqa: PLR0913 - one call at the end of every recipe
    trainer: SentenceTransformerTrainer,
    suite: EvaluatorSuite,
    folders: OutputFolders,
    record: RunRecord,
    *,
    before: Mapping[str, Mapping[str, float]],
    terminologies: Sequence[Terminology],
    base_model: str | None = None,
    form: Callable[[SentenceTransformer], SentenceTransformer] | None = None,
    needs_code: bool = False,
) -> Measured:
    """Measure what was trained, and write the release folder.

    The model as it was trained is saved first, to ``trained`` beside the checkpoints, so that nothing is lost where
    measuring or releasing fails. It is removed in the end, unless the release has another form.

    Args:
        trainer: After training.
        suite: What is measured.
        folders: Where to.
        record: Gets the results.
        before: What the suite found before training.
        terminologies: What was trained and measured on, for the check that none of it leaves.
        base_model: Whose tokenizer the released one may equal; the record's by default.
        form: Makes the model that is released of the one that was trained, e.g. :func:`~st_biomed.release.bake.bake`.
        needs_code: Whether the released model is loaded with ``trust_remote_code=True``.

    Returns:
        What the suite found.
    """
    model: Any = trainer.model
    trained = folders.work / "trained"
    here = trainer.is_world_process_zero()
    if here:
        model.save_pretrained(str(trained), create_model_card=False)
        require_this_package(trained)
    after = suite.measure(model, "the trained model" if trainer.args.should_log else "")
    if not here:
        return after
    for name, found in after.items():
        record.add_results(name, "before", before[name])
        record.add_results(name, "after", found)
    record.add_published(one for one in suite.published if any(one.metric in found for found in after.values()))
    folders.make_room()
    save_release(
        model if form is None else form(model),
        folders.release,
        run=record.to_dict(),
        terminologies=terminologies,
        base_model=base_model or record.base_model,
    )
    if form is None:
        shutil.rmtree(trained)
    if suite.tests:
        print(f"\n{suite.table(before=before, after=after)}")
    flag = ", trust_remote_code=True" if needs_code else ""
    print(f"\nSaved. Load it with SentenceTransformer({str(folders.release)!r}{flag})")
    publish(folders, terminologies, base_model or record.base_model)
    return after


def publish(folders: OutputFolders, terminologies: Sequence[Terminology], base_model: str | None) -> None:
    """Publish the release folder where ``--push_to_hub`` says; without it, do nothing.

    Args:
        folders: Of the run, after its release is saved.
        terminologies: What was trained and measured on.
        base_model: Whose tokenizer the released one may equal; that of the record by default.

    Raises:
        InputError: What is in the way, and the command that repeats the publishing alone.
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
