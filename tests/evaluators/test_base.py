"""The base of all evaluators, through the smallest one there can be."""

from __future__ import annotations

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.evaluators import EmbeddingEvaluator, metrics_table, model_embedder, table_embedder
from st_biomed.evaluators.base import EvaluationResult
from st_biomed.evaluators.embedders import EmbedOnce
from st_biomed.metrics import Units


class FirstNumber(EmbeddingEvaluator):
    """The mean of the first numbers of three texts' vectors; asks for one text twice and for another in a second call."""

    def __init__(self, **options) -> None:
        super().__init__(primary="mean_number", **options)

    def compute_metrics(self, embed):
        vectors = embed(["a", "b", "a"])
        assert (vectors[0] == vectors[2]).all()
        metrics = {"mean_number": float(vectors[:, 0].mean()), "other": float(embed(["c", "b"])[0, 0])}
        return EvaluationResult(metrics, {"mean_number": Units("text", vectors[:, 0])})

    @property
    def citation(self) -> str:
        return ""


def alphabet(texts):
    return np.array([[ord(text), 0.0] for text in texts])


def test_texts_of_an_earlier_call_are_looked_up():
    """Would catch a cache per call: evaluators that ask twice would pay twice."""
    calls = []
    evaluator = FirstNumber(n_bootstrap=0)
    metrics = evaluator.measure(lambda texts: calls.append(list(texts)) or alphabet(texts))
    assert calls == [["a", "b"], ["c"]]
    assert metrics == pytest.approx({"mean_number": ord("a") + 1 / 3, "other": ord("c")})


def test_rows_of_a_table_have_the_keys_of_the_metrics():
    """Would catch a label whose metric lacks the prefix, which would leave its row empty."""
    evaluator = FirstNumber(name="toy", n_bootstrap=0)
    assert (
        evaluator.headline == {"mean_number": "toy_mean_number"} and FirstNumber().headline == FirstNumber().table_rows
    )
    assert "99.000" in evaluator.table(after={"toy_mean_number": 99.0})


def test_what_has_units_gets_an_interval_and_can_be_compared():
    """Would catch an interval of the wrong metric, and units left over from an earlier measurement."""
    evaluator = FirstNumber(n_bootstrap=200, bootstrap_seed=4)
    metrics = evaluator.measure(alphabet)
    first = evaluator.units
    drawn = first["mean_number"].interval(n_resamples=200, seed=4)
    assert list(metrics) == ["mean_number", "other", "mean_number_low", "mean_number_high"]
    assert (metrics["mean_number_low"], metrics["mean_number_high"]) == (drawn.low, drawn.high)
    assert drawn.low < metrics["mean_number"] < drawn.high
    evaluator.measure(lambda texts: alphabet(texts) + 1)
    assert evaluator.units["mean_number"].compare(first["mean_number"]).difference == pytest.approx(1)


def test_evaluators_share_vectors_where_all_options_of_embedding_are_equal(tmp_path):
    """Catches rounded or shorter vectors of one evaluator that another one measures."""
    others = ({}, {"truncate_dim": 1}, {"bf16": True}, {"cache_dir": tmp_path}, {"cache_dtype": "float16"})
    assert len({FirstNumber(**options).embedding_options for options in others}) == len(others)
    assert FirstNumber(batch_size=3, name="a").embedding_options == FirstNumber().embedding_options


def test_a_second_measurement_embeds_anew():
    """Would catch vectors kept from before training."""
    evaluator = FirstNumber()
    assert evaluator.measure(alphabet) != evaluator.measure(lambda texts: alphabet(texts) + 1)


def test_a_name_that_begins_like_the_primary_metric_is_still_a_prefix():
    """sentence-transformers leaves the primary metric alone when it seems to have the prefix already: "mean" and "mean_number"."""
    evaluator = FirstNumber(name="mean")
    assert evaluator.primary_metric == "mean_mean_number"
    assert evaluator.measure(alphabet)[evaluator.primary_metric] == pytest.approx(ord("a") + 1 / 3)
    assert evaluator.primary_metric == "mean_mean_number"


