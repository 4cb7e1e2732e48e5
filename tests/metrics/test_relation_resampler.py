"""Draws of relations' pairs: plain loops, DeLong's standard error, coverage and size are the oracles."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from st_biomed.errors import InputError
from st_biomed.metrics import Units, load_units, save_units
from st_biomed.metrics.random_draws import MANY_CLUSTERS
from st_biomed.metrics.relation_auc import relation_rows
from st_biomed.metrics.relation_resampler import RelationAUCResampler, units_of_relations


def units(positives, negatives) -> Units:
    named = {f"relation {i}": scores for i, scores in enumerate(positives)}
    if isinstance(negatives, list):
        negatives = dict(zip(named, negatives))
    return Units("pair", relation_rows(named, negatives), "macro_auc")


def auc(positive, negative) -> float:
    return roc_auc_score(np.repeat([1, 0], [len(positive), len(negative)]), [*positive, *negative])


def simulated(rng, means, n_positive, n_negative) -> Units:
    """Normal scores: the AUC of a relation of mean m is Phi(m / sqrt 2)."""
    return units([rng.normal(mean, 1, n_positive) for mean in means], rng.normal(size=n_negative))


def true_auc(means) -> float:
    return float(norm.cdf(np.asarray(means) / np.sqrt(2)).mean())


def delong(positive, negative) -> float:
    """Standard error of an AUC (DeLong et al. 1988), from the wins of each score."""
    wins = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    return np.sqrt(wins.mean(1).var(ddof=1) / len(positive) + wins.mean(0).var(ddof=1) / len(negative))


def hanley_mcneil(area, n_positive, n_negative) -> float:
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    spread = area * (1 - area) + (n_positive - 1) * (q1 - area**2) + (n_negative - 1) * (q2 - area**2)
    return np.sqrt(spread / (n_positive * n_negative))


# ---------------------------------------------------------------------- intervals


@pytest.mark.parametrize("own", [False, True], ids=["negatives of all", "negatives of each"])
@pytest.mark.parametrize("number", [1, 3, MANY_CLUSTERS])
def test_draws_are_those_of_a_plain_loop(number: int, own: bool):
    """Scores with ties, scikit-learn for every draw: would catch pairs of one relation drawn for another, a tie that counts
    whole, one copy of a relation that stands for all its copies, and negatives that stay."""
    rng = np.random.default_rng(number)
    positives = [rng.integers(0, 7, size=3 + i % 4) / 7 for i in range(number)]
    negatives = [rng.integers(0, 6, size=4 + i % 3) / 7 for i in range(number)]
    drawn = units(positives, negatives if own else negatives[0]).draws.bootstrap(np.random.default_rng(5), 6)

    rng, n = np.random.default_rng(5), 6
    times = np.ones((n, number), dtype=int)
    if number == MANY_CLUSTERS:
        times = np.stack([np.bincount(draw, minlength=number) for draw in rng.integers(number, size=(n, number))])
        assert times.max() > 1
    if not own:
        of_all = [negatives[0][draw] for draw in rng.integers(len(negatives[0]), size=(n, len(negatives[0])))]
    areas: list[list[float]] = [[] for _ in range(n)]
    for i in range(number):
        copies = [draw for draw in range(n) for _ in range(times[draw, i])]
        if not copies:
            continue
        if own:
            of_it = [
                negatives[i][draw] for draw in rng.integers(len(negatives[i]), size=(len(copies), len(negatives[i])))
            ]
        related = rng.integers(len(positives[i]), size=(len(copies), len(positives[i])))
        for copy, draw in enumerate(copies):
            areas[draw].append(auc(positives[i][related[copy]], of_it[copy] if own else of_all[draw]))
    assert drawn == pytest.approx([np.mean(areas_of_draw) for areas_of_draw in areas], abs=1e-12)


def test_the_figure_is_the_mean_over_the_relations():
    positives, negatives = [[0.3, 0.9], [0.2, 0.4, 0.4, 0.8]], np.array([0.1, 0.4, 0.5])
    expected = np.mean([auc(scores, negatives) for scores in positives])
    assert units(positives, negatives).value == pytest.approx(expected)


def test_one_relation_has_an_interval_as_wide_as_its_standard_error():
    """Would catch the interval `.650 (.650 to .650)` that drawing one relation gives."""
    rng = np.random.default_rng(1)
    positive, negative = rng.normal(1, 1, 150), rng.normal(size=200)
    found = units([positive], negative).interval(n_resamples=2000)
    spread = (found.high - found.low) / (2 * norm.ppf(0.975))
    assert spread == pytest.approx(delong(positive, negative), rel=0.08)
    assert spread == pytest.approx(hanley_mcneil(found.value, 150, 200), rel=0.15)
    assert found.low < found.value < found.high


@pytest.mark.long
def test_intervals_of_few_relations_cover_the_truth():
    """200 data sets of two relations; would catch draws that leave the negatives or the pairs as they are."""
    rng, means = np.random.default_rng(2), [0.4, 1.2]
    found = [simulated(rng, means, 50, 80).interval(n_resamples=200, seed=i) for i in range(200)]
    assert 0.90 <= np.mean([interval.low <= true_auc(means) <= interval.high for interval in found]) <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize(("number", "spread"), [(1, 0.0), (5, 0.0), (MANY_CLUSTERS, 0.5), (40, 0.5)])
def test_intervals_cover_the_truth_few_relations_or_many(number: int, spread: float):
    """Of many relations the truth is the mean over all relations there could be, whose means have a spread of their own."""
    rng = np.random.default_rng(number)
    fixed = np.linspace(0.3, 1.5, number)
    truth = float(norm.cdf(1 / np.sqrt(2 + spread**2))) if spread else true_auc(fixed)
    covered = []
    for i in range(400):
        means = rng.normal(1, spread, number) if spread else fixed
        found = simulated(rng, means, 60, 120).interval(n_resamples=400, seed=i)
        covered.append(found.low <= truth <= found.high)
    assert 0.91 <= np.mean(covered) <= 0.985


def test_relations_are_drawn_where_there_are_many():
    """Equal pairs in every relation leave the relations alone to draw: would catch a threshold that is off by one."""
    areas, unrelated = np.array([0.0, 1.0] * (MANY_CLUSTERS // 2)), np.array([0.5, 0.5])
    of_many = units([[area, area] for area in areas], unrelated)
    of_fewer = units([[area, area] for area in areas[1:]], unrelated)
    assert of_fewer.interval(n_resamples=50)[1:] == (of_fewer.value, of_fewer.value)
    found = of_many.interval(n_resamples=2000)
    assert found.high - found.low == pytest.approx(2 * norm.ppf(0.975) * 0.5 / np.sqrt(MANY_CLUSTERS), rel=0.15)
    assert [units_of_relations(n) for n in (1, MANY_CLUSTERS - 1, MANY_CLUSTERS)] == ["pairs"] * 2 + [
        "relations and pairs"
    ]


# ---------------------------------------------------------------------- paired tests


def pair_of_models(rng, means, n_positive, n_negative, noise=1.0, shift=0.0):
    """Two models whose scores of a pair share what the pair has; the first one's related pairs stand ``shift`` higher."""
    positives = [rng.normal(mean, 1, n_positive) for mean in means]
    negative = rng.normal(size=n_negative)
    models = []
    for higher in (shift, 0.0):
        noisy = [scores + higher + rng.normal(0, noise, n_positive) for scores in positives]
        models.append(units(noisy, negative + rng.normal(0, noise, n_negative)))
    return models


