"""Ranks, gold sets and means of entity linking, against plain loops over sets of strings and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.metrics import (
    distinct_entries,
    first_hits,
    gold_of_mentions,
    linking_metrics,
    mention_ranks,
    share_of_parts,
)
from st_biomed.metrics.linking import unsettled

IDS = [f"MESH:X000{i}" for i in range(6)]
KNOWN = {code: i for i, code in enumerate(IDS[:5])}  # the last id is not in the dictionary

groups = st.lists(st.sets(st.sampled_from(IDS), max_size=3).map(frozenset), max_size=3)
entries = st.lists(st.sets(st.integers(0, 4), min_size=1, max_size=3), min_size=1, max_size=9)


def table(rows) -> CSR:
    pairs = [(i, entry) for i, row in enumerate(rows) for entry in row]
    return CSR.from_pairs(*np.array(pairs).T, len(rows))


def is_right(candidate: set[str], gold: list[frozenset[str]], part: int, n_parts: int, rule: str, align: bool) -> bool:
    """One candidate of one part, in words and sets."""
    agree = len(gold) == n_parts
    if rule == "first":
        return bool(candidate & gold[0])
    allowed = [gold[part]] if align and agree else gold
    union = set().union(*allowed)
    if rule == "any":
        return bool(candidate & union)
    return candidate == union or any(candidate == group for group in allowed if group)


@pytest.mark.long
@given(
    st.lists(st.tuples(groups, st.integers(1, 3)), min_size=1, max_size=5),
    entries,
    st.sampled_from(["any", "exact", "first"]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 999),
)
def test_ranks_are_those_of_a_loop_over_sets(mentions, names, rule, align, skip_missing, seed):
    """Would catch a wrong set of a part, ids of another part that match, and unknown ids taken for known ones."""
    try:
        gold = gold_of_mentions(
            [group for group, _ in mentions],
            [n for _, n in mentions],
            KNOWN,
            align_parts=align,
            gold_match=rule,
            missing_gold="skip" if skip_missing else "count_as_miss",
        )
    except InputError as error:
        assert skip_missing or not any(any(group) for group, _ in mentions), error
        return
    rng = np.random.default_rng(seed)
    ranked = np.array([rng.permutation(len(names)) for _ in gold.owner])
    ranked[rng.random(ranked.shape) < 0.2] = -1
    hits = first_hits(ranked, table(names), gold)
    for row, (owner, part, found) in enumerate(zip(gold.owner, gold.part, hits)):
        group, n_parts = mentions[gold.mentions[owner]]
        right = [
            rank
            for rank, entry in enumerate(ranked[row], 1)
            if entry >= 0 and is_right({IDS[i] for i in names[entry]}, group, part, n_parts, rule, align)
        ]
        assert found == (right[0] if right else np.inf)
    ranks = mention_ranks(hits, gold)
    assert ranks.tolist() == [max(hits[gold.owner == i]) for i in range(len(gold.mentions))]
    assert gold.n_nil == sum(not any(group) for group, _ in mentions)
    assert len(gold.mentions) + gold.n_nil + gold.n_missing == len(mentions)


@given(entries, st.integers(0, 999), st.integers(1, 7))
def test_concepts_stand_where_their_best_name_stands(names, seed, depth):
    """Would catch repeats across names, a name dropped for one of its ids, and rows that run into each other."""
    rng = np.random.default_rng(seed)
    ranked = np.array([rng.permutation(len(names)) for _ in range(4)])
    ranked[1, 1:] = -1
    for row, found in zip(ranked, distinct_entries(ranked, table(names), depth)):
        wanted, seen = [], set()
        for entry in row[row >= 0]:
            wanted += [entry] if names[entry] - seen else []
            seen |= names[entry]
        wanted = wanted[:depth]
        assert found.tolist() == wanted + [-1] * (depth - len(wanted))


def test_blocks_of_rows_change_nothing(monkeypatch):
    """Would catch a block written to, or read from, the wrong rows."""
    rng = np.random.default_rng(0)
    names = table([rng.choice(5, size=2, replace=False) for _ in range(30)])
    gold = gold_of_mentions([[{IDS[i % 6]}] for i in range(20)], [1 + i % 2 for i in range(20)], KNOWN)
    ranked = np.array([rng.permutation(30)[:6] for _ in gold.owner])
    whole = first_hits(ranked, names, gold), distinct_entries(ranked, names, 4)
    monkeypatch.setattr("st_biomed.metrics.linking._ROWS", 7)
    pieces = first_hits(ranked, names, gold), distinct_entries(ranked, names, 4)
    for expected, found in zip(whole, pieces):
        np.testing.assert_array_equal(expected, found)


def test_means_over_mentions_by_hand():
    """Part ranks 1 | 2 and 4 (one composite mention) | none: the mention ranks are 1, 4 and infinity."""
    gold = gold_of_mentions([[{IDS[0]}], [{IDS[1]}, {IDS[2]}], [{IDS[3]}]], [1, 2, 1], KNOWN)
    part_ranks = np.array([1.0, 2.0, 4.0, np.inf])
    metrics = linking_metrics(part_ranks, gold, depth=8, ks=(1, 3, 5), recall_ks=(3, 8))
    assert metrics == pytest.approx(
        {
            "acc@1": 1 / 3,
            "acc@3": 1 / 3,
            "acc@5": 2 / 3,
            "mrr@8": (1 + 1 / 4 + 0) / 3,
            "recall@3": (1 + 1 / 2 + 0) / 3,  # one of the composite's two parts
            "recall@8": 2 / 3,
        }
    )
    assert share_of_parts(part_ranks, gold, 2).tolist() == [1, 0.5, 0]


def test_coverage_counts_mentions_whose_every_part_can_be_found():
    """MESH:X0005 is unknown: it alone cannot be found, beside an alternative it can, as a part of its own it cannot."""
    mentions = [[{IDS[5]}], [{IDS[5], IDS[0]}], [{IDS[0]}, {IDS[5]}], [], [{IDS[1]}]]
    aligned = gold_of_mentions(mentions, [1, 1, 2, 1, 1], KNOWN)
    assert aligned.coverable.tolist() == [False, True, False, True] and aligned.coverage == 0.5
    assert gold_of_mentions(mentions, [1, 1, 2, 1, 1], KNOWN, align_parts=False).coverage == 0.75
    exact = gold_of_mentions(mentions, [1, 1, 2, 1, 1], KNOWN, gold_match="exact", missing_gold="skip")
    assert exact.coverage == 0.25 and exact.mentions.tolist() == [4] and (exact.n_nil, exact.n_missing) == (1, 3)


def test_an_unsettled_concept_rank_is_counted():
    """Two ids seen, no hit: rank 3 or later, so that acc@2 is known and acc@5 is not."""
    concepts, ranks = np.array([[3, 1, -1], [3, 1, -1], [4, 2, 0]]), np.array([np.inf, 2.0, np.inf])
    assert unsettled(concepts, ranks, [1, 2]) == 0
    assert unsettled(concepts, ranks, [1, 3]) == 1


def test_a_group_without_ids_is_never_found():
    """A composite mention of which one part has no concept: would catch an empty set that equals nothing at all."""
    gold = gold_of_mentions([[set(), {IDS[0]}]], [2], KNOWN, gold_match="exact")
    assert first_hits(np.array([[0], [0]]), table([[0]]), gold).tolist() == [np.inf, 1]
    only = gold_of_mentions([[set(), {IDS[0]}]], [2], KNOWN, gold_match="first")
    assert first_hits(np.array([[0]]), table([[0]]), only).tolist() == [np.inf]


def test_all_parts_are_looked_up_for_the_first_group_unless_each_has_its_own():
    """Catches a mention of three parts and two groups that is right as soon as its first part is."""
    of_two, of_three = (
        gold_of_mentions([[{IDS[0]}, {IDS[1]}]], [n_parts], KNOWN, gold_match="first") for n_parts in (2, 3)
    )
    assert (of_two.part.tolist(), of_three.part.tolist()) == ([0], [0, 1, 2])
    assert first_hits(np.array([[0], [1], [0]]), table([[0], [1]]), of_three).tolist() == [1, np.inf, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gold_match": "all"}, "unknown gold_match 'all': allowed are 'any', 'exact', 'first'"),
        ({"nil": "keep"}, "unknown nil 'keep'"),
        ({"missing_gold": "drop"}, "unknown missing_gold 'drop'"),
        ({"nil": "error"}, "1 of 2 mentions have no gold id; nil='skip'"),
        ({"missing_gold": "skip"}, "none of 2 mentions.*1 have no gold id, the dictionary lacks the gold of 1"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        gold_of_mentions([[], [{IDS[5]}]], [1, 1], KNOWN, **options)


def test_ranks_that_do_not_belong_together_are_refused():
    gold = gold_of_mentions([[{IDS[0]}]], [1], KNOWN)
    with pytest.raises(InputError, match="expected 1 rows, found 2"):
        first_hits(np.zeros((2, 1), dtype=int), table([[0]]), gold)
    with pytest.raises(InputError, match="ks: found 5, but only 4 candidates"):
        linking_metrics(np.ones(1), gold, depth=4, recall_ks=())


def test_gold_that_would_score_by_its_form_is_refused():
    """Catches the letters of an id taken for ids, and a mention without parts that is always right."""
    with pytest.raises(InputError, match=f"gold: expected a list of ids, found '{IDS[0]}'"):
        gold_of_mentions([[IDS[0]]], [1], KNOWN)
    with pytest.raises(InputError, match="gold: mention 2 has 0 parts, expected 1 or more"):
        gold_of_mentions([[{IDS[0]}], [{IDS[0]}]], [1, 0], KNOWN)