def test_vectors_of_a_table_are_cut_as_those_of_a_model():
    """Catches a cut that is logged and recorded and not made."""
    evaluator, shapes = FirstNumber(truncate_dim=2), []
    evaluator.compute_metrics = lambda embed: (
        shapes.append(embed(["a"]).shape) or type(evaluator).compute_metrics(evaluator, embed)
    )
    evaluator.measure(table_embedder(["a", "b", "c"], np.ones((3, 5))))
    assert shapes == [(1, 2)]


def test_a_table_lists_the_texts_it_lacks():
    embed = table_embedder(["a", "b"], np.eye(2))
    np.testing.assert_array_equal(embed(["b", "a", "b"]), [[0, 1], [1, 0], [0, 1]])
    with pytest.raises(InputError, match=r"2 of 3 texts have no row: 'x', 'y'"):
        embed(["x", "a", "y"])


@pytest.mark.parametrize(
    ("texts", "matrix", "message"),
    [
        (["a", "b"], np.eye(3), r"each of 2 texts, found shape \(3, 3\)"),
        (["a", "b"], np.zeros(2), r"found shape \(2,\)"),
        (["a", "b", "a"], np.eye(3), "1 rows repeat a text, e.g. 'a'"),
    ],
)
def test_a_table_that_is_none_is_refused(texts, matrix, message):
    with pytest.raises(InputError, match=message):
        table_embedder(texts, matrix)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.zeros((1, 2)), r"expected \[2, D\], found shape \(1, 2\)"),
        (np.zeros(2), r"found shape \(2,\)"),
        (np.array([[0.0, 1.0], [np.nan, 1.0]]), "1 of 2 vectors hold NaN or infinity, e.g. that of 'b'"),
    ],
)
def test_embeddings_that_are_none_are_refused(vectors, message):
    """Would catch a diverged model that is measured all the same."""
    with pytest.raises(InputError, match=message):
        EmbedOnce(lambda texts: vectors)(["a", "b"])


def test_no_text_is_refused():
    with pytest.raises(InputError, match="found none"):
        EmbedOnce(alphabet)([])


def test_a_matrix_in_place_of_a_model_is_refused():
    with pytest.raises(InputError, match=r"found ndarray; measure\(table_embedder\(texts, matrix\)\) takes a matrix"):
        FirstNumber()(np.eye(2))


def test_a_model_is_asked_as_the_options_say(tiny_bert):
    texts = ["acute disease", "b", "chronic disease of the c"]
    full = model_embedder(tiny_bert)(texts)
    np.testing.assert_allclose(model_embedder(tiny_bert, batch_size=1)(texts), full, atol=1e-5)
    np.testing.assert_allclose(model_embedder(tiny_bert, truncate_dim=5)(texts), full[:, :5], atol=1e-6)
    half = model_embedder(tiny_bert, bf16=True)(texts)
    assert half.dtype == np.float32
    assert 0 < np.abs(half - full).max() < 0.1


def test_the_table_shows_what_changed():
    before, after = {"dev_auc": 0.5, "dev_f1": 0.25}, {"dev_auc": 0.625}
    table = metrics_table({"before": before, "after": after}, {"AUC": "dev_auc", "F1": "dev_f1"})
    assert [line.split() for line in table.splitlines()] == [
        ["before", "after", "change"],
        ["AUC", "0.500", "0.625", "+0.125"],
        ["F1", "0.250", "-", "-"],
    ]
    assert len({len(line) for line in table.splitlines()}) == 1
    assert "change" not in metrics_table({"now": before}, {"AUC": "dev_auc"})
    with pytest.raises(InputError, match=r"^embed must map texts to vectors, e.g. table_embedder.*, found ndarray"):
        FirstNumber().measure(np.eye(2))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [{"n_bootstrap": None}, {"n_bootstrap": 10.0}, {"batch_size": "3"}, {"truncate_dim": 0}, {"bootstrap_seed": -1}],
)
def test_options_of_another_type_are_refused(given: dict):
    (name,) = given
    with pytest.raises(InputError, match=f"^{name} must be an integer of at least"):
        FirstNumber(**given)
