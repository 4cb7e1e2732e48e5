"""Evaluators together: texts embedded once, scores of the primary metrics."""

from __future__ import annotations

import pytest
from sentence_transformers.base.evaluation import BaseEvaluator
from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator

from st_biomed.errors import InputError
from st_biomed.evaluators import MCSMEvaluator, RelatednessEvaluator, SharedEvaluator, TreeEvaluator

TERMS = [f"flumpa {i}" for i in range(8)]


def pairs(name: str, **options) -> RelatednessEvaluator:
    return RelatednessEvaluator(TERMS[:4], TERMS[4:], [1, 2, 3, 5], name=name, n_bootstrap=0, **options)


def tree(name: str) -> TreeEvaluator:
    return TreeEvaluator(list(zip(TERMS[:4], TERMS[4:])), [0, 0, 1, 1], name=name, n_bootstrap=0)


@pytest.fixture
def asked(tiny_bert, monkeypatch) -> list[str]:
    texts: list[str] = []
    encode = tiny_bert.encode
    monkeypatch.setattr(tiny_bert, "encode", lambda t, **options: texts.extend(t) or encode(t, **options))
    return texts


def test_common_texts_are_embedded_once_and_nothing_else_changes(tiny_bert, asked):
    alone = pairs("a")(tiny_bert) | tree("b")(tiny_bert)
    asked.clear()
    evaluator = SharedEvaluator([pairs("a"), tree("b")])
    assert evaluator.primary_metric == "sequential_score"
    found = evaluator(tiny_bert)
    assert sorted(asked) == sorted(TERMS)
    score = found.pop("sequential_score")
    assert found == pytest.approx(alone)
    assert score == pytest.approx((found["a_spearman"] + found["b_mean_auc"]) / 2)
    assert len(tiny_bert.model_card_data.eval_results_dict) == 4


def test_other_options_are_embedded_apart_and_few_texts_are_kept_where_memory_is_short(tiny_bert, asked):
    """Would catch vectors of half the dimensions that are measured as the whole."""
    SharedEvaluator([pairs("a"), pairs("b", truncate_dim=4)])(tiny_bert)
    assert len(asked) == 16
    asked.clear()
    found = SharedEvaluator([pairs("a"), pairs("b")], max_texts=3)(tiny_bert)
    assert len(asked) == 16 and found["a_spearman"] == found["b_spearman"]


def test_a_model_that_changed_is_embedded_anew(tiny_bert, asked):
    evaluator = SharedEvaluator([pairs("a")])
    evaluator(tiny_bert)
    evaluator(tiny_bert)
    assert len(asked) == 16


def test_a_sum_of_gains_weighs_no_more_than_a_share(tiny_bert):
    """Would catch MCSM, of which 11 is the most, deciding alone which checkpoint is best."""
    gains = MCSMEvaluator(TERMS, [["x"], ["y"]] * (len(TERMS) // 2), k=3, name="c", n_bootstrap=0)
    found = SharedEvaluator([pairs("a"), gains])(tiny_bert)
    assert gains.largest == found["c_maximum"] > 2
    expected = (found["a_spearman"] + found["c_share_of_maximum"]) / 2
    assert found["sequential_score"] == pytest.approx(expected)


def test_evaluators_of_sentence_transformers_may_be_among_them(tiny_bert):
    """Catches those that know their primary metric only after they were called."""
    other = EmbeddingSimilarityEvaluator(
        TERMS[:4], TERMS[4:], [0.1, 0.2, 0.3, 0.5], name="other", main_similarity="cosine"
    )
    found = SharedEvaluator([pairs("a"), other], min)(tiny_bert)
    assert found["sequential_score"] == min(found["a_spearman"], found[other.primary_metric])


def test_an_evaluator_without_a_primary_metric_is_named(tiny_bert):
    class Silent(BaseEvaluator):
        def __call__(self, model, output_path=None, epoch=-1, steps=-1) -> dict[str, float]:
            return {"score": 1.0}

    with pytest.raises(InputError, match="evaluators: Silent reports no primary metric, found None"):
        SharedEvaluator([pairs("a"), Silent()])(tiny_bert)


def test_names_that_collide_are_refused():
    with pytest.raises(InputError, match="two of them report 'a_spearman'"):
        SharedEvaluator([pairs("a"), pairs("a")])
    with pytest.raises(InputError, match="expected at least one"):
        SharedEvaluator([])
    with pytest.raises(InputError, match="two of them are named 'a'"):
        SharedEvaluator([pairs("a"), MCSMEvaluator(["flumpa", "terk", "zorb"], [["x"], ["x"], ["y"]], name="a", k=1)])
