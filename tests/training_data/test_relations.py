"""Relation pairs: which are drawn, and what their labels say to a loss."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.evaluators.relation.lists import HIPRBERT_28
from st_biomed.losses import MultiSimilarityLoss
from st_biomed.records import Grouping, Parent, Relation, SourceInfo, Tally, Term
from st_biomed.terminology import Terminology
from st_biomed.terminology.hierarchical_relations import PARENT_RELATIONS
from st_biomed.terminology.lookup import ConceptLookup
from st_biomed.training_data import RELATIONS, RelationLookup, relation_pairs
from st_biomed.training_data.columns import labels_of
from st_biomed.training_data.relation_lookup import relation_label

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
    lookup, labels = RelationLookup(terminology), torch.tensor(dataset["label"][:])
    for side, name in enumerate(("name_a", "name_b")):
        assert [terminology.strings[text] for text in lookup.texts(labels[:, side])] == dataset[name][:]
        for pair, row in zip(torch.stack(lookup.pairs(labels[:, side]), 1).tolist(), dataset):
            ends = [row[name].split()[0], row["name_b" if side == 0 else "name_a"].split()[0]]
            assert [terminology.codes[concept] for concept in pair] == ends


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


def test_the_pairs_of_every_relation_are_those_of_its_rows():
    """Would catch rows that are cut off, or taken from the relation before or after; relations differ in size."""
    rng = np.random.default_rng(0)
    triples = {(a, f"r{relation}", b) for a, relation, b in rng.integers([N, 5, N], size=(60, 3)).tolist() if a != b}
    triples = {triple for triple in triples if triple[1] != "r3"} | {(0, "r3", 1)}
    terminology = make(*sorted(triples, key=lambda triple: rng.random()), names=1)
    for relation in sorted({relation for _, relation, _ in triples}):
        expected = {(CODES[a], CODES[b]) for a, name, b in triples if name == relation}
        assert concept_pairs(relation_pairs(terminology, [relation])) == Counter(expected)
    every = Counter((CODES[a], CODES[b]) for a, _, b in triples)
    assert concept_pairs(relation_pairs(terminology)) == every


def test_inverse_relations_can_be_drawn_once():
    terminology = make((0, "isa", 1), (1, "inverse_isa", 0), (2, "isa", 3))
    assert concept_pairs(relation_pairs(terminology)).keys() == {("X:0", "X:1"), ("X:1", "X:0"), ("X:2", "X:3")}
    tally = Tally()
    once = relation_pairs(terminology, inverses=False, tally=tally)
    assert concept_pairs(once).keys() == {("X:1", "X:0"), ("X:2", "X:3")}
    assert tally.dropped == {"under another relation too": 1}
    assert tally.adds_up()


def test_what_teaches_nothing_is_left_out_and_counted():
    """Would catch a pair of identical strings, and a row counted twice."""
    terminology = make(
        (0, "treats", 1),
        names=1,
        extra=[
            Term("X:1", "X:0 name 0"),
            Relation("X:0", "treats", "X:1", "Y"),
            SourceInfo("Y", "Y"),
        ],
    )
    tally = Tally()
    dataset = relation_pairs(terminology, tally=tally)
    assert (dataset["name_a"][:], dataset["name_b"][:]) == (["X:0 name 0"], ["X:1 name 0"])
    assert tally.dropped == {"repeated": 1}
    assert tally.adds_up()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"relations": ["treat"]}, r"unknown relation 'treat'.*did you mean 'treats'"),
        ({"relations": []}, "relations must be the names of at least one relation, or None for all, found none"),
        ({"max_concept_pairs": 0}, "max_concept_pairs must be an integer of at least 1, found 0"),
        ({"max_concept_pairs": 2.5}, "max_concept_pairs must be an integer of at least 1, found 2.5"),
        ({"names_per_pair": -1}, "names_per_pair must be an integer of at least 1, found -1"),
        ({"seed": -1}, "seed must be an integer of at least 0, found -1"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        relation_pairs(make((0, "treats", 1)), **arguments)


def test_a_terminology_without_relations_is_refused():
    with pytest.raises(InputError, match="no relations in Terminology"):
        relation_pairs(make())


def test_parents_are_pairs_of_isa_in_both_directions():
    """Would catch the two of HiPrBERT's 28 relations that UMLS states as parents, a nameless end, and a pair drawn twice."""
    extra = [Parent("X:0", "X:1"), Parent("X:2", "X:1"), Parent("X:3", "X:G"), Grouping("X:G")]
    terminology = make((0, "isa", 1), (4, "treats", 5), names=1, extra=extra)
    assert concept_pairs(relation_pairs(terminology)).keys() == {("X:0", "X:1"), ("X:4", "X:5")}
    tally = Tally()
    dataset = relation_pairs(terminology, parents=True, tally=tally)
    up, down = {("X:0", "X:1"), ("X:2", "X:1")}, {("X:1", "X:0"), ("X:1", "X:2")}
    assert concept_pairs(dataset) == Counter({*up, *down, ("X:4", "X:5")})
    assert tally.dropped == {"of a concept without a name": 2, "repeated": 1}
    assert tally.adds_up()
    assert concept_pairs(relation_pairs(terminology, ["isa"], parents=True)).keys() == up
    assert concept_pairs(relation_pairs(terminology, ["inverse_isa"], parents=True)).keys() == down
    assert concept_pairs(relation_pairs(make(extra=extra), parents=True)).keys() == up | down
    with pytest.raises(InputError, match=r"unknown relation 'inverse_isa'.*'isa', 'treats'"):
        relation_pairs(terminology, ["inverse_isa"])


