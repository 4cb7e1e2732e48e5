"""Models to measure: the names they have, where they are, and what is no table of vectors."""

from __future__ import annotations

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.leaderboard.models import LoadedModel, ModelSpec, named_models, read_known_models
from tests.leaderboard.test_measuring import table_of_vectors


def test_models_have_the_names_people_give_them(tmp_path):
    given = table_of_vectors(tmp_path / "one.npz", 0).model
    baselines = read_known_models()
    assert named_models(["SapBERT"]) == [baselines["SapBERT"]] and baselines["SapBERT"].pooling == "cls"
    named = named_models([given, f"again={given}", "out/sapbert/", "org/model"])
    assert [model.name for model in named] == ["one", "again", "sapbert", "model"]
    for arguments, message in (
        ([], "no model: expected a folder, an id on the Hub, or one of MiniLM, SapBERT"),
        (["a/x", "b/x"], "two models have the name 'x': write NAME=MODEL"),
        (["=x"], "models must have the form NAME=MODEL or MODEL, found '=x'"),
    ):
        with pytest.raises(InputError, match=message):
            named_models(arguments)


def test_a_baseline_keeps_its_pooling_under_another_name():
    """Would catch NAME=BASELINE looked for on the Hub, or read without its [CLS] pooling."""
    (renamed,) = named_models(["mine=SapBERT"])
    known = read_known_models()["SapBERT"]
    assert (renamed.name, renamed.model, renamed.pooling) == ("mine", known.model, "cls")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("minilm", "'minilm' is not a name of evaluation/known_models.yaml: did you mean 'MiniLM'.*evaluate --list"),
        ("out/nothere", "^out/nothere: no such folder$"),
        ("./nothere", "^./nothere: no such folder$"),
        ("no-such/organization", "give a local folder"),
    ],
)
def test_a_model_that_is_not_there_is_told_from_a_mistyped_one(tmp_path, monkeypatch, model, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match=message):
        LoadedModel(ModelSpec("x", model))


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "meta", ""])
def test_a_device_that_is_not_there_is_one_line(tmp_path, device):
    """Would catch a traceback of torch."""
    with pytest.raises(InputError, match=f"device '{device}' is not available; available are cpu"):
        LoadedModel(table_of_vectors(tmp_path / "one.npz", 0), device)


def test_every_baseline_has_a_source():
    assert all(model.source and model.model.count("/") == 1 for model in read_known_models().values())


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: np.savez(path, texts=np.array(["a"])), "needs the arrays 'texts' and 'vectors'"),
        (lambda path: path.write_bytes(b"PK"), "cannot be read as a table of vectors"),
        (lambda path: path.write_bytes(b""), "x.npz: cannot be read as a table of vectors"),
        (lambda path: np.save(path.open("wb"), np.eye(3)), "x.npz: cannot be read as a table of vectors"),
        (
            lambda path: np.savez(path, texts=np.array(["a", "b"]), vectors=np.eye(3)),
            r"numbers \[2, D\], found float64",
        ),
        (
            lambda path: np.savez(path, texts=np.array(["a"]), vectors=np.full((1, 2), np.inf)),
            "vector of 'a' has NaN or inf",
        ),
        (
            lambda path: np.savez(path, texts=np.array(["a"]), vectors=np.array([["x"]])),
            r"numbers \[1, D\], found <U1",
        ),
        (
            lambda path: np.savez(path, texts=np.eye(2), vectors=np.eye(2)),
            r"texts must be strings \[N\], found float64",
        ),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path, write, message):
    write(tmp_path / "x.npz")
    with pytest.raises(InputError, match=message):
        LoadedModel(ModelSpec("x", str(tmp_path / "x.npz")))
