"""Whether an earlier run, or a finished seed, is a run of the same settings."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import SentenceTransformerTrainingArguments

from st_biomed.errors import InputError
from st_biomed.release.portable import plain
from st_biomed.training.same_run import check_same


def arguments(tmp_path: Path, **options: Any) -> SentenceTransformerTrainingArguments:
    return SentenceTransformerTrainingArguments(output_dir=str(tmp_path / "out"), report_to="none", **options)


@pytest.mark.parametrize("best", [False, True])
def test_a_run_that_kept_other_weights_is_not_the_same(best: bool, tmp_path: Path):
    """Catches the last weights taken for the best ones, and the best for the last."""
    measured = {
        f"{what}_{key}": value for what in ("eval", "save") for key, value in (("strategy", "steps"), ("steps", 1))
    }
    before, now = (arguments(tmp_path, load_best_model_at_end=kept, **measured) for kept in (best, not best))
    record: Any = {"base_model": "x", "seed": 1, "terminologies": [], "corpora": [], "configuration": {}, "losses": {}}
    record["training_arguments"] = plain(before.to_dict())
    with pytest.raises(InputError, match=f"was trained with load_best_model_at_end {best}, found {not best}"):
        check_same(record, record, now, tmp_path)


@pytest.mark.parametrize("final_arguments", [False, True])
def test_last_weights_without_evaluation_are_not_the_best(final_arguments: bool, tmp_path: Path):
    """Catches a phase with last weights that is averaged with others' best; arguments that may still change are left alone."""
    measured = {
        f"{what}_{key}": value for what in ("eval", "save") for key, value in (("strategy", "steps"), ("steps", 1))
    }
    before, now = arguments(tmp_path), arguments(tmp_path, load_best_model_at_end=True, **measured)
    record: Any = {"base_model": "x", "seed": 1, "terminologies": [], "corpora": [], "configuration": {}, "losses": {}}
    record["training_arguments"] = plain(before.to_dict())
    with (
        pytest.raises(InputError, match="load_best_model_at_end False, found True")
        if final_arguments
        else nullcontext()
    ):
        check_same(record, record, now, tmp_path, final_arguments=final_arguments)


def test_a_run_on_other_raw_text_is_refused(tmp_path: Path):
    """Catches text of as many documents that takes the place of the text that was trained on."""
    training = arguments(tmp_path)
    record: Any = {"base_model": "x", "seed": 1, "terminologies": [], "configuration": {}, "losses": {}}
    record["training_arguments"] = plain(training.to_dict())
    before, now = ({**record, "corpora": [{"documents": 60, "words": words}]} for words in (660, 300))
    check_same(before, before, training, tmp_path)
    with pytest.raises(InputError, match=r"was trained with corpus \(documents, words\) \[\[60, 660\]\]"):
        check_same(before, now, training, tmp_path)


@pytest.mark.parametrize("chosen", ["last", "best", "dev"])
def test_dev_sets_that_chose_the_weights_are_compared(chosen: str, tmp_path: Path):
    """Catches weights that were chosen on other dev sets, and a run that is refused for what it only measures."""
    steps = {f"{what}_strategy": "steps" for what in ("eval", "save")} | {"eval_steps": 1, "save_steps": 1}
    training = arguments(tmp_path, load_best_model_at_end=chosen == "best", **steps)
    record: Any = {"base_model": "x", "seed": 1, "terminologies": [], "corpora": [], "losses": {}}
    record["training_arguments"] = plain(training.to_dict())
    average = "dev" if chosen == "dev" else "none"
    before, now = ({**record, "configuration": {"linking": [name], "average": average}} for name in ("a", "b"))
    if chosen == "last":
        check_same(before, now, training, tmp_path)
        return
    with pytest.raises(InputError, match=r"was trained with linking .*a.*, found .*b"):
        check_same(before, now, training, tmp_path)
    if chosen == "dev":
        check_same(before, now, training, tmp_path, free=("average",))
