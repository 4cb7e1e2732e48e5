"""A checkpoint that somebody else made, which the trainer loads itself, runs no code and reads nothing elsewhere."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformerTrainingArguments

from st_biomed.errors import InputError
from st_biomed.release.run_record import RunRecord
from st_biomed.training.checkpoints import check_checkpoint, seal
from st_biomed.training.output import output_folders
from st_biomed.training.phases import Phases

PICKLES = "model_args weights_only is not a setting that a folder may give"


@pytest.fixture
def made(tiny_bert_folder: Path, tmp_path: Path):
    """Makes a whole checkpoint whose encoder is in a folder of it."""

    def make(folder: Path, *, pickles: bool = False, state: str = "{}") -> Path:
        shutil.copytree(tiny_bert_folder, folder)
        inner = folder / "0_Transformer"
        inner.mkdir()
        for path in [path for path in folder.iterdir() if path.is_file()]:
            if path.name not in ("modules.json", "config_sentence_transformers.json"):
                path.rename(inner / path.name)
        modules = json.loads((folder / "modules.json").read_text())
        modules[0]["path"] = "0_Transformer"
        (folder / "modules.json").write_text(json.dumps(modules))
        if pickles:
            (inner / "sentence_bert_config.json").write_text('{"model_args": {"weights_only": false}}')
        (folder / "trainer_state.json").write_text(state)
        seal(folder)
        return folder

    return make


def given(tmp_path: Path, point: str) -> SentenceTransformerTrainingArguments:
    out = str(tmp_path / "out")
    return SentenceTransformerTrainingArguments(output_dir=out, report_to="none", resume_from_checkpoint=point)


def test_a_checkpoint_may_not_allow_pickles(made, tmp_path: Path):
    """Catches a check of the checkpoint's own folder alone: the settings of its encoder are arguments of the loader."""
    folder = made(tmp_path / "out-training" / "checkpoint-5", pickles=True)
    for point in ("true", str(folder)):
        with pytest.raises(InputError, match=PICKLES), output_folders(given(tmp_path, point), "x", False):
            pass


def test_the_checkpoint_of_a_phase_may_not_either(made, tmp_path: Path):
    """Catches phases that take their checkpoints unchecked."""
    arguments = given(tmp_path, "true")
    work = tmp_path / "out-training" / "phases" / "run-1-training"
    made(work / "checkpoint-1", pickles=True)
    own = RunRecord("x", "base", {}, 0, [])
    with output_folders(arguments, "x", False, in_phases=True) as folders, pytest.raises(InputError, match=PICKLES):
        Phases(folders, arguments)._resume(replace(arguments, output_dir=str(work)), work, own, ())


def test_its_modules_are_of_known_classes(made, tmp_path: Path):
    folder = made(tmp_path / "checkpoint-1")
    check_checkpoint(folder)
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["type"] = "os.path"
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(InputError, match="os.path is a class of neither"):
        check_checkpoint(folder)


def test_the_best_checkpoint_is_beside_it_and_checked_too(made, tmp_path: Path):
    """Catches a state that names any folder, which the trainer loads when training ends."""
    made(tmp_path / "work" / "checkpoint-1", pickles=True)
    for elsewhere, message in (
        ("elsewhere", "must be a folder beside checkpoint-2, found"),
        ("work/checkpoint-1", PICKLES),
    ):
        (tmp_path / elsewhere).mkdir(exist_ok=True)
        state = json.dumps({"best_model_checkpoint": str(tmp_path / elsewhere)})
        folder = made(tmp_path / "work" / "checkpoint-2", state=state)
        with pytest.raises(InputError, match=message):
            check_checkpoint(folder)
        shutil.rmtree(folder)
    check_checkpoint(made(tmp_path / "work" / "checkpoint-3", state='{"best_model_checkpoint": "gone/checkpoint-9"}'))
