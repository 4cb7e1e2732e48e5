"""Which triples of a terminology become a graph."""

from __future__ import annotations

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.kge import KnowledgeGraph
from st_biomed.kge.triples import TripleOptions, Triples, terminology_triples
from st_biomed.records import Relation, SourceInfo, Term
from st_biomed.terminology import Terminology
from tests.kge.graphs import terminology

PAIRS = [(f"a{i}", f"b{i}") for i in range(10)]
ANY = TripleOptions(least_triples=1)


def kept(found: Triples) -> set[tuple[str, str, str]]:
    """The triples by name, without the prefix of the codes."""
    names = [code.removeprefix("Z:") for code in found.entities]
    return {(names[h], found.relations[r], names[t]) for h, r, t in found.triples.tolist()}


def triples_of(*lists: tuple[str, list[tuple[str, str]]]) -> list[tuple[str, str, str]]:
    return [(head, name, tail) for name, pairs in lists for head, tail in pairs]


def turned(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(tail, head) for head, tail in pairs]


def test_parents_are_the_relation_isa_and_each_part_may_be_left_out():
    whole = terminology([("a", "treats", "b"), ("b", "isa", "c")], [("b", "c"), ("a", "c")])
    both = terminology_triples(whole, ANY)
    assert kept(both) == {("a", "treats", "b"), ("b", "isa", "c"), ("a", "isa", "c")}
    assert both.tally.dropped == {"repeated": 1} and both.tally.adds_up()
    assert kept(terminology_triples(whole, ANY._replace(relations=False))) == {("b", "isa", "c"), ("a", "isa", "c")}
    assert kept(terminology_triples(whole, ANY._replace(parents=False))) == {("a", "treats", "b"), ("b", "isa", "c")}


def test_concepts_without_a_triple_are_no_entities():
    """Would catch concept indices in place of entity indices."""
    whole = terminology([("b", "treats", "d")], [("a", "c")])
    found = terminology_triples(whole, ANY._replace(parents=False))
    assert found.entities == ("Z:b", "Z:d") and found.triples.tolist() == [[0, 0, 1]]
    assert found.triples.dtype == np.int64


def test_a_triple_of_several_sources_is_one_and_loops_go():
    records = [Term("Z:a", "a"), Term("Z:b", "b")]
    records += [Relation("Z:a", "near", "Z:b", source) for source in ("Z", "Y")]  # type: ignore[list-item]
    loop = Relation("Z:a", "part", "Z:a")
    whole = Terminology.from_records([*records, SourceInfo("Y", "Yops"), loop], SourceInfo("Z", "Zorbs"))
    found = terminology_triples(whole, ANY)
    assert kept(found) == {("a", "near", "b")}
    assert found.tally.n_read == found.tally.n_kept + found.tally.n_dropped
    assert found.tally.dropped["repeated"] == 1


def test_of_two_mirror_images_one_goes():
    """The relation with more triples stays, of equally many the one with the shorter name."""
    found = terminology_triples(terminology(triples_of(("part_of", PAIRS), ("has_part", turned(PAIRS)))), ANY)
    assert found.relations == ("part_of",) and len(found.triples) == 10
    assert found.dropped == {"has_part": "mirrors part_of"}
    assert found.tally.dropped == {"of relations that mirror another": 10}
    more = [*PAIRS, ("a0", "b1")]
    options = ANY._replace(mirror_share=0.9)
    found = terminology_triples(terminology(triples_of(("part_of", PAIRS), ("has_part", turned(more)))), options)
    assert found.relations == ("has_part",)


@pytest.mark.parametrize(("share", "n_relations"), [(0.9, 1), (0.91, 2)])
def test_the_share_is_that_of_the_larger_relation(share: float, n_relations: int):
    """Nine of ten pairs: would catch a share of the smaller one, by which a part of a relation is its mirror."""
    whole = terminology(triples_of(("part_of", PAIRS), ("has_part", turned(PAIRS[:9]))))
    assert len(terminology_triples(whole, ANY._replace(mirror_share=share)).relations) == n_relations


def test_a_relation_under_two_names_is_one():
    found = terminology_triples(terminology(triples_of(("is_a", PAIRS)), PAIRS), ANY)
    assert found.relations == ("isa",) and found.dropped == {"is_a": "says the same as isa"}


def test_a_chain_of_mirrors_keeps_one():
    lists = (("part_of", PAIRS), ("has_part", turned(PAIRS)), ("component", PAIRS))
    assert terminology_triples(terminology(triples_of(*lists)), ANY).relations == ("part_of",)


def test_declared_inverses_are_turned_round_and_nothing_is_lost():
    """Would catch a declared inverse that is dropped although it states what the other one does not."""
    whole = terminology(triples_of(("part_of", PAIRS[:6]), ("has_part", turned(PAIRS[4:]))))
    found = terminology_triples(whole, ANY._replace(inverses=[("part_of", "has_part")]))
    assert kept(found) == {(head, "part_of", tail) for head, tail in PAIRS}
    assert found.tally.dropped == {"stated by a declared inverse, too": 2} and found.tally.adds_up()
    assert found.dropped == {"has_part": "declared inverse of part_of, turned round"}