@pytest.mark.long
@pytest.mark.parametrize("own", [False, True], ids=["negatives of all", "negatives of each"])
def test_p_is_that_of_all_exchanges(own: bool):
    """Seven pairs are exchanged in 128 ways: would catch negatives that are never exchanged, and raw scores that are."""
    ours = [np.array([0.9, 0.4]), np.array([0.7])], [np.array([0.1, 0.5]), np.array([0.8, 0.3])]
    theirs = [np.array([30.0, 60.0]), np.array([10.0])], [np.array([20.0, 40.0]), np.array([15.0, 70.0])]
    negatives = (lambda side: side[1]) if own else (lambda side: np.concatenate(side[1]))
    first, second = (units(side[0], negatives(side)) for side in (ours, theirs))
    order = [units(side[0], negatives(side)).rows[:, 0].argsort().argsort() for side in (ours, theirs)]
    related, relation = first.rows[:, 2] == 1, first.rows[:, 1]

    def macro(scores):
        against = [(relation == i) & ~related if own else ~related for i in (0, 1)]
        return np.mean([auc(scores[(relation == i) & related], scores[against[i]]) for i in (0, 1)])

    observed = macro(order[0]) - macro(order[1])
    null = []
    for bits in range(128):
        swap = np.array([bits >> i & 1 for i in range(7)], dtype=bool)
        null.append(macro(np.where(swap, order[1], order[0])) - macro(np.where(swap, order[0], order[1])))
    exact = np.mean(np.abs(null) >= abs(observed) - 1e-9)
    test = first.compare(second, n_resamples=8_000)
    assert test.difference == pytest.approx(observed)
    assert test.p_value == pytest.approx(exact, abs=0.02)


