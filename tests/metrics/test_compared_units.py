"""Units of models that are compared: with several others, in documents, and by the draws that are the default."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.metrics import Units, compare_means


def mentions(values, clusters=None) -> Units:
    return Units("mention", np.asarray(values, dtype=float), clusters=clusters)


def test_a_model_is_compared_with_one_model_after_another():
    """Catches exchanges with the first other model that are kept for the next one: all draws would be as far, and p 1."""
    ours, twin, worse = mentions(np.ones(4)), mentions(np.ones(4)), mentions(np.zeros(4))
    assert ours.compare(twin, n_resamples=50).p_value == 1
    assert ours.compare(worse, n_resamples=4000).p_value == pytest.approx(2 / 16, abs=0.03)


def test_a_test_over_documents_tells_the_number_of_mentions():
    """Catches the number of documents in its place, as if the figure were one of two."""
    first, second = (mentions([value] * 6, clusters=[0, 0, 0, 1, 1, 1]) for value in (1, 0))
    assert first.compare(second, n_resamples=20).n == 6


def test_draws_that_are_as_far_but_for_the_last_bit_count():
    """Three differences of .1, .2 and .3: two of eight signs are as far. Catches a p from a comparison without tolerance."""
    tenths = [1, 2, 3]
    exact = np.mean([abs(np.dot(signs, tenths)) >= 6 for signs in product([-1, 1], repeat=3)])
    assert exact == 0.25
    test = mentions([0.6, 0.3, 0.3]).compare(mentions([0.5, 0.1, 0.0]), n_resamples=4000)
    assert test.p_value == pytest.approx(exact, abs=0.03)


def test_by_default_an_interval_is_of_a_thousand_draws_and_a_test_of_ten_thousand():
    """Catches other numbers of draws, level or seed than the documented ones, which would move published figures."""
    values = np.random.default_rng(1).random(30)
    drawn = values[np.random.default_rng(0).integers(30, size=(1000, 30))].mean(axis=1)
    assert mentions(values).interval()[1:] == pytest.approx(np.quantile(drawn, [0.025, 0.975]))
    first, second = mentions(np.ones(30)), mentions(np.zeros(30))
    assert first.compare(second).p_value == compare_means([first], [second]).p_value == 1 / 10_001


def test_every_seed_of_a_model_has_to_be_of_the_same_units():
    """Catches a second seed whose mentions are in other documents."""
    one, other = mentions([1, 0, 1], ["a", "a", "b"]), mentions([1, 0, 1], ["a", "b", "b"])
    for ours, others in (([one, other], [one, one]), ([one, one], [one, other])):
        with pytest.raises(InputError, match="found mentions in other clusters"):
            compare_means(ours, others)


def test_pairs_of_other_sub_trees_are_not_compared():
    """Catches two models whose pairs agree in distance alone, and whose draws would be of other sub-trees."""
    rows = np.array([[0.9, 0, 1, 1], [0.5, 1, 1, 2], [0.1, 1, 2, 2]])
    other = rows + [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    with pytest.raises(InputError, match="pairs with other given numbers"):
        Units("pair", rows, "mean_auc").compare(Units("pair", other, "mean_auc"))
