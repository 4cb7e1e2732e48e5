"""Relations that share pairs: a relation and its inverse count as one, and a pair of two relations as one pair."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from st_biomed.errors import InputError
from st_biomed.metrics import Units, load_units, save_units
from st_biomed.metrics.pair_strata import PairStrata
from st_biomed.metrics.random_draws import MANY_CLUSTERS
from st_biomed.metrics.relation_auc import relation_rows
from st_biomed.metrics.relation_groups import relation_groups
from st_biomed.metrics.relation_resampler import RelationAUCResampler


def with_inverses(positives, negatives, own: bool) -> np.ndarray:
    """Rows of relations, each followed by its inverse with the same pairs, and of their negatives."""
    number = len(positives)
    pair = np.arange(sum(map(len, positives)))
    of_relation = np.split(pair, np.cumsum([len(scores) for scores in positives])[:-1])
    named = {f"{i} {side}": positives[i] for i in range(number) for side in ("", "inverse")}
    pairs = [of_relation[i] for i in range(number) for _ in range(2)]
    if not own:
        return relation_rows(named, negatives[0], np.concatenate([*pairs, len(pair) + np.arange(len(negatives[0]))]))
    sizes = np.cumsum([0, *map(len, negatives)]) + len(pair)
    of_negatives = [np.arange(sizes[i], sizes[i + 1]) for i in range(number) for _ in range(2)]
    against = {name: negatives[int(name.split()[0])] for name in named}
    return relation_rows(named, against, np.concatenate(pairs + of_negatives))


# ---------------------------------------------------------------------- groups and strata


@pytest.mark.parametrize(
    ("pairs", "groups"),
    [
        ([[0, 1], [2], [1, 0]], [0, 1, 0]),  # a relation and its inverse
        ([[0, 1, 2, 3], [3, 4, 5, 6]], [0, 1]),  # one of four
        ([[0, 1, 2, 3], [2, 3, 4, 5]], [0, 0]),  # half
        ([list(range(100)), [7]], [0, 0]),  # a part of another
        ([[9, 8], [0, 1], [1, 2], [2, 3]], [0, 1, 1, 1]),  # a chain
        ([[0, 0, 0, 1, 2], [0, 5, 6, 7, 8]], [0, 1]),  # a repeated pair counts once
    ],
)
def test_relations_that_share_half_of_their_pairs_are_a_group(pairs, groups):
    """Catches a part of the larger relation, of all pairs of both, and groups in the order of a search."""
    assert relation_groups([np.array(of_relation) for of_relation in pairs]).tolist() == groups


def test_pairs_of_the_same_sides_are_a_stratum():
    """Pairs 0, 1 on sides 0 and 1; 2 on 0 alone; 3 on 1 alone; 4 twice on 0. Catches a row whose pair is another's."""
    pair, side = np.array([0, 1, 2, 4, 4, 1, 3, 0]), np.array([0, 0, 0, 0, 0, 1, 1, 1])
    strata = PairStrata(pair, side)
    assert sorted(strata.sizes) == [1, 1, 1, 2]
    first, second = strata.side(np.arange(5)), strata.side(np.arange(5, 8))
    both = list(set(first.strata) & set(second.strata))
    assert len(both) == 1 and len(first.strata) == 4 and len(set(first.strata)) == 3
    for rows, its in ((first, [0, 1, 2, 4, 4]), (second, [0, 1, 3])):
        assert sorted(pair[rows.rows]) == its
        start = sum(strata.sizes[of] for of in rows.strata[: rows.strata.index(both[0])])
        assert pair[rows.rows[start : start + 2]].tolist() == [0, 1] and rows.starts[start] == start


def test_a_stratum_whose_pairs_are_twice_on_a_side_has_two_blocks_of_it():
    """Pairs 0 and 1 are twice on side 0. Catches blocks of one pair: a draw of one pair would be one of its copies."""
    pair = np.array([0, 1, 0, 1])
    found = PairStrata(pair, np.zeros(4, dtype=int)).side(np.arange(4))
    assert pair[found.rows].tolist() == [0, 1, 0, 1] and found.strata == [0, 0]
    assert found.starts.tolist() == [0, 0, 2, 2]


