"""AUC and power of relations against scikit-learn, a naive loop and figures worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from st_biomed.errors import InputError
from st_biomed.metrics.relation_auc import detection_power, relation_metrics, relation_rows


def test_each_relation_is_held_against_the_same_negatives_and_counts_once():
    """Catches a macro mean that weighs relations by their pairs, and the pairs of one among the negatives of another.

    Negatives .1 .2 .3 .4. a: .25 beats two, .35 three: 5 of 8. b: .4 beats three and ties with one: 3.5 of 4.
    """
    metrics = relation_metrics({"a": [0.25, 0.35], "b": [0.4]}, [0.1, 0.2, 0.3, 0.4])
    assert metrics == {"macro_auc": 0.75, "a/auc": 0.625, "a/n": 2, "b/auc": 0.875, "b/n": 1}
    assert next(iter(metrics)) == "macro_auc"


def test_areas_are_those_of_scikit_learn_with_negatives_of_their_own():
    """Catches negatives of one relation used for another."""
    rng = np.random.default_rng(0)
    positives = {name: rng.integers(0, 6, 20) / 5 for name in "abc"}
    negatives = {name: rng.integers(0, 5, 30) / 5 for name in "cab"}
    metrics = relation_metrics(positives, negatives)
    for name, scores in positives.items():
        expected = roc_auc_score(np.repeat([1, 0], [20, 30]), [*scores, *negatives[name]])
        assert metrics[f"{name}/auc"] == pytest.approx(expected)
    assert metrics["macro_auc"] == pytest.approx(np.mean([metrics[f"{name}/auc"] for name in "abc"]))


def test_power_is_the_share_above_the_95th_percentile_of_the_null():
    """Catches a percentile of the positives, ``>=`` for ``>``, and an AUC in its place.

    The 95th percentile of 0..100 is 95.
    """
    assert detection_power([94, 95, 96, 200], np.arange(101)) == 0.5
    assert detection_power([94, 95, 96, 200], np.arange(101), alpha=0.1) == 1
    rng = np.random.default_rng(1)
    positive, null = rng.normal(1, 1, 200), rng.normal(size=1000)
    threshold = sorted(null)[949] + (0.95 * 999 - 949) * (sorted(null)[950] - sorted(null)[949])
    assert detection_power(positive, null) == sum(score > threshold for score in positive) / 200


def test_random_pairs_are_detected_as_often_as_the_level_says():
    """Catches a two-sided test."""
    rng = np.random.default_rng(2)
    assert detection_power(rng.normal(size=20_000), rng.normal(size=20_000)) == pytest.approx(0.05, abs=0.01)


def test_equal_scores_have_no_power_and_an_auc_of_one_half():
    """Catches a collapsed model that is found to detect everything."""
    metrics = relation_metrics({"a": [0.5] * 3}, [0.5] * 4, {"a": [0.5] * 5})
    assert (metrics["macro_auc"], metrics["macro_power"], metrics["a/power"]) == (0.5, 0, 0)


def test_power_has_a_macro_mean_beside_that_of_the_areas():
    metrics = relation_metrics({"a": [1.0], "b": [0.0, 1.0]}, [0.5], {"a": [0.5], "b": [0.5]})
    assert list(metrics)[:2] == ["macro_auc", "macro_power"]
    assert (metrics["macro_power"], metrics["b/power"]) == (0.75, 0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({}, [1.0]), "positives: expected pairs of at least one relation, found none"),
        (({"a": []}, [1.0]), "positive scores: expected at least one number, found none"),
        (({"a": [1.0]}, []), "negative scores: expected at least one number, found none"),
        (({"a": [np.nan]}, [1.0]), "positive scores: 1 of 1 numbers are NaN"),
        (({"a": [1.0], "b": [1.0]}, {"a": [1.0]}), "negatives: relation 'b' has none"),
        (({"a": [1.0]}, [1.0], {}), "nulls: relation 'a' has none"),
        (({"a": [1.0]}, [1.0], {"a": []}), "null scores: expected at least one number, found none"),
    ],
)
def test_bad_scores_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        relation_metrics(*arguments)


@pytest.mark.parametrize("alpha", [0, 1, -0.05])
def test_a_level_outside_zero_and_one_is_refused(alpha):
    with pytest.raises(InputError, match="alpha must lie between 0 and 1"):
        detection_power([1.0], [1.0], alpha=alpha)


def test_rows_of_units_take_negatives_by_the_name_of_their_relation():
    """Catches negatives in the order in which they are given: those of b would be under the number of a."""
    rows = relation_rows({"a": [0.9], "b": [0.8]}, {"b": [0.1], "a": [0.2]})
    assert rows.tolist() == [[0.9, 0, 1], [0.8, 1, 1], [0.2, 0, 0], [0.1, 1, 0]]


def test_the_quantile_of_the_null_lies_between_its_scores():
    """The 95th percentile of 0 and 1 is .95. Catches the next score for the quantile, which detects less."""
    assert detection_power([0.94, 0.96], [0, 1]) == 0.5