def test_a_relation_may_have_two_inverses():
    """Would catch a second inverse that is refused, or not turned round."""
    lists = (("part_of", PAIRS[:4]), ("has_part", turned(PAIRS[3:7])), ("includes", turned(PAIRS[7:])))
    inverses = [("part_of", "has_part"), ("part_of", "includes")]
    found = terminology_triples(terminology(triples_of(*lists)), ANY._replace(inverses=inverses))
    assert kept(found) == {(head, "part_of", tail) for head, tail in PAIRS}


def test_a_symmetric_relation_is_kept_once():
    both = [*PAIRS, *turned(PAIRS)]
    found = terminology_triples(terminology(triples_of(("near", both))), ANY)
    assert kept(found) == {(head, "near", tail) for head, tail in PAIRS}
    assert found.tally.dropped == {"second directions of symmetric relations": 10}
    half = [*PAIRS, *turned(PAIRS[:5])]
    assert len(terminology_triples(terminology(triples_of(("near", half))), ANY).triples) == 15


def test_rare_relations_go_last():
    """A symmetric relation counts by what is left of it."""
    lists = (
        ("near", [*PAIRS, *turned(PAIRS)]),
        ("treats", PAIRS[:1]),
        ("causes", [(f"a{i}", "c") for i in range(11)]),
    )
    whole = terminology(triples_of(*lists))
    found = terminology_triples(whole, TripleOptions(least_triples=11))
    assert found.relations == ("causes",)
    assert found.dropped == {
        "near": "rare (10 of at least 11 triples)",
        "treats": "rare (1 of at least 11 triples)",
    }
    assert found.tally.dropped["of rare relations"] == 11 and found.tally.adds_up()


def test_a_naive_reading_gives_the_same_graph():
    """Random relations against sets of pairs."""
    rng = np.random.default_rng(0)
    for trial in range(20):
        stated = {(f"e{h}", f"r{r}", f"e{t}") for h, r, t in rng.integers([5, 3, 5], size=(20, 3)).tolist()}
        found = terminology_triples(terminology(sorted(stated)), ANY._replace(mirror_share=1.0))
        pairs = {name: {(h, t) for h, r, t in stated if r == name and h != t} for name in ("r0", "r1", "r2")}
        names: list[str] = []
        for name in sorted((name for name in pairs if pairs[name]), key=lambda name: (-len(pairs[name]), name)):
            mine = pairs[name]
            if not any(pairs[other] in (mine, {(t, h) for h, t in mine}) for other in names):
                names.append(name)
        expected = {(h, name, t) for name in names for h, t in pairs[name]}
        symmetric = [name for name in names if pairs[name] == {(t, h) for h, t in pairs[name]}]
        expected = {(h, r, t) for h, r, t in expected if r not in symmetric or h < t}
        assert kept(found) == expected, trial
        assert found.tally.adds_up()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (TripleOptions(relations=False, parents=False), "relations and parents: one of them is needed"),
        (TripleOptions(least_triples=0), "least_triples must be at least 1, found 0"),
        (TripleOptions(mirror_share=0), "mirror_share must be above 0 and at most 1, found 0"),
        (TripleOptions(inverses=[("part_of", "has_prt")]), "unknown relation among the inverses 'has_prt'"),
        (TripleOptions(inverses=[("part_of",)]), r"inverses: expected pairs of relations, found \('part_of',\)"),
        (TripleOptions(inverses=["ab"]), "inverses: expected pairs of relations, found 'ab'"),
        (TripleOptions(inverses=[("part_of", "part_of")]), "'part_of' cannot be its own inverse"),
        (TripleOptions(inverses=[("a", "b"), ("b", "a")]), "is an inverse or has inverses, found 'a' as both"),
        (TripleOptions(inverses=[("a", "b"), ("b", "c")]), "is an inverse or has inverses, found 'b' as both"),
        (TripleOptions(inverses=[("a", "b"), ("a", "b")]), "is turned round once, found 'b' as an inverse twice"),
        (TripleOptions(inverses=[("a", "c"), ("b", "c")]), "is turned round once, found 'c' as an inverse twice"),
        (TripleOptions(least_triples=11), r"no triple is left \(triples: 10 read, 0 kept, 10 dropped; 10 of rare"),
        (TripleOptions(relations=False), r"no triple is left \(triples: 0 read"),
    ],
)
def test_bad_input_is_named(options: TripleOptions, message: str):
    with pytest.raises(InputError, match=message):
        KnowledgeGraph.from_terminology(terminology(triples_of(("part_of", PAIRS))), options)