def test_strata_do_not_depend_on_the_order_of_the_rows():
    """Both pairs are on both sides. Catches sides in the order of the rows, which tells the two apart."""
    assert PairStrata(np.array([0, 1, 1, 0]), np.array([0, 1, 0, 1])).sizes.tolist() == [2]


# ---------------------------------------------------------------------- draws


@pytest.mark.parametrize("own", [False, True], ids=["negatives of all", "negatives of each"])
@pytest.mark.parametrize("number", [2, MANY_CLUSTERS])
def test_relations_with_their_inverses_are_drawn_and_exchanged_as_without_them(number: int, own: bool):
    """Catches a pair that is drawn anew for the inverse, negatives too, and an inverse that is a group of its own."""
    rng = np.random.default_rng(number)
    models = []
    for _ in range(2):
        positives = [rng.normal(1, 1, 3 + i % 4) for i in range(number)]
        negatives = [rng.normal(size=4 + i % 3) for i in range(number)]
        named = dict(enumerate(positives))
        alone = relation_rows(named, dict(enumerate(negatives)) if own else negatives[0])
        models.append([RelationAUCResampler(alone), RelationAUCResampler(with_inverses(positives, negatives, own))])
    (alone, both), (alone_2, both_2) = models
    assert both.groups.tolist() == np.repeat(np.arange(number), 2).tolist() and both.are_many == alone.are_many
    draws = [scores.bootstrap(np.random.default_rng(5), 7) for scores in (alone, both)]
    assert draws[1] == pytest.approx(draws[0], abs=1e-12)
    swapped = [a.permute(b, np.random.default_rng(5), 7) for a, b in ((alone, alone_2), (both, both_2))]
    assert swapped[1] == pytest.approx(swapped[0], abs=1e-12)


def test_a_pair_of_two_relations_is_drawn_equally_often_in_both():
    """Areas are means of 0 and 1 against a negative of 0.5; strata of 4 pairs with variance 1/4, 3/16 and 1/4. The sum of the
    shared stratum counts in both relations: (4/4 + 4 * 4 * 3/16 + 4/4) / 16^2. Catches draws of each relation alone:
    (4/4 + 2 * 4 * 3/16 + 4/4) / 16^2 within strata."""
    first, shared, second = [0.0, 0, 1, 1], [0.0, 1, 1, 1], [1.0, 1, 0, 0]
    rows = relation_rows(
        {"a": first + shared, "b": second + shared}, [0.5], [0, 1, 2, 3, *range(4, 8), *range(8, 12), *range(4, 8), 12]
    )
    scores = RelationAUCResampler(rows)
    assert scores.groups.tolist() == [0, 0] and scores.value == pytest.approx(10 / 16)
    drawn = scores.bootstrap(np.random.default_rng(0), 20_000)
    assert drawn.mean() == pytest.approx(10 / 16, abs=0.005)
    assert drawn.var() == pytest.approx((1 + 3 + 1) / 256, rel=0.05)


def test_a_pair_that_few_relations_share_is_one_pair_without_a_group_too():
    """One pair of three in common makes no group; it is a stratum of its own and drawn once, as are losses. Catches strata
    of each relation alone, in which the one pair that wins is drawn between no and three times."""
    scores = RelationAUCResampler(relation_rows({"a": [0, 0, 1], "b": [0, 0, 1]}, [0.5], [0, 1, 4, 2, 3, 4, 5]))
    assert scores.groups.tolist() == [0, 1]
    assert scores.bootstrap(np.random.default_rng(0), 20) == pytest.approx(np.full(20, 1 / 3))


