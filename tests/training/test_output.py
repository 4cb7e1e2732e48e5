"""Where recipes write: what somebody has there is left alone, and what a run goes on from is whole."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformerTrainingArguments

from st_biomed.errors import InputError
from st_biomed.files import FolderInUse
from st_biomed.release.hub_plan import PushOptions
from st_biomed.release.model_record import BEGUN
from st_biomed.release.push_target import push_target
from st_biomed.terminology import Terminology
from st_biomed.training.checkpoints import seal
from st_biomed.training.output import OutputFolders, output_folders, resume_point

HOLD = """
import sys, time
from st_biomed.files import lock
sys.argv[0] = "sapbert.py"
with lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


def arguments(tmp_path: Path, **options) -> SentenceTransformerTrainingArguments:
    return SentenceTransformerTrainingArguments(output_dir=str(tmp_path / "out"), report_to="none", **options)


def checked(given: SentenceTransformerTrainingArguments, overwrite: bool = True, **options) -> OutputFolders:
    """The folders of a run that ends at once."""
    with output_folders(given, "x", overwrite, **options) as folders:
        return folders


def checkpoint(work: Path, step: int, content: str = "weights") -> Path:
    """A whole checkpoint of invented files."""
    folder = work / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    for name in ("model.safetensors", "optimizer.pt", "trainer_state.json"):
        (folder / name).write_text("{}" if name == "trainer_state.json" else content)
    seal(folder)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_earlier_run_is_replaced_only_when_asked(tmp_path: Path):
    """Catches a thesis deleted because it lay in the output folder."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text("{}")
    checkpoint(tmp_path / "out-training", 5)
    (tmp_path / "out-training" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="out: already contains a release; .* --overwrite"):
        checked(arguments(tmp_path), overwrite=False)
    given = arguments(tmp_path)
    folders = checked(given)
    assert (folders.release, folders.work) == (tmp_path / "out", tmp_path / "out-training")
    assert given.output_dir == str(tmp_path / "out-training")
    (tmp_path / "out" / "chapters").mkdir(parents=True)
    (tmp_path / "out" / "chapters" / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="contains chapters/thesis.txt in addition to a release"):
        checked(arguments(tmp_path))
    (tmp_path / "out" / "run.json").unlink()
    with pytest.raises(InputError, match="is not empty and has no run.json"):
        checked(arguments(tmp_path))
    assert (tmp_path / "out" / "chapters" / "thesis.txt").is_file()
    assert names(tmp_path) == ["out", "out-training"]


def test_checkpoints_of_an_earlier_run_wait_until_this_one_has_its_own(tmp_path: Path, capsys):
    """Catches the last weights of a killed run removed by the next, which may be killed as well."""
    work = tmp_path / "out-training"
    for _ in range(2):
        checkpoint(work, 5)
        (work / "runs").mkdir()
        checked(arguments(tmp_path)).begin(Terminology.read("toy"))
    assert names(work) == ["earlier-checkpoint-5", "earlier-checkpoint-5-2", "terminology"]
    assert "is kept: " in capsys.readouterr().out


def test_what_was_trained_and_never_released_is_not_lost(tmp_path: Path):
    """Catches trained weights that a second start of the same command removes."""
    (tmp_path / "out-training" / "trained").mkdir(parents=True)
    with pytest.raises(InputError, match=r"trained: holds what an earlier run trained and did not release; move it"):
        checked(arguments(tmp_path), overwrite=False)
    checkpoint(tmp_path / "out-training", 5)
    with pytest.raises(InputError, match=r"--resume_from_checkpoint true ends that run"):
        checked(arguments(tmp_path), overwrite=False)
    assert checked(arguments(tmp_path, resume_from_checkpoint="true"), overwrite=False).checkpoint is not None
    checked(arguments(tmp_path)).begin(Terminology.read("toy"))
    assert (tmp_path / "out-training" / "trained").is_dir(), "it stays until something new is trained"


def test_a_run_that_is_resumed_loses_nothing_and_goes_on_with_the_same_terms(tmp_path: Path):
    """Catches checkpoints deleted before they are read, and a run that goes on with other data without a word."""
    work = tmp_path / "out-training"
    with pytest.raises(InputError, match="out-training: holds no checkpoint to resume from"):
        checked(arguments(tmp_path, resume_from_checkpoint="true"))
    checkpoint(work, 5)
    with pytest.raises(InputError, match=r"nowhere: is no checkpoint; .* holds checkpoint-5"):
        checked(arguments(tmp_path, resume_from_checkpoint="nowhere"))
    folders = checked(arguments(tmp_path, resume_from_checkpoint="true"))
    folders.begin(Terminology.read("toy"))
    folders.begin(Terminology.read("toy"))
    assert (work / "checkpoint-5").is_dir() and folders.checkpoint == work / "checkpoint-5"
    with pytest.raises(InputError, match="was trained on another terminology or split"):
        folders.begin(Terminology.read("toy", trees=2))


@pytest.mark.parametrize("aside", [False, True])
def test_a_run_from_a_checkpoint_of_another_run_leaves_none_of_its_own_folder(tmp_path: Path, aside: bool):
    """Catches a second kill after which the wrong run's checkpoint is resumed, and the terminology of that run."""
    work = tmp_path / "out-training"
    checkpoint(work, 5)
    point = checkpoint(other := work if aside else work.with_name("other-training"), 9)
    Terminology.read("toy", trees=2).save(work / "terminology")
    if aside:
        point = point.rename(work / "earlier-checkpoint-9")
    else:
        Terminology.read("toy").save(other / "terminology")
    folders = checked(arguments(tmp_path, resume_from_checkpoint=str(point)))
    folders.begin(Terminology.read("toy"))
    assert names(work) == ["earlier-checkpoint-5", *(["earlier-checkpoint-9"] * aside), "terminology"]
    assert Terminology.load(work / "terminology").digest == Terminology.read("toy").digest
    if not aside:
        with pytest.raises(InputError, match="other-training: the checkpoint was trained on another terminology"):
            folders.begin(Terminology.read("toy", trees=2))


