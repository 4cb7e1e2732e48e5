"""Claims about the record of a run."""

from __future__ import annotations

import json
import os
import platform
from enum import StrEnum
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed import __version__
from st_biomed.errors import InputError
from st_biomed.losses import MultiSimilarityLoss, SelfDistillationLoss
from st_biomed.losses.distilled import CachedDistilledLoss
from st_biomed.records import SourceInfo, Term
from st_biomed.release.portable import plain, plain_command
from st_biomed.release.run_data import RunData, empty_run, read_run, results_table, write_run
from st_biomed.release.run_record import RunRecord
from st_biomed.terminology import Terminology


def test_the_record_has_every_documented_key_and_survives_json(trained, tmp_path: Path) -> None:
    """Would catch a key that is documented and never written, and a value that JSON changes."""
    assert set(trained.run) == set(RunData.__annotations__) == set(empty_run())
    assert read_run(write_run(trained.run, tmp_path / "run.json")) == trained.run


def test_the_callback_records_training_and_evaluation_over_time(trained) -> None:
    """Would catch metrics without their step, timings among the metrics, and evaluations that are counted twice."""
    metrics = trained.run["metrics"]
    assert [(entry["step"], entry["name"]) for entry in metrics if "loss" in entry["name"]] == [
        (1, "loss"),
        (1, "eval_loss"),
        (2, "loss"),
        (2, "eval_loss"),
    ]
    assert {entry["name"] for entry in metrics} == {"loss", "grad_norm", "learning_rate", "eval_loss"}
    assert [entry["epoch"] for entry in metrics if entry["name"] == "eval_loss"] == [0.5, 1.0]
    assert all(isinstance(entry["value"], float) for entry in metrics)


def test_the_record_names_no_host_and_no_absolute_path(trained) -> None:
    """Would catch a published file that says on whose machine, and where, a model was trained."""
    text = json.dumps(trained.run)
    assert str(trained.work) not in text and str(Path.home()) + os.sep not in text and str(Path.cwd()) not in text
    assert platform.node() not in trained.run["machine"].values()
    assert trained.run["command"] == ["recipes/hiprbert.py", "config.yaml"]
    assert trained.run["configuration"]["source"] == "zorb.tsv"
    assert trained.run["training_arguments"]["output_dir"] == trained.work.name


def test_the_record_tells_what_a_repetition_needs(trained, licensed) -> None:
    run = trained.run
    assert run["seed"] == 3
    assert set(run["versions"]) == {
        "python",
        "torch",
        "sentence-transformers",
        "transformers",
        "datasets",
        "st-biomed",
    }
    assert run["versions"]["st-biomed"] == __version__
    assert run["terminologies"][0]["digest"] == licensed.digest
    assert run["terminologies"][0]["sources"][0]["terms"] == 16
    assert run["machine"]["cpu"] and run["machine"]["cores"] >= 1 and run["seconds"] > 0
    assert run["training_arguments"]["weight_decay"] == 0.0
    assert not any(name.endswith("_token") for name in run["training_arguments"])
    assert run["losses"]["synonyms"]["config"]["scale"] == 20.0
    assert run["results"]["zorb_tree"]["after"]["spearman"] is None


def test_the_languages_are_those_of_the_terminologies_unless_given() -> None:
    """Catches a model of names in several languages whose card says English."""
    both = [
        Terminology.from_records([Term(f"{name}:1", "zorb", language=language)], SourceInfo(name, name))
        for name, language in (("X", "it"), ("Y", "en"))
    ]
    assert RunRecord("r", "b", {}, 0, both).to_dict()["language"] == ["en", "it"]
    assert RunRecord("r", "b", {}, 0, both, language=["it"]).to_dict()["language"] == ["it"]
    assert RunRecord("r", "b", {}, 0, []).to_dict()["language"] == []


def test_recording_a_result_at_another_stage_is_refused(licensed) -> None:
    record = RunRecord("r", "b", {}, 0, [licensed])
    with pytest.raises(InputError, match=r"unknown stage 'afters'.*did you mean 'after'"):
        record.add_results("x", "afters", {})
    with pytest.raises(InputError, match="readings must be a list, found str"):
        RunRecord("r", "b", {}, 0, [licensed], readings="one reading")


