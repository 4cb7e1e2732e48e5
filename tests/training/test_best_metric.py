"""The metric by which the best weights are kept: a mistyped one is one line before training."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from transformers import Trainer

from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import read_benchmark_settings
from st_biomed.evaluators.entity_linking.settings import LinkingSettings
from st_biomed.evaluators.shared_embedding import SharedEvaluator
from st_biomed.evaluators.tree.settings import TreeSettings
from st_biomed.training.best_metric import check_metric, metric_names
from tests.recipes.endings import run_ending, sources_of


@pytest.fixture
def dev(tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SharedEvaluator:
    zorb = sources_of(tmp_path, tiny_bert_folder, monkeypatch)["zorb"]
    trees = TreeSettings(name="trees", sources=["toy"])
    linking: Any = read_benchmark_settings(str(zorb), LinkingSettings)
    return SharedEvaluator([*trees.dev_evaluators(), *linking.dev_evaluators(), *trees.evaluators()])


def test_the_names_are_those_of_an_evaluation(dev: SharedEvaluator, tiny_bert: SentenceTransformer):
    """Catches a name that is refused and exists: bounds of intervals, prefixes, the mean of all."""
    names = metric_names(dev)
    assert names == [*dev(tiny_bert)] and len(names) == len({*names}) > 50
    assert metric_names(SimpleNamespace(primary_metric="of_others")) == []  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.parametrize("prefix", ["", "eval_"])
def test_a_metric_of_the_evaluation_is_taken_and_another_is_one_line(
    prefix: str, dev: SharedEvaluator, tmp_path: Path
):
    for name in metric_names(dev):
        check_metric(SentenceTransformerTrainingArguments(str(tmp_path), metric_for_best_model=prefix + name), dev)
    mistyped = SentenceTransformerTrainingArguments(str(tmp_path), metric_for_best_model=f"{prefix}zorb_dev_acc@2")
    with pytest.raises(
        InputError, match="unknown metric_for_best_model 'zorb_dev_acc@2'.*did you mean 'zorb_dev_acc@"
    ):
        check_metric(mistyped, dev)


@pytest.mark.parametrize(
    ("recipe", "name"),
    [
        ("hiprbert", "toy_tree_dev_mean_auc"),
        ("open_encoder", "sequential_score"),
        ("sapbert", "sequential_score"),
        ("extend_bert", "loss"),
    ],
)
def test_no_recipe_trains_for_a_metric_that_nothing_gives(
    recipe: str, name: str, tiny_bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Catches sentence-transformers' KeyError after the first evaluation."""
    sources = sources_of(tmp_path, tiny_bert_folder, monkeypatch)
    monkeypatch.setattr(Trainer, "train", lambda *_, **__: pytest.fail("it was trained"))
    mistyped = ("--metric_for_best_model", f"{name}s", "--eval_strategy", "steps", "--new_head", "true")
    with pytest.raises(InputError, match=f"unknown metric_for_best_model '{name}s'.*'"):
        run_ending(recipe, sources, tmp_path / "out", *mistyped[: None if recipe == "extend_bert" else 4])