def test_the_last_whole_checkpoint_is_taken_and_said(tmp_path: Path, capsys):
    """Catches a traceback where a kill left half a checkpoint, and later ones that the run would mix with its own."""
    work = tmp_path / "out-training"
    for step in (9, 10, 11, 12):
        checkpoint(work, step)
    (work / "checkpoint-12" / "checkpoint_files.json").unlink()
    (work / "checkpoint-11" / "optimizer.pt").write_text("half")
    given = arguments(tmp_path, resume_from_checkpoint="true")
    folders = checked(given)
    assert resume_point(given) == str(work / "checkpoint-10") and folders.checkpoint == work / "checkpoint-10"
    lines = capsys.readouterr().out.splitlines()
    end = "; the checkpoint is not whole"
    assert lines[0] == f"passed over: {work}/checkpoint-12/checkpoint_files.json: is missing, it is written last{end}"
    assert lines[1] == f"passed over: {work}/checkpoint-11/optimizer.pt: truncated, has 4 bytes and had 7{end}"
    assert lines[2] == f"going on from {work / 'checkpoint-10'}"
    folders.begin(Terminology.read("toy"))
    assert names(work)[:4] == ["checkpoint-10", "checkpoint-9", "earlier-checkpoint-11", "earlier-checkpoint-12"]
    with pytest.raises(InputError, match=r"earlier-checkpoint-11/optimizer.pt: truncated, .* true takes"):
        checked(arguments(tmp_path, resume_from_checkpoint=str(work / "earlier-checkpoint-11")))
    for step in (9, 10):
        (work / f"checkpoint-{step}" / "trainer_state.json").unlink()
    with pytest.raises(
        InputError,
        match=r"holds no whole checkpoint .*checkpoint-10/trainer_state.json: is missing.*name one of an earlier",
    ):
        checked(arguments(tmp_path, resume_from_checkpoint="true"))


def test_a_second_run_is_told_at_once_who_writes_there(tmp_path: Path):
    """Catches two trainings that write into one folder, and a second one that waits for hours."""
    for held in ("out", "out-training"):
        command = [sys.executable, "-c", HOLD, tmp_path / held]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stdout.readline() == "held\n"
            found = rf"{held}: sapbert.py .*\(process {process.pid} on .*\) has been writing to it since 20"
            with pytest.raises(FolderInUse, match=found):
                checked(arguments(tmp_path))
            process.kill()
    with output_folders(arguments(tmp_path), "x", False):
        other = [sys.executable, "-c", HOLD, str(tmp_path / "out-training")]
        ended = subprocess.run(other, capture_output=True, text=True)
        assert f"(process {os.getpid()} on" in ended.stderr
    assert names(tmp_path) == []


