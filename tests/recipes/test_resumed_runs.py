"""Runs that are resumed at their end, with fewer steps, or in the place of another run."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import SentenceTransformerTrainingArguments
from transformers import Trainer

from recipes import italian_kge, sapbert
from st_biomed.errors import InputError
from st_biomed.release.model_record import BEGUN
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology
from st_biomed.training.checkpoints import checkpoints_in
from st_biomed.training.same_run import check_or_record_run
from tests.recipes.endings import weights

CONFIGS = Path(sapbert.__file__).parent / "configs"
STEPS = ("--smoke", "false", "--per_device_train_batch_size", 8, "--eval_strategy", "no", "--held_out_names", 4)
SAVED = ("--save_strategy", "steps", "--save_steps", 2, "--lr_scheduler_type", "constant", "--learning_rate", 1e-2)

pytestmark = pytest.mark.usefixtures("one_thread")


def run(base: Path, out: Path, *arguments: object) -> None:
    given = [CONFIGS / "sapbert_smoke.yaml", "--base_model", base, "--output_dir", out, *STEPS, *SAVED, *arguments]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["sapbert.py", *map(str, given)])
        sapbert.main()


@pytest.fixture(scope="module")
def whole(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The release of four steps at a constant rate."""
    out = tmp_path_factory.mktemp("whole") / "out"
    run(tiny_bert_folder, out, "--max_steps", 4, "--ema_decay", 0.5)
    return out


def left_by(whole: Path, folder: Path) -> Path:
    """Where the same run stood when all of its steps were taken, and nothing was released."""
    shutil.copytree(whole.with_name("out-training"), folder / "out-training")
    return folder / "out"


def test_a_run_that_has_all_of_its_steps_takes_none(whole: Path, tiny_bert_folder: Path, tmp_path: Path) -> None:
    """Catches a step too many after a failure between the last step and the release, and with it other weights."""
    out = left_by(whole, tmp_path)
    run(tiny_bert_folder, out, "--max_steps", 4, "--ema_decay", 0.5, "--resume_from_checkpoint", "true")
    assert [path.name for path in checkpoints_in(tmp_path / "out-training")] == ["checkpoint-2", "checkpoint-4"]
    assert weights(out) == weights(whole)
    assert json.loads((out / "run.json").read_text())["training_arguments"]["max_steps"] == 4


def test_a_run_is_not_resumed_with_fewer_steps(whole: Path, tiny_bert_folder: Path, tmp_path: Path) -> None:
    """Catches a record of fewer steps than were taken."""
    out = left_by(whole, tmp_path)
    with pytest.raises(
        InputError, match="is of a run of 4 steps, found max_steps 3; a resumed run may be longer, not shorter"
    ):
        run(tiny_bert_folder, out, "--max_steps", 3, "--ema_decay", 0.5, "--resume_from_checkpoint", "true")


def test_seeds_begin_anew_where_the_first_checkpoint_is_not_whole(
    tiny_bert_folder: Path, tmp_path: Path, capsys
) -> None:
    """Catches seeds that cannot be resumed because one was stopped while it wrote its first checkpoint."""
    (tmp_path / "out" / "seed-1-training" / "checkpoint-2").mkdir(parents=True)
    run(tiny_bert_folder, tmp_path / "out", "--max_steps", 2, "--seeds", 1, "--resume_from_checkpoint", "true")
    assert (tmp_path / "out" / "seed-1" / "run.json").is_file()
    assert "passed over: " in capsys.readouterr().out


def test_a_run_by_epochs_is_not_resumed_behind_its_end(whole: Path, tiny_bert_folder: Path, tmp_path: Path) -> None:
    """Catches weights of more steps than the epochs have, released as those of the epochs."""
    out = left_by(whole, tmp_path)
    with pytest.raises(InputError, match="the checkpoint has 4 steps, this run [123]; a resumed run may be longer"):
        run(
            tiny_bert_folder,
            out,
            *("--num_train_epochs", 0.01, "--ema_decay", 0.5, "--resume_from_checkpoint", "true"),
        )


def test_the_trainer_has_the_method_that_ends_a_finished_run() -> None:
    """Catches a version of transformers in which the end of a resumed run goes unnoticed."""
    assert callable(Trainer._run_epoch)


@pytest.mark.parametrize("aside", [False, True])
def test_the_record_beside_checkpoints_is_that_of_their_run(aside: bool, tmp_path: Path) -> None:
    """Catches a run that goes on from an earlier one's checkpoint and is compared later with a third run's record."""
    work = tmp_path / "out-training"
    own, other = work / "checkpoint-4", work / "earlier-checkpoint-4"

    def begun(rate: float, resumed: Path | None) -> Any:
        training = SentenceTransformerTrainingArguments(
            str(work), learning_rate=rate, report_to="none", resume_from_checkpoint=resumed and str(resumed)
        )
        check_or_record_run(RunRecord("sapbert", "org/base", {}, 0, []), training)
        return json.loads((work / BEGUN).read_text())["training_arguments"]["learning_rate"]

    assert begun(2e-2, None) == 2e-2
    if aside:
        assert begun(1e-2, other) == 1e-2, "the checkpoint of a run whose record was replaced"
    else:
        with pytest.raises(InputError, match="was trained with learning_rate 0.02, found 0.01"):
            begun(1e-2, own)


def test_the_graph_stage_may_be_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches all stages that fail after the first, because the graph embeddings are there already."""
    given = [CONFIGS / "italian_kge_smoke.yaml", "--stage", "kge", "--output_dir", tmp_path / "out"]
    for _ in range(2):
        italian_kge.main([str(word) for word in given])
    assert (tmp_path / "out" / "kge" / "results.json").is_file()


def test_the_folder_of_another_run_is_only_read(tiny_bert_folder: Path, tmp_path: Path) -> None:
    """Catches a terminology of an earlier run that is replaced by that of a run that starts from it."""
    earlier = tmp_path / "earlier"
    Terminology.read("toy").subset(below=["TOY:D0"]).save(earlier / "terminology")
    before = Terminology.load(earlier / "terminology").digest
    with pytest.raises(InputError, match="the run of --earlier had another terminology"):
        italian_kge.main(
            [
                *map(str, (CONFIGS / "italian_kge_smoke.yaml", "--stage", "contrastive", "--loss", "v2")),
                *map(str, ("--bare_names", "true", "--base_model", tiny_bert_folder, "--earlier", earlier)),
                *map(str, ("--output_dir", tmp_path / "out")),
            ]
        )
    assert Terminology.load(earlier / "terminology").digest == before
