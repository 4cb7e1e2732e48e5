"""The record of a model that a run left: what a later training or average learns of its data."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.leaderboard.recorded_runs import run_of
from st_biomed.release.base_model import first_model_folder
from st_biomed.release.model_record import BEGUN, CHECKPOINT_FILES, record_of, release_of
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology


@pytest.fixture
def kept(tmp_path: Path, tiny_bert_folder: Path) -> Path:
    """The trained model beside a release; the record is in the release alone, as of versions that left none beside it."""
    trained = tmp_path / "out-training" / "trained"
    shutil.copytree(tiny_bert_folder, trained)
    record = RunRecord("sapbert", str(tiny_bert_folder), {}, 0, [Terminology.read("toy", trees=2, depth=1)])
    record.save(tmp_path / "out")
    return trained


def test_a_run_that_starts_from_a_kept_model_knows_its_data(kept: Path, tiny_bert_folder: Path):
    """Catches licensed names that the search before a release does not look for, since an earlier stage is forgotten."""
    toy = record_of(kept.parents[1] / "out")
    (stage,) = RunRecord("hiprbert", str(kept), {}, 0, []).to_dict()["earlier"]
    assert toy and stage["terminologies"] == toy["terminologies"]
    assert first_model_folder(kept) != kept, "not the base model of the first run"
    RunRecord("hiprbert", str(tiny_bert_folder), {}, 1, []).save(kept)
    own = record_of(kept)
    assert own and own["recipe"] == "hiprbert", "that of another run in the release folder"


@pytest.mark.parametrize("here", ["out-training", "out-training/trained", "."])
def test_the_record_is_found_from_every_folder(kept: Path, here: str, monkeypatch: pytest.MonkeyPatch):
    """Catches a relative path whose folder's name is not in it."""
    there = kept.parents[1] / here
    monkeypatch.chdir(there)
    relative = Path(os.path.relpath(kept, there))
    assert record_of(relative) == record_of(kept) and release_of(relative) == kept.parents[1] / "out"


def test_a_kept_model_without_a_record_is_refused(kept: Path, tiny_bert_folder: Path):
    shutil.rmtree(kept.parents[1] / "out")
    with pytest.raises(
        InputError, match=r"trained: the record of its run is missing \(.*out/run.json\), so its training data"
    ):
        RunRecord("hiprbert", str(kept), {}, 0, [])
    assert run_of(str(kept)) is None, "measuring needs no record"
    assert record_of(tiny_bert_folder) is None and record_of("org/name-training/trained") is None


def test_a_checkpoint_has_the_record_of_its_run(kept: Path, tmp_path: Path, tiny_bert_folder: Path):
    """Catches terminologies of a run that are forgotten, and not looked for, where another starts from its checkpoint."""
    checkpoint = shutil.copytree(tiny_bert_folder, kept.parent / "checkpoint-2")
    assert record_of(checkpoint) is None, "of a training of others"
    (checkpoint / CHECKPOINT_FILES).write_text("{}")
    with pytest.raises(
        InputError, match=r"checkpoint-2: is a checkpoint whose run's record is not beside it \(.*begun.json\)"
    ):
        RunRecord("hiprbert", str(checkpoint), {}, 0, [])
    shutil.copy(tmp_path / "out" / "run.json", kept.parent / BEGUN)
    (stage,) = RunRecord("hiprbert", str(checkpoint), {}, 0, []).to_dict()["earlier"]
    assert stage["terminologies"] == record_of(tmp_path / "out")["terminologies"]
    aside = checkpoint.rename(kept.parent / "earlier-checkpoint-2")
    with pytest.raises(InputError, match="is a checkpoint whose run's record is not beside it"):
        record_of(aside)
