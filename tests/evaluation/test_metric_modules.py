"""The modules that ``evaluate.load`` takes: loaded offline from the checkout, with the figures of the package."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import evaluate
import numpy as np
import pytest

from st_biomed.metrics import discrimination, largest_mcsm, spearman

FOLDER = Path(__file__).parents[2] / "evaluation" / "metrics"
MODULES = sorted(path.name for path in FOLDER.iterdir())


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("evaluate.config.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(tmp_path / "modules")
    for module in [name for name in sys.modules if name.startswith("evaluate_modules")]:
        monkeypatch.delitem(sys.modules, module)
    return lambda name: evaluate.load(str(FOLDER / name), cache_dir=str(tmp_path), experiment_id=name)


def test_the_six_are_there():
    assert MODULES == [
        "clustering_pair",
        "entity_linking_accuracy",
        "mcsm",
        "relation_auc",
        "srs_spearman",
        "tree_auc",
    ]


@pytest.mark.parametrize("name", MODULES)
def test_the_example_of_its_readme_says_what_comes_out(load, name: str):
    """Would catch a README that has gone stale, and a module that does not load by itself."""
    text = (FOLDER / name / "README.md").read_text("utf-8")
    (call,) = re.findall(r'^metric\.(compute\(.*\))\["(.+?)"\]  # (.+)$', text, re.MULTILINE)
    found = eval(f"metric.{call[0]}", {"metric": load(name)})
    assert found[call[1]] == pytest.approx(float(call[2]))
    assert (FOLDER / name / "app.py").is_file() and "sdk: gradio" in text


def test_batches_add_up(load):
    rng = np.random.default_rng(0)
    cosines, distances = rng.normal(size=30), rng.integers(3, size=30)
    metric = load("tree_auc")
    for start in range(0, 30, 10):
        metric.add_batch(predictions=cosines[start : start + 10], references=distances[start : start + 10])
    assert metric.compute() == pytest.approx(discrimination(cosines, distances))
    assert load("srs_spearman").compute(predictions=cosines, references=distances)["spearman"] == pytest.approx(
        spearman(cosines, distances)
    )


def test_a_single_type_gets_the_most_there_is(load):
    vectors = np.random.default_rng(0).normal(size=(45, 3))
    found = load("mcsm").compute(predictions=vectors, references=[["A"]] * 45)
    assert found["mcsm"] == pytest.approx(largest_mcsm(40, 45)) == pytest.approx(11.091033)


def test_linking_counts_by_hand(load):
    """Right first, right second as one of two ids, never, and no gold at all: acc@1 is 1/3, acc@2 2/3."""
    found = load("entity_linking_accuracy").compute(
        predictions=[["D1", "D2"], ["D9", "D4|D5"], ["D1"], ["D1"]],
        references=["D1", "D5|D6", "D7,D8", "-1"],
        ks=(1, 2),
    )
    variant = load("entity_linking_accuracy").compute(predictions=[["c|SUB|A|1555|G"]], references=["c|SUB|A|1555|G"])
    assert variant["acc@1"] == 1, "one id with separators"
    assert (found["acc@1"], found["acc@2"]) == pytest.approx((1 / 3, 2 / 3))
    assert found["mrr@2"] == pytest.approx((1 + 1 / 2) / 3)
    assert (found["n"], found["n_nil"]) == (3, 1)
    nothing = load("entity_linking_accuracy").compute(predictions=[[], []], references=["D1", "D2"])
    assert nothing["acc@1"] == nothing["acc@5"] == 0, "no candidate at all"


def test_relations_need_unrelated_pairs(load):
    with pytest.raises(ValueError, match="at least one pair has to be 'random'"):
        load("relation_auc").compute(predictions=[0.5], references=["treats"])


def test_a_tree_needs_two_distances(load):
    """Catches a result without the mean that is documented."""
    with pytest.raises(ValueError, match="references: expected two distances or more, found 1"):
        load("tree_auc").compute(predictions=[0.1, 0.2], references=[0, 0])
