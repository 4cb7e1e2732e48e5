"""Units: bootstrap intervals and the randomization test, against closed forms, enumeration and plain loops."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binom, norm, rankdata, spearmanr
from sklearn.metrics import roc_auc_score

from st_biomed.errors import InputError
from st_biomed.metrics import Units, compare_means, load_units, save_units


def bootstrap_interval(values, clusters=None, **options):
    return Units("mention", np.asarray(values), clusters=clusters).interval(**options)


def paired_test(first, second, clusters=None, **options):
    first, second = (Units("mention", np.asarray(side), clusters=clusters) for side in (first, second))
    return first.compare(second, **options)


def clustered(clusters):
    return Units("mention", np.array([1.0, 0.0]), clusters=clusters)


def test_the_interval_of_hits_is_that_of_the_binomial_distribution():
    """300 of 400: the resampled count is Binomial(400, .75); would catch a wrong quantile or draws without replacement."""
    interval = bootstrap_interval(np.repeat([1.0, 0.0], [300, 100]), n_resamples=20_000)
    low, high = binom.ppf([0.025, 0.975], 400, 0.75) / 400
    assert interval.value == 0.75
    assert interval.low == pytest.approx(low, abs=0.004) and interval.high == pytest.approx(high, abs=0.004)


@pytest.mark.long
def test_the_interval_covers_the_truth_as_often_as_it_says():
    """500 samples of 80 mentions at .7: would catch one that is systematically narrow."""
    rng = np.random.default_rng(0)
    covered = []
    for i in range(500):
        interval = bootstrap_interval(rng.random(80) < 0.7, level=0.9, n_resamples=400, seed=i)
        covered.append(interval.low <= 0.7 <= interval.high)
    assert np.mean(covered) == pytest.approx(0.9, abs=0.04)


def test_documents_are_drawn_whole():
    """Ten documents of 40 equal mentions hold ten facts, not 400; would catch clusters that are ignored."""
    hits = np.repeat([1, 1, 1, 0, 1, 0, 1, 1, 0, 1], 40).astype(float)
    documents = np.repeat([f"document {i}" for i in range(10)], 40)
    by_mention, by_document = bootstrap_interval(hits), bootstrap_interval(hits, documents)
    assert by_mention.value == by_document.value == 0.7
    spread = norm.ppf(0.975) * 2 * np.sqrt(0.7 * 0.3 / 10)
    assert by_document.high - by_document.low == pytest.approx(spread, abs=0.11)
    assert by_mention.high - by_mention.low == pytest.approx(spread / np.sqrt(40), abs=0.02)


def test_documents_of_different_length_weigh_by_their_mentions():
    """A resample's mean is that of its mentions, not of its documents' means: a loop is the oracle."""
    values, documents = np.array([1.0, 0, 0, 0, 1, 1]), np.array([7, 3, 3, 3, 9, 9])
    rng = np.random.default_rng(4)
    means = []
    for _ in range(50):
        drawn = [[values[documents == (3, 7, 9)[i]]] for i in rng.integers(3, size=3)]
        means.append(np.concatenate([part for (part,) in drawn]).mean())
    interval = bootstrap_interval(values, documents, n_resamples=50, seed=4, level=0.8)
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(means, [0.1, 0.9])))


def test_many_mentions_are_drawn_in_pieces_that_change_nothing(monkeypatch):
    values = np.random.default_rng(1).random(50)
    whole = bootstrap_interval(values, n_resamples=101), paired_test(values, values[::-1], n_resamples=101)
    monkeypatch.setattr("st_biomed.metrics.significance._CELLS", 150)
    pieces = bootstrap_interval(values, n_resamples=101), paired_test(values, values[::-1], n_resamples=101)
    # BLAS may round the sums of another shape otherwise in their last bit.
    assert tuple(pieces[0]) == pytest.approx(tuple(whole[0]), rel=1e-12)
    assert pieces[1][:3] == pytest.approx(whole[1][:3], rel=1e-12)
    assert pieces[1].p_value == pytest.approx(whole[1].p_value, abs=0.2)


def test_p_is_that_of_all_signs():
    """Eight mentions have 256 signs: would catch a one-sided test and a draw equal to the observed that does not count."""
    first = np.array([1, 1, 1, 0, 1, 1, 0.5, 1])
    second = np.array([0, 1, 0, 1, 0, 0, 0.25, 0])
    difference = first - second
    sums = [abs(np.dot(signs, difference)) for signs in product([-1, 1], repeat=8)]
    exact = np.mean([total >= abs(difference.sum()) - 1e-12 for total in sums])
    test = paired_test(first, second, n_resamples=40_000)
    assert test.p_value == pytest.approx(exact, abs=0.01)
    assert (test.difference, test.n) == (pytest.approx(difference.mean()), 8)
    assert paired_test(second, first, n_resamples=40_000).p_value == pytest.approx(exact, abs=0.01)


def test_models_that_are_the_same_are_never_found_different():
    hits = np.random.default_rng(2).random(200) < 0.6
    assert paired_test(hits, hits) == (0.0, 0.0, 0.0, 1.0, 200)


def test_p_is_uniform_where_there_is_no_difference_and_small_where_there_is_one():
    rng = np.random.default_rng(3)
    p_values = [paired_test(rng.random(120) < 0.7, rng.random(120) < 0.7, n_resamples=200).p_value for _ in range(300)]
    assert np.mean(np.array(p_values) <= 0.1) == pytest.approx(0.1, abs=0.05)
    better = paired_test(rng.random(900) < 0.8, rng.random(900) < 0.7, n_resamples=999)
    assert better.p_value < 0.01 and better.low > 0


def test_documents_keep_their_signs_together():
    """Four documents can flip in 16 ways, so that p cannot be below 2/16 however many mentions they have."""
    first, second = np.ones(200), np.zeros(200)
    documents = np.repeat(np.arange(4), 50)
    assert paired_test(first, second).p_value < 0.001
    assert paired_test(first, second, documents, n_resamples=4000).p_value == pytest.approx(2 / 16, abs=0.03)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_interval([]), "at least one mention"),
        (lambda: bootstrap_interval([1.0, float("nan")]), "NaN"),
        (lambda: bootstrap_interval([1.0], level=1), "level must lie between 0 and 1"),
        (lambda: bootstrap_interval([1.0], n_resamples=0), "n_resamples must be at least 1"),
        (lambda: bootstrap_interval([1.0, 0.0], ["a"]), "one for each of 2 mentions"),
        (lambda: paired_test([1.0], [1.0], level=2), "level must lie between 0 and 1, found 2"),
        (
            lambda: clustered(["a", "b"]).compare(clustered(None)),
            "found mentions one by one and mentions in clusters; meas",
        ),
        (lambda: clustered(["a", "b"]).compare(clustered(["a", "a"])), "found mentions in other clusters"),
        (lambda: paired_test([1.0], [1.0, 0.0]), "found 1 mentions .mean. and 2 mentions"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


ROWS = np.random.default_rng(7).random((30, 2))
GRADED = np.stack([ROWS[:, 0], np.repeat([0, 1, 2], 10)], axis=1)


@pytest.mark.parametrize(
    ("statistic", "rows", "of"),
    [
        ("spearman", ROWS, lambda rows: spearmanr(rows[:, 0], rows[:, 1]).statistic),
        (
            "mean_auc",
            GRADED,
            lambda rows: np.mean(
                [
                    roc_auc_score(
                        rows[(rows[:, 1] == i) | (rows[:, 1] == j), 1] == i, rows[np.isin(rows[:, 1], (i, j)), 0]
                    )
                    for i, j in combinations(np.unique(rows[:, 1]), 2)
                ]
            ),
        ),
        (
            "f1",
            np.arange(30).reshape(10, 3),
            lambda rows: 2 * rows[:, 0].sum() / (rows[:, 1].sum() + rows[:, 2].sum()),
        ),
        (
            "macro_mean",
            np.array([[4.0, 1, 0, 0], [2, 1, 3, 1], [0, 0, 5, 1]]),
            lambda rows: np.mean([rows[:, i].sum() / rows[:, i + 1].sum() for i in (0, 2) if rows[:, i + 1].any()]),
        ),
    ],
)
def test_other_statistics_are_drawn_as_in_a_plain_loop(statistic, rows, of):
    """scipy and scikit-learn are the oracles; would catch columns that are drawn apart from one another."""
    units = Units("pair", rows, statistic)
    assert units.value == pytest.approx(of(rows))
    rng = np.random.default_rng(3)
    drawn = [of(np.asarray(rows, dtype=float)[draw]) for draw in rng.integers(len(rows), size=(40, len(rows)))]
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert units.interval(n_resamples=40, seed=3) == pytest.approx((of(rows), low, high))


def test_ranks_are_exchanged_as_in_a_plain_loop():
    """scipy is the oracle; would catch ranks taken before the exchange, and given numbers exchanged with them."""
    rng = np.random.default_rng(4)
    given, (ours, theirs) = rng.integers(0, 4, 12), rng.integers(0, 6, (2, 12))
    units = [Units("pair", np.stack([scores, given], axis=1), "spearman") for scores in (ours, theirs)]
    first, second = rankdata(ours), rankdata(theirs)
    found = []
    for swapped in np.random.default_rng(9).integers(2, size=(50, 12), dtype=np.int8).astype(bool):
        sides = np.where(swapped, second, first), np.where(swapped, first, second)
        found.append(spearmanr(sides[0], given).statistic - spearmanr(sides[1], given).statistic)
    observed = spearmanr(ours, given).statistic - spearmanr(theirs, given).statistic
    p_value = (1 + sum(abs(difference) >= abs(observed) - 1e-9 for difference in found)) / 51
    assert 0.05 < p_value < 0.95
    assert units[0].compare(units[1], n_resamples=50, seed=9).p_value == pytest.approx(p_value)


def test_a_model_is_compared_by_ranks_whatever_the_scale_of_its_scores():
    """Scores times a thousand have the same order: would catch raw scores exchanged between models."""
    rng = np.random.default_rng(1)
    given = np.arange(40.0)
    good, poor = given + rng.normal(size=40), given + 40 * rng.normal(size=40)

    def units(scores):
        return Units("pair", np.stack([scores, given], axis=1), "spearman")

    test, scaled = (units(scores).compare(units(poor), n_resamples=300) for scores in (good, 1000 * good))
    assert test == scaled
    assert test.p_value == pytest.approx(1 / 301) and 0 < test.low < test.difference < test.high
    assert units(good).compare(units(10 * good), n_resamples=100) == (0.0, 0.0, 0.0, 1.0, 40)
    with pytest.raises(InputError, match="pairs with other given numbers"):
        units(good).compare(Units("pair", np.stack([good, given[::-1]], axis=1), "spearman"))


def test_an_exchange_of_f1_is_that_of_whole_units():
    """Three concepts have eight exchanges; would catch sums that are exchanged column by column."""
    first, second = np.array([[3.0, 3, 3], [1, 2, 2], [0, 0, 1]]), np.array([[1.0, 4, 3], [1, 1, 2], [0, 5, 1]])

    def f1(rows):
        return 2 * rows[:, 0].sum() / (rows[:, 1] + rows[:, 2]).sum()

    observed = f1(first) - f1(second)
    drawn = []
    for swap in product([False, True], repeat=3):
        swapped = np.array(swap)[:, None]
        drawn.append(f1(np.where(swapped, second, first)) - f1(np.where(swapped, first, second)))
    exact = np.mean([abs(difference) >= abs(observed) - 1e-12 for difference in drawn])
    test = Units("concept", first, "f1").compare(Units("concept", second, "f1"), n_resamples=20_000)
    assert test.p_value == pytest.approx(exact, abs=0.01) and test.difference == pytest.approx(observed)


def test_units_survive_a_file(tmp_path):
    units = {
        "acc@1": Units("mention", np.array([1.0, 0, 1]), clusters=np.array(["a", "b", "b"])),
        "x/spearman": Units("pair", ROWS, "spearman"),
    }
    save_units(tmp_path / "units.npz", units)
    found = load_units(tmp_path / "units.npz")
    assert list(found) == list(units)
    for metric, written in units.items():
        assert (found[metric].unit, found[metric].statistic) == (written.unit, written.statistic)
        assert found[metric].interval(n_resamples=50) == written.interval(n_resamples=50)
    (tmp_path / "units.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match="units.npz: cannot be read as the units of a benchmark"):
        load_units(tmp_path / "units.npz")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Units("pair", ROWS, "median"), "statistic"),
        (lambda: Units("pair", ROWS[:0], "f1"), r"pairs: expected \[N, C\] numbers of at least one pair"),
        (lambda: Units("pair", ROWS, "spearman", np.zeros(30)), "spearman is drawn over single pairs"),
        (lambda: Units("pair", ROWS * np.inf, "spearman"), "pairs: 30 hold NaN or infinity"),
        (lambda: Units("pair", ROWS, "spearman").compare(Units("pair", ROWS[:9], "spearman")), "the same units"),
    ],
)
def test_bad_units_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_means_of_seeds_are_drawn_and_exchanged_as_in_a_plain_loop():
    """A unit keeps its seeds together; catches a test over N times seeds units, whose p is too small."""
    rng = np.random.default_rng(4)
    ours, others = ((rng.random((3, 40)) < share).astype(float) for share in (0.7, 0.5))
    found = compare_means(
        *([Units("mention", row) for row in side] for side in (ours, others)), n_resamples=4000, level=0.9
    )
    by_unit = (ours - others).mean(0)
    signs = np.random.default_rng(5).choice([-1.0, 1.0], size=(20_000, 40))
    drawn = by_unit[np.random.default_rng(6).integers(40, size=(20_000, 40))].mean(1)
    assert found.difference == pytest.approx(by_unit.mean()) and found.n == 40
    assert found.p_value == pytest.approx(
        np.mean(np.abs((signs * by_unit).mean(1)) >= by_unit.mean() - 1e-9), abs=0.01
    )
    assert (found.low, found.high) == pytest.approx(np.quantile(drawn, [0.05, 0.95]), abs=0.02)


def test_the_mean_of_one_seed_is_the_seed():
    first, second = (
        Units(
            "pair",
            np.random.default_rng(seed).random((30, 2)) @ [[1, 0], [0, 0]] + [[0, i] for i in range(30)],
            "spearman",
        )
        for seed in (1, 2)
    )
    alone = first.compare(second, n_resamples=300)
    assert compare_means([first], [second], n_resamples=300) == alone
    assert compare_means([first] * 3, [second] * 3, n_resamples=300) == pytest.approx(alone)


def test_means_of_other_numbers_of_seeds_are_refused():
    one = Units("mention", np.array([1.0, 0.0]))
    with pytest.raises(InputError, match="expected as many models as others, at least one, found 1 and 2"):
        compare_means([one], [one, one])
    with pytest.raises(InputError, match="at least one, found 0 and 0"):
        compare_means([], [])
    with pytest.raises(InputError, match="found 2 mentions .mean. and 3 mentions"):
        compare_means([one, one], [one, Units("mention", np.array([1.0, 0.0, 1.0]))])
