"""The settings that fit a model: what a user gives has priority, and the record tells which values are defaults."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.kge import KGESettings, TrainedKGE, train_kge
from st_biomed.kge.model_defaults import MODEL_DEFAULTS, ONE_VS_ALL_ENTITIES, Objective, default_objective
from st_biomed.kge.scoring import MODELS
from st_biomed.kge.settings import MODEL_DEPENDENT, MODEL_NAMES
from tests.kge.graphs import wheel

SMALL = {"dimension": 8, "batch_size": 64, "epochs": 2, "evaluate_every": 1, "patience": 0}
GIVEN = {
    "reciprocal": True,
    "loss": "self_adversarial",
    "margin": 2.5,
    "negatives": 7,
    "n3": 0.25,
    "learning_rate": 0.125,
}


@pytest.mark.parametrize("name", MODELS)
def test_the_table_has_a_row_of_every_model(name: str) -> None:
    """Catches a new model without a row, and a regularizer or a margin of the other kind of model."""
    assert set(MODEL_DEFAULTS) == set(MODELS) == set(MODEL_NAMES)
    row = MODEL_DEFAULTS[name]
    if MODELS[name].is_distance:
        assert row == Objective("self_adversarial", 64, reciprocal=False, learning_rate=1e-3, n3=0.0, margin=9.0)
    else:
        expected = Objective("one_vs_all", 1024, reciprocal=True, learning_rate=1e-2, n3=1e-2, margin=0.0)
        assert row == replace(expected, reciprocal=name != "simple")


@pytest.mark.parametrize("name", MODELS)
def test_a_large_graph_has_negatives(name: str) -> None:
    """Catches 1-vs-all on a graph where an epoch takes an hour, and a limit that is off by one."""
    small, large = (default_objective(name, n) for n in (ONE_VS_ALL_ENTITIES, ONE_VS_ALL_ENTITIES + 1))
    assert small == MODEL_DEFAULTS[name] and large == replace(small, loss="self_adversarial")


@pytest.mark.parametrize("setting", MODEL_DEPENDENT)
def test_what_is_given_has_priority(setting: str) -> None:
    assert GIVEN.keys() == set(MODEL_DEPENDENT) == set(asdict(MODEL_DEFAULTS["simple"]))
    settings = KGESettings(model="simple", **{setting: GIVEN[setting]})  # type: ignore[arg-type]
    default = MODEL_DEFAULTS["simple"]
    assert getattr(default, setting) != GIVEN[setting]
    assert settings.objective(10) == replace(default, **{setting: GIVEN[setting]})
    assert settings.of_model == tuple(name for name in MODEL_DEPENDENT if name != setting)


def test_zero_is_given_too() -> None:
    """Catches a check of the value where one of None is meant."""
    settings = KGESettings(model="complex", n3=0.0, reciprocal=False, margin=0.0)
    objective = settings.objective(10)
    assert (objective.n3, objective.reciprocal, settings.of_model) == (
        0.0,
        False,
        ("loss", "negatives", "learning_rate"),
    )


@pytest.mark.parametrize("name", ["complex", "transe"])
def test_the_defaults_train_as_the_same_values_given(name: str) -> None:
    """Catches a default that the record has and the training does not."""
    by_default = train_kge(wheel(), KGESettings(model=name, **SMALL), device="cpu")  # type: ignore[arg-type]
    given = train_kge(wheel(), by_default.settings, device="cpu")
    assert asdict(MODEL_DEFAULTS[name]).items() <= asdict(by_default.settings).items()
    assert given.table.digest == by_default.table.digest
    assert (by_default.of_model, given.of_model) == (MODEL_DEPENDENT, ())


def test_the_record_tells_defaults_from_given_values(tmp_path: Path) -> None:
    settings = KGESettings(model="complex", n3=0.5, **SMALL)  # type: ignore[arg-type]
    trained = train_kge(wheel(), settings, device="cpu")
    folder = trained.save(tmp_path / "kge")
    record = json.loads((folder / "settings.json").read_text("utf-8"))
    assert record["model_defaults"] == ["reciprocal", "loss", "margin", "negatives", "learning_rate"]
    assert record["settings"] == asdict(settings.complete(12)) and None not in record["settings"].values()
    again = TrainedKGE.load(folder, "cpu")
    assert (again.of_model, again.settings) == (trained.of_model, settings.complete(12))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dimension": "200"}, "dimension must be a whole number, found '200'"),
        ({"epochs": 1.5}, "epochs must be a whole number, found 1.5"),
        ({"patience": None}, "patience must be a whole number, found None"),
        ({"reciprocal": 1}, "reciprocal must be true or false, found 1"),
        ({"learning_rate": True}, "learning_rate must be a number, found True"),
        ({"model": None}, "model must be text, found None"),
    ],
)
def test_a_setting_has_its_type(arguments, message):
    """Catches a setting that is compared, and fails in training."""
    with pytest.raises(InputError, match=re.escape(message)):
        KGESettings(**arguments)
    KGESettings(dimension=np.int64(200), learning_rate=1, margin=None)