def test_the_relations_of_hiprbert_have_both_directions_of_parents():
    assert len(set(HIPRBERT_28)) == 28
    assert set(PARENT_RELATIONS) < set(HIPRBERT_28)


# ---------------------------------------------------------------- the lookup

TRIPLES = [(0, "treats", 1), (1, "treats", 2), (3, "treats", 4), (0, "treats", 5)]
RELATED = make(*TRIPLES)
PAIRS = [(0, 1), (1, 0), (1, 2), (3, 4), (0, 5), (4, 3)]
SHARES = [  # by hand: pairs 01, 10, 12, 34, 05, 43
    [1, 1, 1, 0, 1, 0],
    [1, 1, 1, 0, 1, 0],
    [1, 1, 1, 0, 0, 0],
    [0, 0, 0, 1, 0, 1],
    [1, 1, 0, 0, 1, 0],
    [0, 0, 0, 1, 0, 1],
]


def label(terminology: Terminology, name: str, meant: str, other: str) -> int:
    """The label of a name that stands for one concept, in a relation with another."""
    table, concept = terminology.concept_texts, terminology.concept(meant)
    entry = table.indptr[concept] + table.row(concept).tolist().index(terminology.strings.index(name))
    return int(relation_label(entry, terminology.concept(other), terminology.n_concepts))


LABELS = torch.tensor(  # every string but once
    [
        [label(RELATED, f"X:{a} name {k % 3}", f"X:{a}", f"X:{b}") for a, b in ((a, b), (b, a))]
        for k, (a, b) in enumerate(PAIRS)
    ]
)
SAME_PAIR = torch.tensor([[set(a) == set(b) for b in PAIRS] for a in PAIRS])


def test_pairs_that_share_a_concept_are_neither_positive_nor_negative():
    """Would catch the false negatives of the published code, and positives between different concept pairs."""
    lookup, labels = RelationLookup(RELATED), LABELS[:, 0]
    shares = torch.tensor(SHARES, dtype=torch.bool)
    assert torch.equal(lookup.same_concept(labels, labels), shares)
    itself = torch.eye(len(labels), dtype=torch.bool)
    assert torch.equal(lookup.same_text(labels, labels), shares & ~SAME_PAIR | itself)
    assert torch.equal(lookup.same_concept(labels[:2], labels), shares[:2])


def test_published_code_makes_them_negatives():
    lookup, labels = RelationLookup(RELATED, shared_concept_negatives=True), LABELS[:, 0]
    assert torch.equal(lookup.same_concept(labels, labels), SAME_PAIR)
    assert torch.equal(lookup.same_text(labels, labels), torch.eye(len(labels), dtype=torch.bool))


