"""What recipes share: folders that hold somebody's work are left alone, and switches do what they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from torch import nn

from st_biomed import training
from st_biomed.errors import InputError
from st_biomed.release.hub_plan import PushOptions
from st_biomed.release.push_target import push_target
from st_biomed.terminology import Terminology
from st_biomed.training import output_folders, prepare_encoder, resume_point, with_precision


def arguments(tmp_path: Path, **options) -> SentenceTransformerTrainingArguments:
    return SentenceTransformerTrainingArguments(output_dir=str(tmp_path / "out"), report_to="none", **options)


def test_an_earlier_run_is_replaced_only_when_asked(tmp_path: Path):
    """Catches a thesis deleted because it lay in the output folder."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text("{}")
    (tmp_path / "out-training" / "checkpoint-5").mkdir(parents=True)
    (tmp_path / "out-training" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is not empty"):
        output_folders(arguments(tmp_path), "x", overwrite=False)
    given = arguments(tmp_path)
    folders = output_folders(given, "x", overwrite=True)
    assert (folders.release, folders.work) == (tmp_path / "out", tmp_path / "out-training")
    assert given.output_dir == str(tmp_path / "out-training")
    assert (tmp_path / "out" / "run.json").exists() and (tmp_path / "out-training" / "checkpoint-5").exists()
    folders.begin(Terminology.read("toy"))
    assert sorted(path.name for path in (tmp_path / "out-training").iterdir()) == ["mine.txt", "terminology"]
    assert (tmp_path / "out" / "run.json").exists()
    folders.make_room()
    assert not (tmp_path / "out").exists()
    (tmp_path / "out" / "chapters").mkdir(parents=True)
    (tmp_path / "out" / "chapters" / "thesis.txt").write_text("mine")
    for run, message in ((False, "is not empty"), (True, "holds chapters/thesis.txt besides the release")):
        if run:
            (tmp_path / "out" / "run.json").write_text("{}")
        with pytest.raises(InputError, match=message):
            output_folders(arguments(tmp_path), "x", overwrite=True)
    assert (tmp_path / "out" / "chapters" / "thesis.txt").is_file()


def test_a_run_that_is_resumed_loses_nothing_and_goes_on_with_the_same_terms(tmp_path: Path):
    """Catches checkpoints deleted before they are read, and a run that goes on with other data without a word."""
    work = tmp_path / "out-training"
    with pytest.raises(InputError, match="out-training: holds no checkpoint to resume from"):
        output_folders(arguments(tmp_path, resume_from_checkpoint="true"), "x", overwrite=True)
    (work / "checkpoint-5").mkdir(parents=True)
    with pytest.raises(InputError, match=r"nowhere: is no checkpoint; .* holds checkpoint-5"):
        output_folders(arguments(tmp_path, resume_from_checkpoint="nowhere"), "x", overwrite=True)
    folders = output_folders(arguments(tmp_path, resume_from_checkpoint="true"), "x", overwrite=True)
    folders.begin(Terminology.read("toy"))
    folders.begin(Terminology.read("toy"))
    assert (work / "checkpoint-5").is_dir() and folders.resumed
    with pytest.raises(InputError, match="was trained on another terminology or split"):
        folders.begin(Terminology.read("toy", trees=2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"push_to_hub": True}, "push_to_hub takes the repository, owner/name, found True"),
        ({"push_to_hub": "model"}, "push_to_hub takes the repository, owner/name, found 'model'"),
        ({"hub_model_id": "org/x"}, "nothing is published without --push_to_hub org/x"),
        (
            {"push_to_hub": "org/x", "hub_strategy": "all_checkpoints"},
            "checkpoints hold terms and are never published",
        ),
        ({"push_to_hub": "org/x"}, "org/x: HF_HUB_OFFLINE is set"),
    ],
)
def test_what_cannot_be_published_is_refused_before_training(options: dict, message: str, tmp_path: Path):
    """Catches the training folder uploaded with its terms, and hours of training for a name that the Hub refuses."""
    given = arguments(tmp_path, **options)
    with pytest.raises(InputError, match=message):
        output_folders(given, "x", overwrite=False)
    assert given.push_to_hub is False


def test_a_token_does_not_stay_among_the_arguments(tmp_path: Path):
    """Catches a token in the training_args.bin of every checkpoint."""
    given = arguments(tmp_path, hub_token="hf_secret")
    folders = output_folders(given, "x", overwrite=False)
    assert folders.token == "hf_secret" and given.hub_token is None and "secret" not in repr(folders)


def test_the_library_s_own_way_to_say_it_says_the_same(tmp_path: Path):
    """The trainer itself is left with nothing to upload."""
    given = arguments(tmp_path, push_to_hub=True, hub_model_id="org/x", hub_private_repo=False, hub_revision="dev")
    assert push_target(given) == PushOptions("org/x", public=True, branch="dev")
    assert given.push_to_hub is False
    assert push_target(arguments(tmp_path, push_to_hub="org/x")) == PushOptions("org/x")
    assert push_target(arguments(tmp_path)) is None


@pytest.mark.parametrize(
    ("precision", "able", "bf16"), [("auto", True, True), ("auto", False, False), ("as given", True, False)]
)
def test_bf16_is_taken_where_the_machine_computes_in_it(
    precision: str, able: bool, bf16: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(training, "computes_bf16", lambda: able)
    assert with_precision(arguments(tmp_path, use_cpu=True), precision).bf16 is bf16


def test_an_unknown_precision_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="unknown precision 'bf16'"):
        with_precision(arguments(tmp_path), "bf16")


@pytest.mark.parametrize(("said", "point"), [(None, None), ("true", True), ("False", False), ("out/c-1", "out/c-1")])
def test_where_training_goes_on(said: str | None, point: object, tmp_path: Path):
    assert resume_point(arguments(tmp_path, resume_from_checkpoint=said)) == point


def test_dropout_is_set_and_named_parameters_are_frozen(tiny_bert: SentenceTransformer):
    """Catches an expression that freezes nothing without a word."""
    prepare_encoder(tiny_bert, 0.3, "embeddings")
    assert {module.p for module in tiny_bert.modules() if isinstance(module, nn.Dropout)} == {0.3}
    frozen = [name for name, weight in tiny_bert.named_parameters() if not weight.requires_grad]
    assert frozen and all("embeddings" in name for name in frozen)
    assert any(weight.requires_grad for weight in tiny_bert.parameters())
    with pytest.raises(InputError, match="no parameter's name matches 'embeddngs'"):
        prepare_encoder(tiny_bert, None, "embeddngs")