def test_of_many_groups_the_pairs_of_each_are_drawn_on_their_own():
    """Each relation shares one pair of four with the next. Catches strata over groups, which draw that pair every time."""
    rng = np.random.default_rng(1)
    named = {str(i): rng.normal(size=4) for i in range(MANY_CLUSTERS)}
    pairs = [pair for i in range(MANY_CLUSTERS) for pair in range(3 * i, 3 * i + 4)]
    rows = relation_rows(named, [0.0, 0.5], [*pairs, 100, 101])
    found, alone = (
        RelationAUCResampler(rows[:, :n]).bootstrap(np.random.default_rng(2), 20) for n in (4, 3)
    )  # without numbers of the pairs, none is shared
    assert found == pytest.approx(alone, abs=1e-12)


def test_draws_do_not_depend_on_how_pairs_are_numbered():
    """Catches strata in the order of the numbers: one benchmark would have two intervals."""
    rng = np.random.default_rng(2)
    rows = with_inverses(rng.normal(1, 1, (3, 5)), rng.normal(size=(1, 9)), own=False)
    other = rows.copy()
    other[:, 3] = rng.permutation(24)[rows[:, 3].astype(int)]
    found, again = (RelationAUCResampler(part).bootstrap(np.random.default_rng(5), 7) for part in (rows, other))
    assert found.tolist() == again.tolist()


def test_drawn_groups_count_by_their_relations():
    """Catches a mean over groups, and one over the relations of the benchmark instead of the drawn ones."""
    areas = [float(i % 2) for i in range(MANY_CLUSTERS)]
    named = {str(i): [area, area] for i, area in enumerate(areas)} | {"inverse": [1.0, 1.0]}
    pairs = [*range(2 * MANY_CLUSTERS), 2, 3, 2 * MANY_CLUSTERS]  # the inverse of relation 1
    scores = RelationAUCResampler(relation_rows(named, [0.5], pairs))
    assert scores.value == pytest.approx(11 / 21)
    times = np.stack([np.bincount(draw, minlength=20) for draw in np.random.default_rng(3).integers(20, size=(9, 20))])
    sizes = np.where(np.arange(20) == 1, 2, 1)
    expected = (times * sizes) @ areas / (times @ sizes)
    assert scores.bootstrap(np.random.default_rng(3), 9) == pytest.approx(expected)


def test_p_exchanges_a_pair_in_all_its_relations():
    """Five pairs, one of them in both relations, are exchanged in 32 ways: catches 64."""
    ours, theirs = np.array([0.9, 0.3, 0.3, 0.8, 0.1, 0.7]), np.array([30.0, 60, 60, 10, 40, 15])
    relation, related, pair = [0, 0, 1, 1, -1, -1], [1, 1, 1, 1, 0, 0], np.array([0, 1, 1, 2, 3, 4])
    models = [
        Units("pair", np.column_stack([scores, relation, related, pair]), "macro_auc") for scores in (ours, theirs)
    ]
    ranks = [2 * np.searchsorted(np.unique(scores), scores) + 1 for scores in (ours, theirs)]

    def macro(scores):
        return np.mean([roc_auc_score([1, 1, 0, 0], scores[[*rows, 4, 5]]) for rows in ((0, 1), (2, 3))])

    swaps = [np.array([bits >> i & 1 for i in range(5)], dtype=bool)[pair] for bits in range(32)]
    null = [macro(np.where(swap, *ranks[::-1])) - macro(np.where(swap, *ranks)) for swap in swaps]
    exact = np.mean(np.abs(null) >= abs(macro(ranks[0]) - macro(ranks[1])) - 1e-9)
    assert models[0].compare(models[1], n_resamples=8_000).p_value == pytest.approx(exact, abs=0.02)


