"""Relation pairs: which are drawn, and what their labels say to a loss."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.lookup import ConceptLookup
from st_biomed.losses import MultiSimilarityLoss
from st_biomed.readers.records import Relation, SourceInfo, Tally, Term
from st_biomed.samples import RELATIONS, RelationLookup, relation_pairs
from st_biomed.terminology import Terminology

N = 6
CODES = [f"X:{i}" for i in range(N)]


def make(*triples: tuple[int, str, int], names: int = 3, extra=()) -> Terminology:
    """Six concepts of ``names`` names each, and relations between their numbers."""
    records = [Term(code, f"{code} name {k}") for code in CODES for k in range(names)]
    records += [Relation(CODES[head], relation, CODES[tail]) for head, relation, tail in triples]
    return Terminology.from_records([*records, *extra], SourceInfo("X", "X"))


def concept_pairs(dataset) -> Counter[tuple[str, str]]:
    """How often each pair of concepts was drawn, read from the strings."""
    return Counter((row["name_a"].split()[0], row["name_b"].split()[0]) for row in dataset)


def test_columns_and_labels_are_those_of_the_contract():
    """Would catch labels that do not stand for the concepts of the row."""
    terminology = make((0, "treats", 1), (4, "causes", 2))
    dataset = relation_pairs(terminology)
    RELATIONS.check(dataset)
    assert dataset.info.description == f"terminology:{terminology.digest}"
    for row in dataset:
        ends = sorted(CODES.index(row[name].split()[0]) for name in ("name_a", "name_b"))
        assert row["label"] == ends[0] * N + ends[1]


def test_name_pairs_are_distinct_and_at_most_so_many():
    dataset = relation_pairs(make((0, "treats", 1), (2, "treats", 3), names=3), names_per_pair=5)
    assert concept_pairs(dataset) == {("X:0", "X:1"): 5, ("X:2", "X:3"): 5}
    assert len({(row["name_a"], row["name_b"]) for row in dataset}) == 10
    every = relation_pairs(make((0, "treats", 1), names=2), names_per_pair=9)
    assert concept_pairs(every) == {("X:0", "X:1"): 4}


def test_a_relation_gives_no_more_concept_pairs_than_asked_for():
    terminology = make(*((a, "treats", b) for a in range(N) for b in range(N) if a != b))
    tally = Tally()
    dataset = relation_pairs(terminology, max_concept_pairs=7, tally=tally)
    assert len(concept_pairs(dataset)) == 7
    assert (tally.n_read, tally.n_kept, dict(tally.dropped)) == (30, 7, {"beyond 7 of a relation": 23})
    drawn = [concept_pairs(relation_pairs(terminology, max_concept_pairs=7, seed=seed)) for seed in range(9)]
    assert len(set().union(*drawn)) > 20


def test_relations_are_drawn_apart_from_each_other():
    """Would catch one stream of random numbers for all: adding a relation would change every other."""
    terminology = make(*((a, name, b) for a in range(N) for b in range(N) if a != b for name in ("causes", "treats")))
    alone = relation_pairs(terminology, ["treats"], max_concept_pairs=9)
    both = relation_pairs(terminology, max_concept_pairs=9)
    assert both[len(both) - len(alone) :] == alone[:]


def test_inverse_relations_can_be_drawn_once():
    terminology = make((0, "isa", 1), (1, "inverse_isa", 0), (2, "isa", 3))
    assert concept_pairs(relation_pairs(terminology)).keys() == {("X:0", "X:1"), ("X:1", "X:0"), ("X:2", "X:3")}
    tally = Tally()
    once = relation_pairs(terminology, inverses=False, tally=tally)
    assert concept_pairs(once).keys() == {("X:1", "X:0"), ("X:2", "X:3")}
    assert tally.dropped == {"under another relation too": 1}
    assert tally.adds_up()


def test_what_teaches_nothing_is_left_out_and_counted():
    """Would catch a pair of identical strings, a relation of a concept to itself, and a row counted twice."""
    terminology = make(
        (0, "treats", 1),
        (2, "treats", 2),
        names=1,
        extra=[
            Term("X:1", "X:0 name 0"),
            Relation("X:0", "treats", "X:1", "Y"),
            SourceInfo("Y", "Y"),
        ],
    )
    tally = Tally()
    dataset = relation_pairs(terminology, tally=tally)
    assert dataset[:] == {"name_a": ["X:0 name 0"], "name_b": ["X:1 name 0"], "label": [1]}
    assert tally.dropped == {"repeated": 1, "of a concept to itself": 1}
    assert tally.adds_up()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"relations": ["treat"]}, r"unknown relation 'treat'.*did you mean 'treats'"),
        ({"max_concept_pairs": 0}, "max_concept_pairs must be at least 1, found 0"),
        ({"names_per_pair": -1}, "names_per_pair must be at least 1, found -1"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        relation_pairs(make((0, "treats", 1)), **arguments)


def test_a_terminology_without_relations_is_refused():
    with pytest.raises(InputError, match="no relations in Terminology"):
        relation_pairs(make())


# ---------------------------------------------------------------- the lookup

LABELS = torch.tensor([0 * N + 1, 0 * N + 1, 1 * N + 2, 3 * N + 4, 0 * N + 5, 3 * N + 4])
SHARES = [  # by hand: pairs 01, 01, 12, 34, 05, 34
    [1, 1, 1, 0, 1, 0],
    [1, 1, 1, 0, 1, 0],
    [1, 1, 1, 0, 0, 0],
    [0, 0, 0, 1, 0, 1],
    [1, 1, 0, 0, 1, 0],
    [0, 0, 0, 1, 0, 1],
]


def test_pairs_that_share_a_concept_are_neither_positive_nor_negative():
    """Would catch the false negatives of the published code, and positives between different concept pairs."""
    lookup = RelationLookup(make((0, "treats", 1)))
    same_pair = LABELS[:, None] == LABELS[None, :]
    shares = torch.tensor(SHARES, dtype=torch.bool)
    assert torch.equal(lookup.same_concept(LABELS, LABELS), shares)
    assert torch.equal(lookup.same_text(LABELS, LABELS), shares & ~same_pair)
    assert torch.equal(lookup.same_concept(LABELS[:2], LABELS), shares[:2])


def test_published_code_makes_them_negatives():
    lookup = RelationLookup(make((0, "treats", 1)), shared_concept_negatives=True)
    assert torch.equal(lookup.same_concept(LABELS, LABELS), LABELS[:, None] == LABELS[None, :])
    assert not lookup.same_text(LABELS, LABELS).any()


def test_the_loss_leaves_shared_concepts_out():
    """Would catch a lookup that the loss reads differently: its value is that of the rows spelled out."""
    terminology = make((0, "treats", 1))
    rng = np.random.default_rng(0)
    rows = torch.from_numpy(rng.normal(size=(12, 5)))
    loss = MultiSimilarityLoss(None, 2.0, 50.0, 0.5, miner=None, lookup=RelationLookup(terminology))
    value = loss.compute_loss_from_embeddings([rows[:6], rows[6:]], LABELS)
    labels = LABELS.repeat(2)
    unit = torch.nn.functional.normalize(rows, dim=1)
    cosine = unit @ unit.T
    expected = 0.0
    for i in range(12):
        positives = [j for j in range(12) if j != i and labels[j] == labels[i]]
        negatives = [j for j in range(12) if not SHARES[i % 6][j % 6]]
        expected += torch.log1p(sum(torch.exp(-2 * (cosine[i, j] - 0.5)) for j in positives)) / 2
        expected += torch.log1p(sum(torch.exp(50 * (cosine[i, j] - 0.5)) for j in negatives)) / 50
    assert value.item() == pytest.approx(expected.item() / 12, abs=1e-9)
    published = MultiSimilarityLoss(
        None, 2.0, 50.0, 0.5, miner=None, lookup=RelationLookup(terminology, shared_concept_negatives=True)
    )
    classes = MultiSimilarityLoss(None, 2.0, 50.0, 0.5, miner=None)
    both = [one.compute_loss_from_embeddings([rows[:6], rows[6:]], LABELS).item() for one in (published, classes)]
    assert both[0] == pytest.approx(both[1], abs=1e-12) != value.item()


def test_labels_of_another_terminology_are_refused():
    lookup = RelationLookup(make((0, "treats", 1)))
    lookup.check(LABELS)
    with pytest.raises(InputError, match=f"concept pairs from 0 to {N * N - 1}"):
        lookup.check(torch.tensor([N * N]))


def test_it_is_a_concept_lookup():
    """Would catch a loss that refuses it."""
    assert isinstance(RelationLookup(make((0, "treats", 1))), ConceptLookup)
