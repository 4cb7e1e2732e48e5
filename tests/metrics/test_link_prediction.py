"""Ranks of link prediction against a small graph worked out by hand, a naive loop and scipy's ranks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from st_biomed.errors import InputError
from st_biomed.metrics.link_prediction import (
    KnownTriples,
    Ranks,
    filtered_ranks,
    rank_metrics,
    rank_triples,
    target_ranks,
)

TEST = np.array([[0, 0, 4], [1, 1, 5]])
KNOWN = np.array([[0, 0, 1], [0, 0, 2], [3, 1, 4], [0, 0, 3], *TEST.tolist()])
SCORES = {
    "head": np.array([[0.5, 0.5, 0.9, 0.1, 0.5, 0.0], [0.0, 0.8, 0.3, 0.3, 0.0, 0.1]]),
    "tail": np.array([[0.1, 0.9, 0.5, 0.5, 0.5, 0.2], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]),
}


def by_hand(given: np.ndarray, relations: np.ndarray, side: str) -> np.ndarray:
    """A model of six entities and two relations; query i is known by its relation."""
    return SCORES[side][relations]


def ranked(**options) -> dict[str, dict[str, Ranks]]:
    return {side: rank_triples(by_hand, TEST, side, n_entities=6, **options) for side in SCORES}


# ---------------------------------------------------------------------- by hand


def test_a_small_graph_has_the_ranks_worked_out_by_hand():
    """Catches ties all won or all lost, a target that is filtered out itself, and the two sides swapped.

    (0, 0, ?): entity 1 stands above 4; 2 and 3 tie with it. All three are tails of (0, 0) in train or valid.
    (?, 0, 4): entity 2 stands above 0; 1 and 4 tie with it. None is a known head.
    (1, 1, ?): all six tie. (?, 1, 5): entity 1 is best alone.
    """
    ranks = ranked(known=KnownTriples(KNOWN, 2))
    assert ranks["tail"]["raw"].optimistic.tolist() == [2, 1]
    assert ranks["tail"]["raw"].pessimistic.tolist() == [4, 6]
    assert ranks["tail"]["raw"].realistic.tolist() == [3, 3.5]
    assert ranks["tail"]["filtered"].realistic.tolist() == [1, 3.5]
    assert ranks["head"]["raw"].optimistic.tolist() == ranks["head"]["filtered"].optimistic.tolist() == [2, 1]
    assert ranks["head"]["raw"].pessimistic.tolist() == ranks["head"]["filtered"].pessimistic.tolist() == [4, 1]


def test_metrics_of_the_small_graph_are_those_of_pykeen():
    """Its realistic ranks over both sides: hits count ranks of at most k, MRR is the mean of one over the rank."""
    filtered, raw = [3, 1, 1, 3.5], [3, 1, 3, 3.5]
    assert rank_metrics(np.array(filtered)) == pytest.approx(
        {"mrr": (1 / 3 + 1 + 1 + 2 / 7) / 4, "mr": 2.125, "hits@1": 0.5, "hits@3": 0.75, "hits@10": 1}
    )
    assert rank_metrics(np.array(raw)) == pytest.approx(
        {"mrr": (1 / 3 + 1 + 1 / 3 + 2 / 7) / 4, "mr": 2.625, "hits@1": 0.25, "hits@3": 0.75, "hits@10": 1}
    )


def test_a_tie_for_the_first_place_is_no_hit_at_one():
    """Catches a hit that is counted by the optimistic rank: a constant model would get them all."""
    assert rank_metrics(np.array([1.5]), ks=[1, 2]) == {"mrr": 1 / 1.5, "mr": 1.5, "hits@1": 0, "hits@2": 1}


# ---------------------------------------------------------------------- against oracles

coarse = st.integers(0, 3)


@given(st.lists(st.lists(coarse, min_size=5, max_size=5), min_size=1, max_size=6), st.data())
def test_raw_ranks_are_scipys_with_any_ties(rows, data):
    """Catches an off-by-one of either rank: the realistic one is the average, optimistic the min, pessimistic the max."""
    scores = np.array(rows, dtype=float)
    targets = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows))))
    ranks = target_ranks(scores, targets)
    for kind, of in {"min": ranks.optimistic, "average": ranks.realistic, "max": ranks.pessimistic}.items():
        assert of.tolist() == [rankdata(-row, kind)[target] for row, target in zip(scores, targets)]
    for found, of_arrays in zip(target_ranks(torch.from_numpy(scores), targets), ranks):
        np.testing.assert_array_equal(found, of_arrays)


def test_nan_among_scores_is_refused_on_any_device():
    scores = np.array([[0.0, np.nan, 1.0]])
    for kind in (np.asarray, torch.as_tensor):
        with pytest.raises(InputError, match="scores: 1 of 3 are NaN"):
            target_ranks(kind(scores), np.array([0]))


triples = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=25)


@given(triples, st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_filtered_ranks_are_those_of_a_loop_over_entities(known, seed, cells):
    """Catches answers of another relation or of the other side, triples counted twice, and chunks that lose their place."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (5, 3, 5)).astype(np.float32)
    queries = np.array(known)[rng.integers(len(known), size=7)]

    def scorer(given, relations, side):
        return table[given, relations] if side == "tail" else -table[given, relations]

    for side in ("head", "tail"):
        ranks = rank_triples(
            scorer, queries, side, n_entities=5, known=KnownTriples(np.array(known + known), 3), cells=cells
        )
        of_tensors = rank_triples(
            lambda *query: torch.from_numpy(scorer(*query)),
            queries,
            side,
            n_entities=5,
            known=KnownTriples(np.array(known), 3),
            cells=cells,
        )
        for setting, found in of_tensors.items():
            np.testing.assert_array_equal(found, ranks[setting])
        for i, (head, relation, tail) in enumerate(queries.tolist()):
            fixed, target = (tail, head) if side == "head" else (head, tail)
            scores = scorer(fixed, relation, side)
            above, tied = 0, 0
            for entity in range(5):
                triple = (entity, relation, tail) if side == "head" else (head, relation, entity)
                if entity == target or triple in known:
                    continue
                above += scores[entity] > scores[target]
                tied += scores[entity] == scores[target]
            assert ranks["filtered"].optimistic[i] == above + 1
            assert ranks["filtered"].pessimistic[i] == above + tied + 1


