"""A trained encoder averaged with its base: by a number, and by what dev verbose."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from st_biomed.averaging.arguments import AveragingArguments
from st_biomed.averaging.with_base import AverageWithBase
from st_biomed.encoder import load_encoder
from st_biomed.encoder.digest import model_digest
from st_biomed.errors import InputError
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluationResult
from st_biomed.release.averaging_text import averaging_sentences, averaging_table


class Peak(EmbeddingEvaluator):
    """Is largest where the first weight of the word embeddings is a number."""

    citation = ""

    def __init__(self, name: str, at: float, model: SentenceTransformer, largest: float = 1.0) -> None:
        super().__init__(primary="height", name=name, n_bootstrap=0)
        self.at, self.model, self._largest = at, model, largest

    @property
    def largest(self) -> float:
        return self._largest

    def compute_metrics(self, embed) -> EvaluationResult:
        embed(["flumpa"])
        return EvaluationResult({"height": -self._largest * abs(first(self.model) - self.at)}, {})


def first(model: SentenceTransformer) -> float:
    return model[0].model.embeddings.word_embeddings.weight[5, 0].item()


@pytest.fixture
def model(tiny_bert_folder: Path) -> SentenceTransformer:
    """With a 0 at a place that training makes a 1."""
    model = load_encoder(tiny_bert_folder, device="cpu")
    set_first(model, 0.0)
    return model


def set_first(model: SentenceTransformer, value: float) -> None:
    with torch.no_grad():
        model[0].model.embeddings.word_embeddings.weight[5, 0] = value


@pytest.mark.parametrize("weight", [0.25, 1.0])
def test_a_number_is_the_share_of_the_trained_weights(weight: float, model: SentenceTransformer):
    base = model_digest(model)
    averaging = AverageWithBase(model, "base", weight)
    set_first(model, 1.0)
    trained = model_digest(model)
    data = averaging.apply(model)
    assert first(model) == weight and data["curve"] == []
    assert [(model["digest"], model["weight"]) for model in data["models"]] == [(base, 1 - weight), (trained, weight)]
    assert (model_digest(model) == trained) == (weight == 1)
    assert f"a share of {weight:g} is the trained one's" in averaging_sentences(data, "sapbert")[0]


def test_dev_chooses_the_best_share_at_which_nothing_is_lost(model: SentenceTransformer, capsys):
    """Catches a choice by one benchmark, shares that are not on one scale, and a model left at the last one tried."""
    dev = [Peak("near", 1.0, model), Peak("far", 0.3, model, largest=10.0)]
    averaging = AverageWithBase(model, "base", None, dev)
    set_first(model, 1.0)
    data = averaging.apply(model, verbose=True)
    assert first(model) == pytest.approx(0.3)  # beyond .3 each step loses of one share what it gains of the other
    assert data["models"][-1]["weight"] == 0.3
    assert data["metrics"] == ["near_height", "far_height"]
    assert [point["weight"] for point in data["curve"]] == [i / 10 for i in range(11)]
    np.testing.assert_allclose(
        [point["figures"]["near_height"] for point in data["curve"]], np.arange(-1, 0.01, 0.1), atol=1e-6
    )
    assert data["curve"][0]["figures"]["far_height"] == pytest.approx(-3)
    assert capsys.readouterr().out.count("measuring 0.3 of the trained model on near") == 1
    table = averaging_table(data)
    assert "| **0.3** | -0.7000 | " in table and len(table.splitlines()) == 13


def test_fewer_steps_are_measured_when_they_are_requested(model: SentenceTransformer):
    """Catches an argument that does not reach the choice."""
    arguments = AveragingArguments(average="dev", average_steps=4)
    averaging = arguments.averaging(model, "base", Peak("near", 0.6, model))
    assert averaging is not None
    set_first(model, 1.0)
    data = averaging.apply(model)
    assert [point["weight"] for point in data["curve"]] == [0, 0.25, 0.5, 0.75, 1]
    assert data["models"][-1]["weight"] == 0.5


def test_a_given_share_stays_the_given_one_with_a_curve(model: SentenceTransformer):
    """Catches a curve that chooses, one without the released share, and a card that verbose dev chose it."""
    arguments = AveragingArguments(average="0.8", average_curve=True, average_steps=4)
    arguments.check_averaging()
    averaging = arguments.averaging(model, "base", Peak("near", 0.3, model))
    assert averaging is not None
    set_first(model, 1.0)
    data = averaging.apply(model)
    assert first(model) == pytest.approx(0.8) and data["models"][-1]["weight"] == 0.8 and not data["chosen"]
    assert [point["weight"] for point in data["curve"]] == [0, 0.25, 0.5, 0.75, 0.8, 1]
    np.testing.assert_allclose(
        [point["figures"]["near_height"] for point in data["curve"]], [-0.3, -0.05, -0.2, -0.45, -0.5, -0.7], atol=1e-6
    )
    told = " ".join(averaging_sentences(data, "sapbert"))
    assert "a share of 0.8 is the trained one's" in told and "The share was given" in told and "chosen" not in told
    assert "| **0.8** | -0.5000 |" in averaging_table(data)


def test_without_a_dev_split_there_is_no_curve(model: SentenceTransformer):
    with pytest.raises(
        InputError, match="^average_curve: needs benchmarks with a dev split, and there are none: give"
    ):
        AveragingArguments(average="0.8", average_curve=True).averaging(model, "base", None)


def test_where_every_share_loses_the_base_is_left_and_it_is_said(model: SentenceTransformer):
    """Catches a model that is called improved and is the base."""
    base = model_digest(model)
    averaging = AverageWithBase(model, "base", None, [Peak("home", 0.0, model), Peak("away", 1.0, model)])
    set_first(model, 1.0)
    data = averaging.apply(model)
    assert model_digest(model) == base and data["models"][-1]["weight"] == 0
    assert "nothing is released as improved" in averaging_sentences(data, "sapbert")[0]


def test_what_is_tolerated_is_a_share_of_the_largest_value(model: SentenceTransformer):
    dev = [Peak("home", 0.0, model, largest=10.0), Peak("a", 1.0, model), Peak("b", 1.0, model)]
    averaging = AverageWithBase(model, "base", None, dev, tolerance=0.45)
    set_first(model, 1.0)
    data = averaging.apply(model)
    assert data["models"][-1]["weight"] == 0.4
    assert "no metric loses more than 0.45 of its largest value" in " ".join(averaging_sentences(data, "sapbert"))


def test_the_base_stays_as_it_was_while_the_model_is_trained(model: SentenceTransformer):
    """Catches a copy that shares its memory with the model."""
    averaging = AverageWithBase(model, "base", 0.5)
    set_first(model, 1.0)
    assert averaging.base["0.model.embeddings.word_embeddings.weight"][5, 0] == 0


def test_without_a_dev_split_it_is_refused_before_anything_is_trained(model: SentenceTransformer):
    message = (
        "average: dev needs benchmarks with a dev split, and there are none: give --average_benchmarks, or a number"
    )
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        AveragingArguments(average="dev").averaging(model, "base", None)
    assert AveragingArguments().averaging(model, "base", None) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"average_tolerance": 0.1}, "average_tolerance: is not used with --average none, only with dev, found 0.1"),
        (
            {"average_steps": 4},
            "average_steps: is not used with --average none, only with dev or with --average_curve true, found 4",
        ),
        ({"average_curve": True}, "average_curve: is not used with --average none, found True"),
        ({"average": "0.5", "average_curve": True, "average_tolerance": 0.1}, "average_tolerance: is not used with"),
        (
            {"average": "0.5", "average_benchmarks": ["x"]},
            "average_benchmarks: is not used with --average 0.5, only with dev or with --average_curve true",
        ),
        ({"keep_trained": True}, "keep_trained: with --average none the trained model is the release"),
    ],
)
def test_what_would_not_be_read_is_refused(arguments: dict, message: str):
    with pytest.raises(InputError, match=message):
        AveragingArguments(**arguments).check_averaging()


PAIRS = "term1,term2,mean\nflumpa,gradtha,3\nflumpa,zorb,1\n"
LINKING = """name: {name}
evaluator: entity_linking
settings: {{format: ncbi_disease, path: ncbi_disease, dictionary: ncbi_disease/medic.txt, dev: '{dev}'}}
"""


@pytest.fixture
def benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    monkeypatch.setenv("ST_BIOMED_DATA", str(Path(__file__).parents[1] / "fixtures" / "linking"))
    (tmp_path / "pairs.csv").write_text(PAIRS)
    files = {
        "pairs": f"name: pairs\nevaluator: relatedness\nsettings: {{path: {tmp_path / 'pairs.csv'}}}\n",
        "linked": LINKING.format(name="linked", dev="dev"),
        "untold": LINKING.format(name="untold", dev=""),
        "tree": "name: tree\nevaluator: tree\nsettings: {sources: [toy], pairs_per_class: 10}\n",
        "whole": "name: whole\nevaluator: tree\nsettings: {sources: [toy], whole: true}\n",
    }

    def write(name: str) -> str:
        (tmp_path / f"{name}.yaml").write_text(files[name])
        return str(tmp_path / f"{name}.yaml")

    return write


@pytest.mark.parametrize("name", ["pairs", "untold", "whole"])
def test_nothing_is_chosen_on_a_benchmark_without_a_dev_part(name: str, benchmark: Callable[[str], str]):
    """Catches a share that is chosen on what is reported."""
    arguments = AveragingArguments(average="dev", average_benchmarks=[benchmark(name)])
    with pytest.raises(InputError, match=f"{name}: has no dev part .*, nothing may be chosen on it"):
        arguments.check_averaging()


def test_dev_parts_of_benchmarks_are_measured_beside_those_of_the_run(benchmark: Callable[[str], str], model):
    """Catches the test part of a benchmark in the place of its dev part."""
    arguments = AveragingArguments(average="dev", average_benchmarks=[benchmark("linked"), benchmark("tree")])
    arguments.check_averaging()
    averaging = arguments.averaging(model, "base", Peak("own", 1.0, model), bf16=False)
    assert averaging is not None
    set_first(model, 1.0)
    data = averaging.apply(model)
    assert data["metrics"] == ["own_height", "linked_dev_acc@1", "tree_dev_mean_auc"]
    assert all(set(point["figures"]) == {*data["metrics"]} for point in data["curve"])
    assert [evaluator.split for evaluator in averaging.dev.tests[1:2]] == ["dev"]
