"""What every evaluator has to do, as tests that its own test class inherits."""

from __future__ import annotations

import csv
import json
import logging
import math
from typing import ClassVar

import numpy as np
import pytest
from sentence_transformers.base.evaluation import SequentialEvaluator

from st_biomed.errors import InputError
from st_biomed.evaluators import EmbeddingEvaluator, model_embedder, table_embedder


class EvaluatorContract:
    """Inherit as ``TestXContract``, name the class, and say how to make one and what the extreme embeddings are.

    Attributes:
        evaluator_class: The class under contract.
        best, chance, worst: Primary metric of perfect, random and worst embeddings.
        tolerance: How far random embeddings may be from chance.
    """

    evaluator_class: ClassVar[type[EmbeddingEvaluator]]
    best: ClassVar[float] = 1.0
    chance: ClassVar[float] = 0.5
    worst: ClassVar[float] = 0.0
    tolerance: ClassVar[float] = 0.1

    def make(self, **options) -> EmbeddingEvaluator:
        """A small evaluator; ``options`` are those every evaluator has."""
        raise NotImplementedError

    def perfect(self, texts: list[str]) -> np.ndarray:
        """Embeddings ``[N, D]`` that get ``best``."""
        raise NotImplementedError

    def opposite(self, texts: list[str]) -> np.ndarray:
        """Embeddings ``[N, D]`` that get ``worst``."""
        raise NotImplementedError

    def primary_of(self, embed) -> float:
        evaluator = self.make()
        return evaluator.measure(embed)[evaluator.primary_metric]

    # ------------------------------------------------------------------ scores

    def test_perfect_embeddings_get_the_best_score(self):
        assert self.primary_of(self.perfect) == pytest.approx(self.best)

    def test_the_worst_embeddings_get_the_worst_score(self):
        assert self.primary_of(self.opposite) == pytest.approx(self.worst)

    def test_random_embeddings_score_at_chance(self):
        rng = np.random.default_rng(0)
        score = self.primary_of(lambda texts: rng.normal(size=(len(texts), 8)))
        assert score == pytest.approx(self.chance, abs=self.tolerance)

    def test_the_primary_metric_has_an_interval_and_can_be_compared(self):
        """Would catch units that are those of another figure, and a test that finds a model better than itself."""
        evaluator = self.make()
        rng = np.random.default_rng(3)
        metrics = evaluator.measure(lambda texts: rng.normal(size=(len(texts), 6)))
        metric, units = next(iter(evaluator.units.items()))
        assert metric == evaluator.primary_metric
        assert units.value == pytest.approx(metrics[metric])
        assert metrics[f"{metric}_low"] <= metrics[f"{metric}_high"]
        assert units.compare(units, n_resamples=20).p_value == 1
        without = self.make(n_bootstrap=0)
        assert not [key for key in without.measure(self.perfect) if key.endswith(("_low", "_high"))]

    def test_metrics_of_a_collapsed_model_are_finite(self):
        """Would catch NaN from a constant score, which JSON and the choice of a best checkpoint do not survive."""
        metrics = self.make().measure(lambda texts: np.ones((len(texts), 4)))
        assert all(type(value) is float and math.isfinite(value) for value in metrics.values())

    # ------------------------------------------------------------------ embedding

    def test_each_distinct_text_is_embedded_once(self):
        asked: list[str] = []

        def embed(texts):
            asked.extend(texts)
            return self.perfect(texts)

        self.make().measure(embed)
        assert len(asked) == len(set(asked)) > 0

    def test_a_precomputed_matrix_measures_like_the_model_it_came_from(self, tiny_bert):
        evaluator = self.make()
        asked: list[str] = []
        embed = model_embedder(tiny_bert)

        def recorded(texts):
            asked.extend(texts)
            return embed(texts)

        by_model = evaluator.measure(recorded)
        assert evaluator(tiny_bert) == by_model
        order = np.random.default_rng(0).permutation(len(asked))
        shuffled = [asked[i] for i in order]
        assert evaluator.measure(table_embedder(shuffled, embed(asked)[order])) == pytest.approx(by_model, abs=1e-6)

    # ------------------------------------------------------------------ sentence-transformers' contract

    def test_without_an_output_path_nothing_is_written(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        self.make(name="dev").measure(self.perfect, None)
        self.make(name="dev", write_csv=False).measure(self.perfect, str(tmp_path / "eval"))
        assert list(tmp_path.iterdir()) == []

    def test_rows_are_appended_under_one_header(self, tmp_path):
        """Would catch a header per call, an overwritten file, and columns that change their order."""
        folder = tmp_path / "new" / "eval"
        self.make(name="dev").measure(self.perfect, str(folder), 0.5, 10)
        metrics = self.make(name="dev").measure(self.opposite, str(folder), 1, 20)
        (file,) = folder.iterdir()
        header, first, second = csv.reader(file.open(encoding="utf-8"))
        assert "dev" in file.name
        assert header == ["epoch", "steps", *(key.removeprefix("dev_") for key in metrics)]
        assert first[:2] == ["0.5", "10"]
        assert [float(cell) for cell in second] == [1, 20, *metrics.values()]

    def test_metrics_carry_the_name_and_the_primary_metric_is_among_them(self):
        evaluator = self.make(name="dev")
        known_before = evaluator.primary_metric
        metrics = evaluator.measure(self.perfect)
        assert all(key.startswith("dev_") for key in metrics)
        assert known_before == evaluator.primary_metric in metrics
        unnamed = self.make()
        assert list(unnamed.measure(self.perfect)) == [key.removeprefix("dev_") for key in metrics]
        assert unnamed.primary_metric == known_before.removeprefix("dev_")

    def test_the_model_card_and_a_sequence_of_evaluators_take_it(self, tiny_bert):
        evaluator = self.make(name="dev")
        metrics = SequentialEvaluator([evaluator])(tiny_bert)
        card = tiny_bert.model_card_data
        assert metrics.pop("sequential_score") == metrics[evaluator.primary_metric]
        assert card.eval_results_dict[evaluator] == metrics
        assert card.training_logs[-1][evaluator.primary_metric] == metrics[evaluator.primary_metric]
        assert card.format_eval_metrics()["eval_metrics"][0]["dataset_name"] == "dev"

    def test_it_says_what_it_measures(self, caplog):
        with caplog.at_level(logging.INFO, logger="st_biomed"):
            self.make(name="dev").measure(self.perfect, None, 2, 30)
        name = self.evaluator_class.__name__
        assert f"{name}: Evaluating the model on the dev dataset in epoch 2 after 30 steps:" in caplog.text

    def test_config_and_citation_are_ready_for_a_card_and_hold_no_text(self):
        """Would catch licensed terms that reach a model card through the evaluator's settings."""
        evaluator = self.make(truncate_dim=8, bf16=True)
        config = evaluator.get_config_dict()
        assert config["truncate_dim"] == 8 and config["bf16"] is True
        assert (config["n_bootstrap"], config["bootstrap_seed"]) == (evaluator.n_bootstrap, 0)
        written = json.dumps(config) + evaluator.citation
        assert evaluator.citation.lstrip().startswith("@")
        asked: list[str] = []
        evaluator.measure(lambda texts: asked.extend(texts) or self.perfect(texts))
        assert not [text for text in asked if text in written]

    def test_bad_options_are_refused_in_init(self):
        for option, value in {
            "batch_size": 0,
            "truncate_dim": 0,
            "name": "a/b",
            "n_bootstrap": -1,
            "bootstrap_seed": -1,
        }.items():
            with pytest.raises(InputError, match=option):
                self.make(**{option: value})
