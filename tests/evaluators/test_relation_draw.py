"""Related and unrelated pairs of a terminology, against loops over all its records."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from st_biomed import Terminology
from st_biomed.errors import InputError
from st_biomed.evaluators.relation.pairs import RelationPairSampler
from st_biomed.records import Parent, Relation, SourceInfo, Tally, Term, Type
from tests.evaluators.relation_terminologies import draw_relation_pairs, edges, named, terminology


@pytest.fixture(scope="module")
def toy() -> Terminology:
    return Terminology.read("toy", trees=4)


def is_related(terminology: Terminology, first: str, second: str) -> bool:
    """By loops over all concepts that the two strings name."""
    joined = edges(terminology)
    concepts_of = {text: set() for text in (first, second)}
    for term in terminology.terms.to_pylist():
        text = terminology.strings[term["text"]]
        if text in concepts_of:
            concepts_of[text].add(term["concept"])
    return any(a == b or frozenset((a, b)) in joined for a in concepts_of[first] for b in concepts_of[second])


# ---------------------------------------------------------------------- positives


def test_positives_are_the_pairs_of_each_relation_by_their_preferred_names(toy):
    """Catches heads and tails of other rows, and a synonym drawn by chance."""
    drawn = draw_relation_pairs(toy, n_negatives=10, min_pairs=1)
    name = [toy.strings[text] for text in toy.preferred_texts]
    for relation in ("adjacent_to", "has_site", "progresses_to"):
        expected = {
            frozenset((name[row["head"]], name[row["tail"]]))
            for row in toy.relations.to_pylist()
            if row["relation"] == relation
        }
        assert {frozenset(pair) for pair in drawn.positives[relation]} == expected
        assert len(drawn.positives[relation]) == len(expected)
    assert drawn.unknown == [] and all(tally.adds_up() for tally in drawn.tallies.values())


def test_a_pair_in_both_directions_or_of_two_sources_is_one_pair():
    """Catches symmetric relations that count twice."""
    rows = [("G:a", "near", "G:b"), ("G:b", "near", "G:a"), ("G:a", "near", "G:b", "H"), ("G:a", "isa", "G:b")]
    glands = terminology(
        *named("G:a", "G:b", "G:c"), SourceInfo("H", "h"), Parent("G:b", "G:c"), *(Relation(*row) for row in rows)
    )
    drawn = draw_relation_pairs(glands, ["near"], n_negatives=1)
    assert drawn.positives == {"near": [("a", "b")]}
    assert drawn.tallies["positives"].to_dict() == {"read": 3, "kept": 1, "dropped": {"repeated or reversed": 2}}


def test_a_relation_whose_rows_are_gone_is_no_relation_that_lacks_pairs():
    """Catches relations of a larger terminology that its subset is said to lack, so that equal data have two results."""
    rows = [Relation("G:a", "near", "G:b"), Relation("G:c", "treats", "G:d"), Relation("G:c", "above", "G:d")]
    part = terminology(*named("G:a", "G:b", "G:c", "G:d"), *rows).subset(codes=["G:a", "G:b"])
    assert RelationPairSampler(part).relations == ["near"]


def test_parents_are_isa_and_its_inverse_where_these_are_asked_for():
    """Catches the relation that readers turn into parents reported as missing, or its rows lost beside them."""
    glands = terminology(
        *named("G:a", "G:b", "G:c", "G:d"), Parent("G:a", "G:b"), Relation("G:c", "isa", "G:a"), Type("G:a", "t")
    )
    drawn = draw_relation_pairs(glands, ["isa", "inverse_isa", "has_isa"], n_negatives=9)
    assert drawn.positives == {"isa": [("c", "a"), ("a", "b")], "inverse_isa": [("b", "a")], "has_isa": []}
    assert sorted(map(sorted, drawn.negatives)) == [["a", "d"], ["b", "c"], ["b", "d"], ["c", "d"]]
    assert list(draw_relation_pairs(glands, n_negatives=1, min_pairs=1).positives) == ["isa"]


def test_more_pairs_than_wanted_are_sampled_and_counted(toy):
    """Catches the first pairs instead of a sample, and a sample that changes with the list."""
    some = draw_relation_pairs(toy, ["has_site"], max_pairs=20, n_negatives=1)
    again = draw_relation_pairs(toy, ["progresses_to", "has_site"], max_pairs=20, n_negatives=1)
    other = draw_relation_pairs(toy, ["has_site"], max_pairs=20, n_negatives=1, seed=1)
    every = draw_relation_pairs(toy, ["has_site"], n_negatives=1).positives["has_site"]
    assert some.positives["has_site"] == again.positives["has_site"] != other.positives["has_site"]
    assert len(some.positives["has_site"]) == 20 and set(some.positives["has_site"]) < set(every)
    assert some.positives["has_site"] != every[:20]
    assert some.tallies["positives"].dropped == {"beyond 20 of a relation": len(every) - 20}


def test_a_relation_and_its_inverse_have_the_same_sample(toy):
    """Catches two samples of the same pairs, whose relations would not be seen to be one group."""
    rows = toy.relations.to_pylist()
    both = terminology(
        *(Term(code, toy.strings[text]) for code, text in zip(toy.codes, toy.preferred_texts)),
        *(Relation(toy.codes[row["head"]], "has", toy.codes[row["tail"]]) for row in rows),
        *(Relation(toy.codes[row["tail"]], "of", toy.codes[row["head"]]) for row in rows),
    )
    for seed in (0, 1):
        drawn = draw_relation_pairs(both, max_pairs=15, min_pairs=1, n_negatives=1, seed=seed).positives
        has, of = ({frozenset(pair) for pair in drawn[relation]} for relation in ("has", "of"))
        assert has == of and len(has) == 15


def test_every_pair_is_sampled_equally_often():
    """400 samples of 10 of 40 pairs: catches random numbers of pairs that depend on the pair alone, or not evenly."""
    codes = [f"G:{i:02}" for i in range(41)]
    glands = terminology(*named(*codes), *(Relation(codes[0], "near", code) for code in codes[1:]))
    times = Counter(
        pair
        for seed in range(400)
        for pair in draw_relation_pairs(glands, ["near"], max_pairs=10, n_negatives=1, seed=seed).positives["near"]
    )
    assert len(times) == 40 and sum(times.values()) == 4000
    assert sum((n - 100) ** 2 / 75 for n in times.values()) < 70  # 39 degrees of freedom: 62 at p = .01


def test_two_concepts_of_one_name_are_no_pair_and_counted():
    """Catches a cosine of 1 that any model gets."""
    glands = terminology(
        *named("G:a", "G:b", "G:c"), Term("G:d", "a"), Relation("G:a", "near", "G:d"), Relation("G:a", "near", "G:b")
    )
    drawn = draw_relation_pairs(glands, ["near"], n_negatives=1)
    assert drawn.positives == {"near": [("a", "b")]}
    assert drawn.tallies["names"].dropped == {"one name for both": 1}
    assert draw_relation_pairs(glands, ["near"], n_negatives=1, keys="codes").positives == {
        "near": [("G:a", "G:b"), ("G:a", "G:d")]
    }


def test_several_names_of_a_pair_are_drawn_without_repeats(toy):
    """Catches the head's names paired with another concept's, repeats, and more pairs than asked for."""
    drawn = draw_relation_pairs(toy, ["has_site"], names_per_pair=3, n_negatives=40)
    pairs = drawn.positives["has_site"]
    assert len(set(pairs)) == len(pairs) > len(draw_relation_pairs(toy, ["has_site"]).positives["has_site"])
    names = [{toy.strings[text] for text in toy.concept_texts.row(c)} for c in range(toy.n_concepts)]
    rows = [row for row in toy.relations.to_pylist() if row["relation"] == "has_site"]
    for head, tail in pairs:
        assert any(head in names[row["head"]] and tail in names[row["tail"]] for row in rows)
    most = draw_relation_pairs(toy, ["has_site"], names_per_pair=10**6, n_negatives=1).positives["has_site"]
    assert set(most) == {(a, b) for row in rows for a in names[row["head"]] for b in names[row["tail"]]}
    assert not any(is_related(toy, *pair) for pair in drawn.negatives)


# ---------------------------------------------------------------------- negatives


def test_no_negative_is_related_and_every_unrelated_pair_can_be_one(toy):
    """Catches edges in one direction only, parents that are forgotten, and unrelated pairs that are never drawn."""
    small = toy.subset(np.arange(30))
    drawn = draw_relation_pairs(small, n_negatives=10_000, min_pairs=1)
    strings = [small.strings[text] for text in small.preferred_texts]
    expected = {
        frozenset((strings[a], strings[b]))
        for a in range(30)
        for b in range(a)
        if not is_related(small, strings[a], strings[b])
    }
    assert {frozenset(pair) for pair in drawn.negatives} == expected
    assert len(drawn.negatives) == len(expected)
    assert drawn.tallies["negatives"].to_dict() == {
        "read": 435,
        "kept": len(expected),
        "dropped": {"related": 435 - len(expected)},
    }


def test_a_name_of_two_concepts_is_unrelated_to_what_neither_is_related_to():
    """Catches relatedness of the concept that was drawn alone: 'a' also names G:d, which is near b."""
    glands = terminology(
        *named("G:a", "G:b", "G:c", "G:d"), Term("G:d", "a", "synonym"), Relation("G:d", "near", "G:b")
    )
    drawn = draw_relation_pairs(glands, ["near"], n_negatives=100)
    assert {frozenset(pair) for pair in drawn.negatives} == {
        frozenset(pair) for pair in (("a", "c"), ("b", "c"), ("c", "d"))
    }
    by_code = draw_relation_pairs(glands, ["near"], n_negatives=100, keys="codes")
    assert frozenset(("G:a", "G:b")) in {frozenset(pair) for pair in by_code.negatives}


def test_only_pairs_up_to_the_last_negative_are_counted(toy):
    """Catches a count of excluded pairs that grows with candidates nobody looked at."""
    some, more = (draw_relation_pairs(toy, n_negatives=n, min_pairs=1) for n in (250, 500))
    assert some.negatives == more.negatives[:250] and len(some.negatives) == 250
    counts = [drawn.tallies["negatives"] for drawn in (some, more)]
    assert [tally.n_kept for tally in counts] == [250, 500]
    assert 0 < counts[0].n_dropped < counts[1].n_dropped < 100


def test_many_concepts_are_drawn_from_evenly_and_without_repeats():
    """Catches a draw that prefers some concepts, and pairs of a concept with itself: 2,000 concepts have 2 M pairs."""
    codes = [f"G:{i:04}" for i in range(2000)]
    draw = RelationPairSampler(terminology(*named(*codes), Relation(codes[0], "near", codes[1])))
    heads, tails = draw.random(5000)
    assert len({frozenset(pair) for pair in zip(heads.tolist(), tails.tolist())}) == len(heads) > 95_000
    assert (heads != tails).all()
    times = Counter([*heads[:5000].tolist(), *tails[:5000].tolist()])
    assert max(times.values()) < 20 and len(times) > 1900


def test_chosen_concepts_hold_both_ends_and_what_is_related_is_a_matter_of_all(toy):
    """Catches an end outside those held out, and relations that are forgotten with the concepts left out."""
    chosen = np.random.default_rng(0).permutation(toy.n_concepts)[:40]
    drawn = draw_relation_pairs(
        toy, ["has_site", "isa"], concepts=chosen, keys="codes", negatives="type_matched", n_negatives=50
    )
    inside = {toy.codes[i] for i in chosen}
    for pairs in (*drawn.positives.values(), *drawn.negatives.values()):
        assert pairs and {code for pair in pairs for code in pair} <= inside
    glands = terminology(*named("G:a", "G:b", "G:c", "G:d"), Term("G:d", "a", "synonym"), Relation("G:d", "x", "G:b"))
    mask = np.array([True, True, True, False])
    drawn = draw_relation_pairs(glands, ["x"], concepts=mask, n_negatives=9)
    assert drawn.positives == {"x": []} and drawn.tallies["positives"].dropped == {"of other concepts": 1}
    assert {frozenset(pair) for pair in drawn.negatives} == {frozenset("ac"), frozenset("bc")}


def test_the_random_negatives_are_the_same_whatever_is_measured(toy):
    """Catches a set R that changes with the list of relations, or that ignores the seed."""
    draws = [
        draw_relation_pairs(toy, relations, n_negatives=40, seed=seed).negatives
        for relations, seed in ((["has_site"], 0), (["progresses_to", "has_site"], 0), (["has_site"], 1))
    ]
    assert draws[0] == draws[1] != draws[2]


def test_relations_of_too_few_pairs_cost_no_draw(toy):
    drawn = draw_relation_pairs(toy, negatives="type_matched", n_negatives=5, min_pairs=10)
    assert len(drawn.positives["adjacent_to"]) == 3 and set(drawn.negatives) == {"has_site", "progresses_to"}


# ---------------------------------------------------------------------- the same everywhere, and mistakes


@pytest.mark.long
def test_two_processes_draw_the_same_pairs(toy):
    """Catches an order that comes from a set or a hash."""
    program = (
        "from st_biomed import Terminology\n"
        "from st_biomed.evaluators import RelationDrawSettings, draw_relation_pairs\n"
        "settings = RelationDrawSettings(negatives='type_matched', n_negatives=20, min_pairs=1, names_per_pair=2)\n"
        "drawn = draw_relation_pairs(Terminology.read('toy', trees=4), None, settings)\n"
        "print((drawn.positives, drawn.negatives))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "123"}
    printed = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    drawn = draw_relation_pairs(toy, negatives="type_matched", n_negatives=20, min_pairs=1, names_per_pair=2)
    assert printed.stdout.strip() == str((drawn.positives, drawn.negatives))


def test_draws_for_different_purposes_differ(toy):
    """Catches one stream of random numbers that serves two draws: seeds [s, k] and [s, k, 0] are the same."""
    draw = RelationPairSampler(toy)
    streams = [draw._rng(purpose, label).random() for purpose in ("names", "sample") for label in ("", "a", "b")]
    assert len(set(streams)) == 6


def test_candidates_that_are_all_related_leave_nothing():
    glands = terminology(*named("G:a", "G:b"), Relation("G:a", "near", "G:b"))
    tally = Tally()
    draw = RelationPairSampler(glands)
    assert len(draw.unrelated(draw.random(5), 5, "x", tally).row) == 0
    assert tally.to_dict() == {"read": 1, "kept": 0, "dropped": {"related": 1}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relations": []}, "relations: expected a list with at least one name, found \\[\\]"),
        ({"relations": "isa"}, "relations: expected a list with at least one name, found 'isa'"),
        ({"relations": ["isa", "isa"]}, "relations: 'isa' occurs twice"),
        ({"negatives": "typed"}, "unknown value of negatives 'typed': allowed are 'random', 'type_matched'"),
        ({"keys": "code"}, "unknown value of keys 'code': allowed are 'codes', 'names'; did you mean 'codes'"),
        ({"n_negatives": 0}, "n_negatives must be at least 1, found 0"),
        ({"max_pairs": 0}, "max_pairs must be at least 1, found 0"),
        ({"min_pairs": 0}, "min_pairs must be at least 1, found 0"),
        ({"names_per_pair": 0}, "names_per_pair must be at least 1"),
        ({"names_per_pair": 2, "keys": "codes"}, "names_per_pair must be at least 1, with keys='names', found 2"),
        ({"seed": -1}, "seed must not be negative, found -1"),
        ({"concepts": [3]}, "concepts: at least two are needed, found 1"),
        ({"concepts": [0, 10**6]}, "concepts go from 0 to"),
    ],
)
def test_bad_arguments_are_refused(toy, options, message):
    with pytest.raises(InputError, match=message):
        draw_relation_pairs(toy, **options)