@pytest.mark.long
def test_the_test_has_its_size_where_models_do_not_differ():
    """300 pairs of models: would catch a test that finds differences more often than it says."""
    rng = np.random.default_rng(3)
    p_values = []
    for i in range(300):
        first, second = pair_of_models(rng, [0.5, 1.0], 20, 30)
        p_values.append(first.compare(second, n_resamples=99, seed=i).p_value)
    assert np.mean(np.array(p_values) <= 0.1) == pytest.approx(0.1, abs=0.05)
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.06)


@pytest.mark.long
def test_of_many_relations_each_is_exchanged_as_a_whole():
    """Models that differ in every relation, and on average not: p of single pairs would be small nine times in ten."""
    rng = np.random.default_rng(4)
    p_values = []
    for i in range(150):
        negative, base = rng.normal(size=60), [rng.normal(1, 1, 60) for _ in range(MANY_CLUSTERS)]
        shifts = rng.normal(0, 1, (2, MANY_CLUSTERS))
        first, second = (units([scores + by for scores, by in zip(base, shift)], negative) for shift in shifts)
        p_values.append(first.compare(second, n_resamples=99, seed=i).p_value)
    assert np.mean(np.array(p_values) <= 0.1) == pytest.approx(0.1, abs=0.07)


def test_a_better_model_is_found_and_the_interval_of_the_difference_agrees():
    first, second = pair_of_models(np.random.default_rng(5), [0.5, 1.0], 120, 150, noise=0.4, shift=0.6)
    test = first.compare(second, n_resamples=400)
    assert test.p_value < 0.01 and 0 < test.low < test.difference < test.high
    back = second.compare(first, n_resamples=400)
    assert (back.difference, back.low, back.high) == pytest.approx((-test.difference, -test.high, -test.low))
    assert first.compare(first, n_resamples=50) == (0.0, 0.0, 0.0, 1.0, len(first))


def test_models_are_compared_by_the_order_of_their_scores():
    first, second = pair_of_models(np.random.default_rng(6), [0.5], 30, 40)
    scaled = first.rows * [1000, 1, 1]
    assert Units("pair", scaled, "macro_auc").compare(second, n_resamples=60) == first.compare(second, n_resamples=60)


# ---------------------------------------------------------------------- files and mistakes


def test_units_of_relations_survive_a_file(tmp_path):
    scores = simulated(np.random.default_rng(7), [0.5, 1.0], 5, 6)
    save_units(tmp_path / "units.npz", {"macro_auc": scores})
    found = load_units(tmp_path / "units.npz")["macro_auc"]
    assert found.interval(n_resamples=30) == scores.interval(n_resamples=30)


ROWS = np.array([[0.5, 0, 1], [0.4, -1, 0]])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROWS[:, :2], "expected rows of score, relation and related"),
        (ROWS[1:], "pairs of at least one relation, found none"),
        (ROWS[:1], "relation 0 has 1 related pairs and no unrelated ones"),
        (ROWS + [[0, 1, 0], [0, 0, 0]], "relation 0 has no related pairs"),
    ],
)
def test_rows_that_are_no_relations_are_refused(rows, message):
    with pytest.raises(InputError, match=message):
        RelationAUCResampler(rows)
    with pytest.raises(InputError):
        Units("pair", rows, "macro_auc")


def test_other_pairs_are_not_compared():
    scores, other = (simulated(np.random.default_rng(8), means, 4, 6) for means in ([0.5, 1.0], [0.5]))
    with pytest.raises(InputError, match="the same units"):
        scores.compare(other)
    moved = Units("pair", np.roll(scores.rows, 1, axis=0), "macro_auc")
    with pytest.raises(InputError, match="pairs with other given numbers"):
        scores.compare(moved)