def test_the_command_line_is_recorded_by_default(licensed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.argv", [str(tmp_path / "train.py"), "--seed=1", f"--data={tmp_path / 'a.csv'}"])
    record = RunRecord("r", "b", {}, 0, [licensed])
    assert record.save(tmp_path / "new").name == "run.json"
    assert read_run(tmp_path / "new" / "run.json")["command"] == ["train.py", "--seed=1", "--data=a.csv"]


def test_no_access_token_reaches_the_record(licensed) -> None:
    """Would catch a secret in the published command line or configuration, in either way of writing an option."""
    command = (
        "r.py",
        "--hub_token",
        "hf_SECRET",
        "--x-token=hf_SECRET",
        "--token",
        "--seed",
        "1",
        "--max_tokens",
        "9",
    )
    configuration = {"hub_token": "hf_SECRET", "hub": {"token": "hf_SECRET"}, "api_token": None, "max_tokens": 9}
    run = RunRecord("r", "b", configuration, 0, [licensed], command=command).to_dict()
    shown = "<redacted>"
    assert run["command"] == ["r.py", "--hub_token", shown, f"--x-token={shown}", "--token", *command[5:]]
    assert run["configuration"] == {"hub_token": shown, "hub": {"token": shown}, "api_token": None, "max_tokens": 9}
    assert "SECRET" not in json.dumps(run)


def test_results_of_a_benchmark_without_headlines_are_all_shown() -> None:
    """Would catch an empty table where the headline metrics belong to another benchmark."""
    run = empty_run()
    run["headline"] = ["other"]
    run["results"] = {"x": {"after": {"acc": 0.5}}}
    assert results_table(run, "x").splitlines()[2:] == ["| acc | – | 0.5000 | – |"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no run record found"),
        ("{", "is not JSON"),
        ("[]", "format 'list'"),
        ('{"format": 2}', "format 2, this version reads run records of format 1"),
        ('{"format": 1}', "lacks recipe, description"),
    ],
)
def test_reading_what_is_no_record_says_what_is_wrong(content: str | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(InputError, match=message):
        read_run(tmp_path / "run.json")


class Color(StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Path.cwd() / "data" / "x.csv", "data/x.csv"),
        ("/srv/alice/x.csv", "x.csv"),
        ("/srv", "srv"),
        ("~/x/y.csv", "y.csv"),
        ("../other/y.csv", "y.csv"),
        ("--data=/srv/alice/x.csv", "--data=x.csv"),
        ("--data=/srv/alice b/x y.csv", "--data=x y.csv"),
        ("obo:/srv/alice b/x.obo?scopes=EXACT", "obo:x.obo?scopes=EXACT"),
        ("obo:../alice/x.obo", "obo:x.obo"),
        ("name=~/alice/x.csv", "name=x.csv"),
        (
            "icd9cm:/srv/a b/codes.txt?tabular=/srv/c/Dtab12.txt&parts=true",
            "icd9cm:codes.txt?tabular=Dtab12.txt&parts=true",
        ),
        ("--models=/a/b/m1,/a/b/m2", "--models=m1,m2"),
        ("snomed:../release?roots=1/2", "snomed:release?roots=1/2"),
        ("[/srv/alice/x.csv, /srv/bob/y.csv]", "[x.csv, y.csv]"),
        ("https://zorb.example/a/b", "https://zorb.example/a/b"),
        ("sentence-transformers/all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"),
        ("recipes/configs/a.yaml", "recipes/configs/a.yaml"),
        ("and/or/not, 1/2", "and/or/not, 1/2"),
        (Color.RED, "red"),
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (float("inf"), "inf"),
        (True, True),
        ({"a": (1, None)}, {"a": [1, None]}),
        ({"b", "a"}, ["a", "b"]),
        (Path, "pathlib.Path"),
        (partial(print), "functools.partial"),
    ],
)
def test_plain_values_hold_no_object_and_no_place(value: object, expected: object) -> None:
    assert plain(value) == expected and type(plain(value)) is type(expected)


@pytest.mark.long
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists))
def test_plain_values_are_json_and_stay_as_they_are(value: object) -> None:
    """Would catch NaN in a JSON file, and a record that changes when it is written twice."""
    once = plain(value)
    assert json.loads(json.dumps(once, allow_nan=False)) == once
    assert plain(once) == once


def test_the_papers_of_all_wrapped_losses_are_cited(licensed) -> None:
    """Catches the main loss, which lies two wrappers deep where it is distilled and cached."""
    parts = (MultiSimilarityLoss(None, miner=None), SelfDistillationLoss(None, np.ones((2, 4))))
    record = RunRecord("r", "b", {}, 0, [licensed])
    record.add_losses({"names": CachedDistilledLoss(None, *parts, mini_batch_size=2)})
    citations = record.to_dict()["citations"]
    assert "wang2019multi" in " ".join(citations.values())
    assert {"DistilledLoss", "MultiSimilarityLoss"} <= set(citations)


def test_the_past_of_a_model_of_the_hub_is_recorded(trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a base model whose licensed sources are forgotten because it is named by its id."""
    write_run(trained.run, tmp_path / "run.json")
    (tmp_path / "modules.json").write_text("[]")
    monkeypatch.setattr("st_biomed.encoder.hub.cached_folder", lambda name: tmp_path if name == "grp/enc" else None)
    (last, *_) = RunRecord("x", "grp/enc", {}, 0, []).to_dict()["earlier"]
    assert last["terminologies"] == trained.run["terminologies"]
    assert RunRecord("x", "grp/other", {}, 0, []).to_dict()["earlier"] == []


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("./../secret/patients", "patients"),
        ("data/../../jane/x", "x"),
        ("obo:./../jane/x", "obo:x"),
        ("file:///home/jane/x.obo", "file:x.obo"),
        ("data/x", "data/x"),
    ],
)
def test_a_command_shows_no_place_by_a_detour(argument: str, expected: str) -> None:
    assert plain_command([argument]) == [expected]