def test_only_the_main_process_holds_the_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Catches a distributed run whose second process is refused by the first."""
    given = arguments(tmp_path)
    with output_folders(arguments(tmp_path), "x", False):
        monkeypatch.setattr("st_biomed.training.output.is_main", lambda _: False)
        monkeypatch.setattr("st_biomed.training.output.lock", forbidden)
        assert checked(given, overwrite=False).work == tmp_path / "out-training"


@contextmanager
def forbidden(path: Path):
    raise AssertionError(path)
    yield


@pytest.mark.parametrize("inside", ["trained", "checkpoint-5"])
def test_a_base_model_that_the_run_itself_replaces_is_refused_before_training(inside: str, tmp_path: Path):
    """Catches a model that is gone when its tokenizer is compared, after a night of training."""
    base = tmp_path / "out-training" / inside
    base.mkdir(parents=True)
    with pytest.raises(InputError, match=rf"{inside}: is in .*out-training, which this run replaces"):
        checked(arguments(tmp_path), base_model=str(base))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text("{}")
    (tmp_path / "out" / "config.json").write_text("{}")
    assert checked(arguments(tmp_path), base_model=str(tmp_path / "out")).release == tmp_path / "out"


def test_a_base_model_that_is_not_there_is_found_before_data_is_read(tmp_path: Path):
    missing = tmp_path / "nothing" / "here" / "at-all"
    with pytest.raises(InputError, match="nothing/here/at-all"):
        checked(arguments(tmp_path), base_model=str(missing))


@pytest.mark.parametrize(
    ("output", "message"),
    [("file", "file: is a file, expected a folder"), ("file/below/it", "file: is a file"), ("/", "with a name")],
)
def test_what_cannot_be_an_output_folder(output: str, message: str, tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    given = SentenceTransformerTrainingArguments(output_dir=str(tmp_path / output), report_to="none")
    with pytest.raises(InputError, match=message):
        checked(given)


def test_the_folder_one_is_in_is_refused_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Catches a traceback of pathlib, and a release that replaces the folder in which the process works."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(InputError, match="is the working directory, so it cannot be replaced; choose a folder below"):
        checked(SentenceTransformerTrainingArguments(output_dir=".", report_to="none"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"push_to_hub": True}, "push_to_hub must be the repository, owner/name, found True"),
        ({"push_to_hub": "model"}, "push_to_hub must be the repository, owner/name, found 'model'"),
        ({"hub_model_id": "org/x"}, "nothing is published without --push_to_hub org/x"),
        (
            {"push_to_hub": "org/x", "hub_strategy": "all_checkpoints"},
            "checkpoints contain terms and are never published",
        ),
        ({"push_to_hub": "org/x"}, "org/x: HF_HUB_OFFLINE is set"),
    ],
)
def test_what_cannot_be_published_is_refused_before_training(options: dict, message: str, tmp_path: Path):
    """Catches the training folder uploaded with its terms, and hours of training for a name that the Hub refuses."""
    given = arguments(tmp_path, **options)
    with pytest.raises(InputError, match=message):
        checked(given, overwrite=False)
    assert given.push_to_hub is False


def test_a_token_does_not_stay_among_the_arguments(tmp_path: Path):
    """Catches a token in the training_args.bin of every checkpoint."""
    given = arguments(tmp_path, hub_token="hf_secret")
    folders = checked(given, overwrite=False)
    assert folders.token == "hf_secret" and given.hub_token is None and "secret" not in repr(folders)


def test_the_library_s_own_way_to_say_it_says_the_same(tmp_path: Path):
    """The trainer itself is left with nothing to upload."""
    given = arguments(tmp_path, push_to_hub=True, hub_model_id="org/x", hub_private_repo=False, hub_revision="dev")
    assert push_target(given) == PushOptions("org/x", public=True, branch="dev")
    assert given.push_to_hub is False
    assert push_target(arguments(tmp_path, push_to_hub="org/x")) == PushOptions("org/x")
    assert push_target(arguments(tmp_path)) is None


@pytest.mark.parametrize(("value", "point"), [(None, None), ("true", True), ("False", False), ("out/c-1", "out/c-1")])
def test_where_training_goes_on(value: str | None, point: object, tmp_path: Path):
    assert resume_point(arguments(tmp_path, resume_from_checkpoint=value)) == point


@pytest.mark.parametrize("is_own", [False, True])
def test_a_folder_that_no_run_wrote_is_left_alone(is_own: bool, tmp_path: Path):
    """Catches somebody's figures that are deleted because their folder has the name of a run's."""
    work = tmp_path / "out-training"
    (work / "eval").mkdir(parents=True)
    (work / "eval" / "gold.csv").write_text("x")
    if is_own:
        (work / BEGUN).write_text("{}")
    checked(arguments(tmp_path)).begin(None)
    assert (work / "eval" / "gold.csv").exists() is not is_own