@pytest.mark.parametrize("published", [False, True])
def test_a_string_is_never_a_negative_of_itself(published):
    """Would catch labels that forget the text: "cold" of two concepts, each in a relation of its own."""
    terminology = make((0, "treats", 1), (2, "treats", 3), extra=[Term("X:0", "cold"), Term("X:2", "cold")])
    lookup = RelationLookup(terminology, shared_concept_negatives=published)
    cold = [("cold", "X:0", "X:1"), ("cold", "X:2", "X:3")]
    others = [("X:0 name 0", "X:0", "X:1"), ("X:2 name 0", "X:2", "X:3"), ("X:3 name 0", "X:3", "X:2")]
    labels = torch.tensor([label(terminology, *name) for name in cold + others])
    never_negative, never_positive = (f(labels[:2], labels) for f in (lookup.same_concept, lookup.same_text))
    expected = [[1, 1, 1, 0, 0], [1, 1, 0, 1, 1]] if published else [[1, 1, 1, 1, 1]] * 2
    assert never_negative.tolist() == torch.tensor(expected).bool().tolist()
    positive = never_negative & ~never_positive
    assert positive.tolist() == [[False, False, True, False, False], [False, False, False, True, True]]


def test_the_drawn_rows_say_the_same():
    """Would catch labels of the dataset in another order or shape than the lookup and the losses read."""
    terminology = make((0, "treats", 1), (2, "treats", 3), extra=[Term("X:0", "cold"), Term("X:2", "cold")])
    dataset = relation_pairs(terminology, names_per_pair=20).shuffle(seed=1)
    assert labels_of(dataset).shape == (len(dataset), 2)
    labels, lookup = torch.from_numpy(labels_of(dataset).copy()), RelationLookup(terminology)
    lookup.check(labels)
    cold = [row for row, name in enumerate(dataset["name_a"][:]) if name == "cold"]
    assert len(cold) == 6
    assert lookup.same_concept(labels[cold, 0], labels[cold, 0]).all()
    assert lookup.same_text(labels[cold, 0], labels[cold, 0]).all()
    both_ends = lookup.same_concept(labels[:, 0], labels[:, 1]) & ~lookup.same_text(labels[:, 0], labels[:, 1])
    assert both_ends.diagonal().all()


def test_the_loss_leaves_shared_concepts_out():
    """Would catch a lookup that the loss reads differently: its value is that of the rows spelled out."""
    rng = np.random.default_rng(0)
    rows = torch.from_numpy(rng.normal(size=(12, 5)))
    loss = MultiSimilarityLoss(None, 2.0, 50.0, 0.5, miner=None, lookup=RelationLookup(RELATED))
    value = loss.compute_loss_from_embeddings([rows[:6], rows[6:]], LABELS)
    texts = RelationLookup(RELATED).texts(LABELS.T.reshape(-1)).tolist()
    unit = torch.nn.functional.normalize(rows, dim=1)
    cosine = unit @ unit.T
    expected = 0.0
    for i in range(12):
        positives = [j for j in range(12) if texts[j] != texts[i] and SAME_PAIR[i % 6, j % 6]]
        negatives = [j for j in range(12) if not SHARES[i % 6][j % 6]]
        expected += torch.log1p(sum(torch.exp(-2 * (cosine[i, j] - 0.5)) for j in positives)) / 2
        expected += torch.log1p(sum(torch.exp(50 * (cosine[i, j] - 0.5)) for j in negatives)) / 50
    assert value.item() == pytest.approx(expected.item() / 12, abs=1e-9)
    published = MultiSimilarityLoss(
        None, 2.0, 50.0, 0.5, miner=None, lookup=RelationLookup(RELATED, shared_concept_negatives=True)
    )
    assert published.compute_loss_from_embeddings([rows[:6], rows[6:]], LABELS).item() != pytest.approx(value.item())


def test_labels_of_another_terminology_are_refused():
    lookup = RelationLookup(RELATED)
    lookup.check(LABELS)
    with pytest.raises(InputError, match=f"labels of relations must be from 0 to {3 * N * N - 1}"):
        lookup.check(torch.tensor([3 * N * N]))


def test_it_is_a_concept_lookup():
    """Would catch a loss that refuses it."""
    assert isinstance(RelationLookup(RELATED), ConceptLookup)


def test_pairs_of_one_name_are_no_dataset():
    """Catches an error of numpy where every pair of concepts has a name in common."""
    terms = Terminology.from_records(
        [Term("X:1", "flumpa"), Term("X:2", "flumpa"), Relation("X:1", "causes", "X:2")], SourceInfo("X", "X")
    )
    with pytest.raises(InputError, match=r"relations: no pair of concepts with names that differ is left \("):
        relation_pairs(terms)