# ---------------------------------------------------------------------- edges


def test_the_scores_of_the_model_are_left_as_they_are():
    """Catches a filter that writes into the matrix it was given."""
    before = {side: scores.copy() for side, scores in SCORES.items()}
    ranked(known=KnownTriples(KNOWN, 2))
    assert all(np.array_equal(SCORES[side], before[side]) for side in SCORES)


def test_a_query_that_is_not_known_leaves_nothing_out():
    """Catches the answers of a neighboring key, before the first, between two and after the last."""
    known = KnownTriples(np.array([[1, 0, 2], [3, 1, 4]]), 2)
    for triple in ([0, 0, 2], [1, 1, 4], [3, 0, 2], [4, 1, 0]):
        query, entity = known.answers(np.array([triple]), "tail")
        assert len(query) == len(entity) == 0
    assert [part.tolist() for part in known.answers(np.array([[0, 0, 0], [3, 1, 0]]), "tail")] == [[1], [4]]


def test_without_known_triples_there_are_raw_ranks_only():
    assert set(ranked()["head"]) == {"raw"}


def test_a_graph_without_known_triples_filters_nothing():
    ranks = rank_triples(by_hand, TEST, "tail", n_entities=6, known=KnownTriples(np.empty((0, 3), dtype=int), 2))
    assert np.array_equal(ranks["filtered"], ranks["raw"])


def test_minus_infinity_is_a_score_like_others():
    """Catches filtered entities that tie with a target at minus infinity."""
    scores = np.array([[-np.inf, -np.inf, 1.0]])
    ranks = target_ranks(scores, np.array([0]))
    assert (ranks.optimistic.item(), ranks.pessimistic.item()) == (2, 3)
    left = filtered_ranks(ranks, scores, np.array([0]), (np.array([0]), np.array([1])))
    assert (left.optimistic.item(), left.pessimistic.item()) == (2, 2)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((2, 5)), r"scores: expected \[2, 6\], found shape \(2, 5\)"),
        (np.zeros((1, 6)), r"scores: expected \[2, 6\], found shape \(1, 6\)"),
        (np.full((2, 6), np.nan), "scores: 12 of 12 are NaN"),
    ],
)
def test_bad_scores_are_refused(scores, message):
    with pytest.raises(InputError, match=message):
        rank_triples(lambda given, relations, side: scores, TEST, "tail", n_entities=6)


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="unknown side 'tails': allowed are 'head', 'tail'; did you mean 'tail'"):
        rank_triples(by_hand, TEST, "tails", n_entities=6)
    with pytest.raises(InputError, match="triples: expected at least one to rank, found none"):
        rank_triples(by_hand, TEST[:0], "tail", n_entities=6)
    with pytest.raises(InputError, match=r"scores: expected \[2, E\], found shape \(6,\)"):
        target_ranks(np.zeros(6), np.array([0, 1]))
    for target in (-1, 6):
        with pytest.raises(InputError, match=f"target must be from 0 to 5, found {target}"):
            target_ranks(np.zeros((1, 6)), np.array([target]))
    known = KnownTriples(np.array([[0, 1, 1]]), 2)
    for relation in (-1, 2):  # with another entity it would have the key of a known query
        with pytest.raises(InputError, match=f"relation must be from 0 to 1, found {relation}"):
            known.answers(np.array([[1, relation, 0]]), "tail")
    for ranks in ([], [0.5], [np.nan]):
        with pytest.raises(InputError, match="ranks: expected at least one, each from 1"):
            rank_metrics(np.array(ranks))
