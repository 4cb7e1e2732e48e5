"""Unrelated pairs with the semantic types of the related ones, and nulls drawn apart from them."""

from __future__ import annotations

import numpy as np
import pytest

from st_biomed import Terminology
from st_biomed.errors import InputError
from st_biomed.records import Relation, Type
from tests.evaluators.relation_terminologies import draw_relation_pairs, edges, named, terminology


@pytest.fixture(scope="module")
def toy() -> Terminology:
    return Terminology.read("toy", trees=4)


def test_type_matched_negatives_have_the_types_of_the_pairs_and_nothing_relates_them(toy):
    """Catches ends whose types are swapped or mixed, and related pairs among them."""
    drawn = draw_relation_pairs(
        toy, ["has_site", "adjacent_to"], negatives="type_matched", n_negatives=200, keys="codes"
    )
    kind = {toy.codes[row["concept"]]: row["type"] for row in toy.types.to_pylist()}
    concept = {code: i for i, code in enumerate(toy.codes)}
    joined = edges(toy)
    assert {(kind[a], kind[b]) for a, b in drawn.negatives["has_site"]} == {("disorder", "organ")}
    assert {(kind[a], kind[b]) for a, b in drawn.negatives["adjacent_to"]} == {("organ", "organ")}
    for pairs in drawn.negatives.values():
        assert not any(a == b or frozenset((concept[a], concept[b])) in joined for a, b in pairs)
    assert len(drawn.negatives["has_site"]) == 200
    assert {a for a, _ in drawn.negatives["has_site"]} > {a for a, _ in drawn.negatives["has_site"][:50]}


def test_concepts_without_a_type_are_matched_with_each_other():
    """Catches untyped ends that match anything, or that make a draw fail."""
    codes = [f"G:{i}" for i in range(8)]
    glands = terminology(*named(*codes), Relation("G:0", "near", "G:4"), *(Type(code, "organ") for code in codes[:4]))
    drawn = draw_relation_pairs(glands, ["near"], negatives="type_matched", n_negatives=60)
    assert {a for a, _ in drawn.negatives["near"]} == set("0123")
    assert {b for _, b in drawn.negatives["near"]} == set("4567")


def test_a_type_is_drawn_as_often_as_the_pairs_have_it():
    """Catches types weighed by their concepts: three pairs in four are of organs, which are few."""
    organs, cells = [f"G:o{i}" for i in range(10)], [f"G:c{i}" for i in range(40)]
    pairs = [(organs[0], organs[1]), (organs[2], organs[3]), (organs[4], organs[5]), (cells[0], cells[1])]
    glands = terminology(
        *named(*organs, *cells),
        *(Relation(a, "near", b) for a, b in pairs),
        *(Type(code, "organ") for code in organs),
        *(Type(code, "cell") for code in cells),
    )
    negatives = draw_relation_pairs(glands, ["near"], negatives="type_matched", n_negatives=2000).negatives["near"]
    assert {(a[0], b[0]) for a, b in negatives} == {("o", "o"), ("c", "c")}
    assert np.mean([a[0] == "o" for a, _ in negatives]) == pytest.approx(0.72, abs=0.04)  # fewer, as some are related


def test_a_concept_of_two_types_stands_for_either():
    """Catches heads of its first type alone."""
    codes = [*(f"G:o{i}" for i in range(9)), *(f"G:c{i}" for i in range(9))]
    kinds = {code: {"o": ["organ"], "c": ["cell"]}[code[2]] for code in codes} | {"G:o0": ["cell", "organ"]}
    glands = terminology(
        *named(*codes),
        Relation("G:o0", "near", "G:o1"),
        *(Type(code, kind) for code in codes for kind in kinds[code]),
    )
    negatives = draw_relation_pairs(glands, ["near"], negatives="type_matched", n_negatives=60).negatives["near"]
    heads = [head[0] for head, _ in negatives]
    assert 15 < heads.count("c") < 45 and {tail[0] for _, tail in negatives} == {"o"}


def test_nulls_are_matched_and_drawn_apart_from_the_negatives(toy):
    """Catches a null that is the set of negatives again."""
    n = 10_000
    drawn = draw_relation_pairs(toy, ["has_site"], negatives="type_matched", n_negatives=n, power=True, keys="codes")
    (null,) = drawn.nulls.values()
    kind = {toy.codes[row["concept"]]: row["type"] for row in toy.types.to_pylist()}
    assert len(null) == drawn.tallies["nulls"].n_kept == n
    assert {(kind[a], kind[b]) for a, b in null} == {("disorder", "organ")}
    assert null != drawn.negatives["has_site"]
    assert draw_relation_pairs(toy, ["has_site"], n_negatives=1).nulls is None


def test_matching_types_needs_types_and_relations_something_to_draw():
    glands = terminology(*named("G:a", "G:b", "G:c"), Relation("G:a", "near", "G:b"))
    for options in ({"negatives": "type_matched"}, {"power": True}):
        with pytest.raises(InputError, match="types: none in Terminology.*which type-matched pairs need"):
            draw_relation_pairs(glands, ["near"], **options)
    with pytest.raises(InputError, match="relations: expected a list with at least one name, found \\[\\]"):
        draw_relation_pairs(terminology(*named("G:a", "G:b")))