@pytest.mark.long
@pytest.mark.parametrize("number", [5, MANY_CLUSTERS], ids=["pairs are drawn", "groups are drawn"])
def test_equal_models_differ_as_often_as_the_test_says_with_relations_and_their_inverses(number: int):
    """200 pairs of equal models: at the 5 % level about 5 % differ; 17 % where an inverse counts as another relation."""
    rng = np.random.default_rng(number)
    p_values = []
    for seed in range(200):
        positives, negatives = rng.normal(1, 1, (number, 8)), rng.normal(size=(number, 8))
        ours, theirs = (
            with_inverses(*(scores + rng.normal(size=scores.shape) for scores in (positives, negatives)), own=True)
            for _ in range(2)
        )
        p_values.append([])
        for n_columns in (4, 3):  # the last is the number of the pair
            first, second = (RelationAUCResampler(rows[:, :n_columns]) for rows in (ours, theirs))
            null = np.abs(first.permute(second, np.random.default_rng(seed), 59))
            p_values[-1].append((1 + (null >= abs(first.value - second.value) - 1e-9).sum()) / 60)
    found, without_pairs = (np.array(p_values) <= 0.05).mean(axis=0)
    assert 0.02 <= found <= 0.09 and without_pairs >= 0.11


@pytest.mark.long
def test_many_relations_that_share_their_negatives_differ_as_often_as_the_test_says():
    """The errors of the negatives are in every area: more than 15 of 100 models differ where only signs of areas change."""
    rng = np.random.default_rng(1)
    found, by_signs = [], []
    for seed in range(200):
        positives = rng.normal(1, 1, (MANY_CLUSTERS, 30)) + rng.normal(0, 0.1, (MANY_CLUSTERS, 1))
        negatives = rng.normal(size=300)
        ours, theirs = (
            RelationAUCResampler(
                relation_rows(
                    dict(enumerate(positives + rng.normal(size=positives.shape))),
                    negatives + rng.normal(size=negatives.shape),
                )
            )
            for _ in range(2)
        )
        difference = abs(ours.value - theirs.value) - 1e-9
        null = ours.permute(theirs, np.random.default_rng(seed), 59)
        signs = np.random.default_rng(seed).choice([-1, 1], (59, MANY_CLUSTERS)) @ (ours.aucs - theirs.aucs)
        found.append((1 + (np.abs(null) >= difference).sum()) / 60)
        by_signs.append((1 + (np.abs(signs / MANY_CLUSTERS) >= difference).sum()) / 60)
    assert 0.02 <= (np.array(found) <= 0.05).mean() <= 0.09
    assert (np.array(by_signs) <= 0.05).mean() >= 0.15


# ---------------------------------------------------------------------- files


def test_files_keep_the_pairs_and_old_ones_have_independent_relations(tmp_path, caplog):
    """Catches pairs that are lost in a file, an old file without a word, and a warning without a reason."""
    rng = np.random.default_rng(0)
    rows = with_inverses(rng.normal(1, 1, (3, 5)), rng.normal(size=(1, 9)), own=False)
    units = {"macro_auc": Units("pair", rows, "macro_auc")}
    save_units(tmp_path / "new.npz", units)
    save_units(tmp_path / "old.npz", {"macro_auc": Units("pair", rows[:, :3], "macro_auc")})
    with caplog.at_level(logging.WARNING, logger="st_biomed"):
        new = load_units(tmp_path / "new.npz")["macro_auc"]
        assert new.interval(n_resamples=30) == units["macro_auc"].interval(n_resamples=30) and not caplog.records
        old = load_units(tmp_path / "old.npz")["macro_auc"]
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path / 'old.npz'}: does not say which relations share pairs; each counts as independent, also one and its "
        "inverse"
    ]
    assert RelationAUCResampler(old.rows).groups.tolist() == list(range(6)) and old.value == new.value
    with pytest.raises(InputError, match="pairs with 4 and 3 columns"):
        new.compare(old)


@pytest.mark.parametrize(("number", "n_warnings"), [(1, 0), (2, 1)])
def test_an_old_file_is_warned_of_where_relations_could_share_pairs(tmp_path, caplog, number: int, n_warnings: int):
    """Catches a warning about a single relation, and none about two."""
    rows = relation_rows({str(i): [0.9, 0.3] for i in range(number)}, [0.5])
    save_units(tmp_path / "old.npz", {"macro_auc": Units("pair", rows, "macro_auc")})
    load_units(tmp_path / "old.npz")
    assert len(caplog.records) == n_warnings
