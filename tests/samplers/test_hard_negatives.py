"""Batches around prototypes: who is a prototype, and who comes with it."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

import st_biomed.samplers.batch_factories
import st_biomed.samplers.neighbor_table
from st_biomed.errors import InputError
from st_biomed.records import SourceInfo, Term
from st_biomed.samplers import HardNegativeBatches, HardNegativeBatchSampler
from st_biomed.samplers.batch_factories import InOrderBatchSampler
from st_biomed.samplers.hard_negatives import HardNegativePlan
from st_biomed.samplers.neighbor_table import NeighborTable, nearest_rows
from st_biomed.samplers.prototypes import ConceptRows
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset, relation_pairs
from tests.contracts.batch_contract import BatchContract, batches
from tests.samplers.prototype_batches import PLAN, TOY, mentions, sampler, with_names


class TestHardNegativeContract(BatchContract):
    sampler_class = HardNegativeBatchSampler
    batch_size = PLAN.batch_size

    def make(self, seed=0):
        return sampler(TOY, seed=seed)

    def make_too_large(self):
        return sampler(TOY, HardNegativePlan(positives=2000, neighbors=2000))


class TestMentionsContract(TestHardNegativeContract):
    """Several rows of a label, as mentions in context have them."""

    def make(self, seed=0):
        labels = np.random.default_rng(3).integers(0, TOY.n_texts, 300).tolist()
        return sampler(TOY, dataset=mentions(TOY, labels), seed=seed)


def groups(batch: list[int], made: HardNegativeBatchSampler) -> list[list[int]]:
    """A batch cut where the next of its prototypes begins its group."""
    size = 1 + made.plan.positives + made.plan.neighbors
    return [batch[i : i + size] for i in range(0, len(batch), size)]


def test_a_batch_is_prototypes_their_synonyms_and_their_neighbors():
    """Catches neighbors of another prototype, and positives from elsewhere."""
    terminology = with_names(*[5] * 20)
    vectors = np.random.default_rng(1).normal(size=(100, 6))
    made = sampler(terminology, vectors=vectors)
    scores = vectors.astype(np.float32) @ vectors.T.astype(np.float32)
    for epoch in range(2):
        for batch in batches(made, epoch):
            first, second = groups(batch, made)
            for group, earlier in ((first, second[:4]), (second, first + second[:4])):
                concept = group[0] // 5
                assert group[0] in made.prototypes and {row // 5 for row in group[1:4]} == {concept}
                free = [row for row in np.argsort(-scores[group[0]]) if row not in {*earlier, *group[:4]}]
                assert group[4:] == free[:4]


def test_an_epoch_goes_through_all_prototypes_once():
    made = sampler(TOY)
    drawn = [group[0] for batch in batches(made) for group in groups(batch, made)]
    assert len(set(drawn)) == len(drawn) and len(made.prototypes) - len(drawn) < PLAN.prototypes
    assert set(drawn) <= set(made.prototypes.tolist())


def test_neighbors_are_not_chosen_by_their_concept():
    """Catches a filter by label: a nearest row of the prototype's own concept is taken like any other."""
    terminology = with_names(*[9] * 10)
    vectors = np.eye(10)[np.arange(90) // 9]
    for batch in batches(sampler(terminology, vectors=vectors)):
        for group in groups(batch, sampler(terminology, vectors=vectors)):
            assert {row // 9 for row in group[:8]} == {group[0] // 9}


def test_positives_are_of_other_terms_first():
    """Catches contexts of the prototype's own term while others of its concept are left."""
    terminology = with_names(2, 2, 2, 2)
    labels = [text for text in range(8) for _ in range(5)]
    made = sampler(
        terminology, HardNegativePlan(prototypes=1, positives=7, neighbors=2), mentions(terminology, labels)
    )
    seen = set()
    for epoch in range(5):
        for (first, *rest), _ in ((batch, None) for batch in batches(made, epoch)):
            positives = np.array(labels)[rest[:7]]
            assert set(positives[:5]) == {labels[first] ^ 1} and set(positives[5:]) == {labels[first]}
            seen.add(tuple(rest[:5]))
    assert len(seen) > 5


def test_prototypes_are_of_different_terms_first():
    """Catches two prototypes of one term while another term has none, and more than the cap."""
    terminology = with_names(3, 1, 6)
    labels = [0] * 40 + [1] + [2] + [3] * 3 + list(range(4, 10))
    for seed in range(5):
        rows = ConceptRows(mentions(terminology, labels), terminology)
        found = np.array(labels)[rows.prototypes(np.random.default_rng(seed), 3)]
        assert sorted(found[found < 3]) == [0, 1, 2]
        assert (found == 3).sum() == 3
        assert len(found[found > 3]) == len(set(found[found > 3])) == 3
        two = np.array(labels)[rows.prototypes(np.random.default_rng(seed), 5)]
        assert sorted(two[two < 3]) == [0, 0, 0, 1, 2]


def test_which_of_many_terms_are_prototypes_is_random():
    """Catches the first terms of the alphabet for every seed."""
    terminology = with_names(12)
    rows = ConceptRows(names_dataset(terminology), terminology)
    drawn = [rows.prototypes(np.random.default_rng(seed), 2) for seed in range(60)]
    assert set(np.concatenate(drawn)) == set(range(12))


def ambiguous() -> Terminology:
    """Three concepts; the text "crane" names the bird and the machine, "carp" stands alone."""
    names = {"BIRD": ["crane", "grus"], "MACHINE": ["crane", "derrick"], "FISH": ["carp"]}
    terms = [Term(f"X:{code}", text) for code, texts in names.items() for text in texts]
    return Terminology.from_records(terms, SourceInfo("X", "Invented"))


def test_a_text_of_several_concepts_goes_with_all_of_them():
    """Catches the first of its concepts taken for all, and a prototype twice since two concepts chose it."""
    terminology = ambiguous()
    rows = ConceptRows(names_dataset(terminology), terminology)
    at = {text: i for i, text in enumerate(terminology.strings)}
    assert rows.of_same_concept(at["crane"]).tolist() == sorted([at["grus"], at["derrick"]])
    assert rows.of_same_concept(at["grus"]).tolist() == [at["crane"]]
    prototypes = rows.prototypes(np.random.default_rng(0), 2).tolist()
    assert prototypes == sorted([at["crane"], at["grus"], at["derrick"]])


def test_rows_without_company_are_prototypes_on_request():
    terminology = ambiguous()
    rows = ConceptRows(names_dataset(terminology), terminology)
    assert len(rows.prototypes(np.random.default_rng(0), 2, alone=True)) == 4
    made = sampler(
        terminology, HardNegativePlan(prototypes=4, positives=1, neighbors=1, lone_rows=True), repeated(terminology)
    )
    assert {len(batch) for batch in batches(made)} == {12}


def repeated(terminology: Terminology, times: int = 4) -> Dataset:
    return mentions(terminology, [*range(terminology.n_texts)] * times)


def test_concepts_of_two_names_are_filled_up_with_neighbors():
    """Catches a short batch, and the one synonym again and again."""
    terminology = with_names(*[2] * 30)
    vectors = np.random.default_rng(5).normal(size=(60, 6))
    made = sampler(terminology, vectors=vectors)
    scores = vectors.astype(np.float32) @ vectors.T.astype(np.float32)
    for batch in batches(made):
        first = groups(batch, made)[0]
        assert first[1] == first[0] ^ 1
        other = groups(batch, made)[1][:2]
        free = [row for row in np.argsort(-scores[first[0]]) if row not in {*first[:2], *other}]
        assert first[2:] == free[:6]


@pytest.mark.long
@given(
    counts=st.lists(st.integers(1, 7), min_size=2, max_size=12),
    numbers=st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 6), st.integers(1, 4)),
    seed=st.integers(0, 99),
)
def test_every_batch_is_full_and_has_nothing_twice(counts, numbers, seed):
    """Catches rows repeated where concepts are small or the table is too short for the batch."""
    terminology = with_names(*counts)
    plan = HardNegativePlan(**dict(zip(("prototypes", "positives", "neighbors", "prototypes_per_concept"), numbers)))
    try:
        made = sampler(terminology, plan, seed=seed, vectors=np.eye(sum(counts))[:, :2])
    except InputError as error:
        assert "batch" in str(error)
        return
    found = batches(made, seed)
    assert len(found) == len(made) == len(made.prototypes) // plan.prototypes
    for batch in found:
        assert len(batch) == len(set(batch)) == plan.batch_size


def test_other_neighbors_are_other_batches():
    """Catches batches that were drawn before the refresh; a change takes effect at the next batch."""
    made = sampler(TOY)
    before = batches(made, 1)
    rng = np.random.default_rng(8)
    rows = nearest_rows(rng.normal(size=(len(made.dataset), 8)).astype(np.float32), made.prototypes, made.width)
    made.set_epoch(1)
    running = iter(made)
    first = next(running)
    made.use(NeighborTable(rows, made.rows_digest, "other weights"))
    second = next(running)
    after = batches(made, 1)
    assert first == before[0] != after[0] and second == after[1] != before[1]
    size = 1 + PLAN.positives + PLAN.neighbors
    assert [batch[::size] for batch in before] == [batch[::size] for batch in after]


def test_another_process_makes_the_same_batches(tmp_path, monkeypatch):
    """Catches a bound sampler or a terminology in training_args.bin."""
    dataset = names_dataset(TOY)
    frozen = pickle.dumps(HardNegativeBatches.of(TOY, TOY.save(tmp_path / "toy"), **vars(PLAN)))
    assert len(frozen) < 1_000
    monkeypatch.setattr(st_biomed.samplers.batch_factories, "_TERMINOLOGIES", {})
    made = pickle.loads(frozen)(dataset, PLAN.batch_size, True, seed=3)
    assert isinstance(made, HardNegativeBatchSampler)
    made.use(sampler(TOY, seed=3).table)
    assert batches(made) == batches(sampler(TOY, seed=3))


def test_other_datasets_are_taken_in_order():
    of = HardNegativeBatches.of(TOY, **vars(PLAN))
    assert type(of(names_dataset(TOY).select(range(40)), 8, True)) is InOrderBatchSampler
    part = names_dataset(TOY).select(range(100))
    assert isinstance(
        HardNegativeBatches.of(TOY, dataset=part, **vars(PLAN))(part, 16, True), HardNegativeBatchSampler
    )


def make(terminology=TOY, dataset=None, batch_size=16, **plan):
    dataset = names_dataset(terminology) if dataset is None else dataset
    plan = HardNegativePlan(**{"prototypes": 2, "positives": 3, "neighbors": 4, **plan})
    return HardNegativeBatchSampler(dataset, batch_size, terminology=terminology, plan=plan)


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: make(batch_size=8), r"2 prototypes x \(1 \+ 3 positives \+ 4 neighbors\) = 16, found 8"),
        (lambda: make(with_names(5, 5)), "batch_size 16 is too large: the dataset has 10 rows"),
        (lambda: make(with_names(*[1] * 20)), "a batch has 2 prototypes, but only 0 of 20 rows can be one"),
        (lambda: make(positives=0), "positives must be an integer of at least 1, found 0"),
        (lambda: make(neighbors=2.5), "neighbors must be an integer of at least 1, found 2.5"),
        (lambda: make(dataset=relation_pairs(TOY)), "expected the columns"),
        (lambda: make(dataset=names_dataset(with_names(9, 9))), "labels come from terminology"),
        (lambda: next(iter(make())), r"no neighbors have been found yet: .*callbacks=\[HardNegativeCallback"),
    ],
)
def test_what_cannot_be_batched_is_refused(attempt, message):
    with pytest.raises(InputError, match=message):
        attempt()


def test_prototypes_of_some_sources_are_all_of_their_names_that_have_company():
    """Catches names of the dictionary that are prototypes, a limit per concept, and a mention that is a name, too, left out."""
    terms = [Term(f"X:{i}", f"name {i} {n}", source="NAMES") for i in range(12) for n in range(3)]
    terms += [Term("X:0", f"mention 0 {n}", "synonym", source="MENTIONS") for n in range(5)]
    terms += [Term("X:1", "name 1 0", source="MENTIONS"), Term("X:99", "alone", source="MENTIONS")]
    terminology = Terminology.from_records([SourceInfo("NAMES", "N"), *terms], SourceInfo("MENTIONS", "M"))
    made = sampler(terminology, replace(PLAN, prototype_sources=("MENTIONS",)))
    expected = [f"mention 0 {n}" for n in range(5)] + ["name 1 0"]
    assert [terminology.strings[row] for row in made.prototypes] == expected
    assert made.rows_digest != sampler(terminology).rows_digest
    with pytest.raises(InputError, match="unknown source 'MENTION': allowed are"):
        sampler(terminology, replace(PLAN, prototype_sources=("MENTION",)))


def test_positives_and_neighbors_of_some_sources_are_their_names():
    """Catches other mentions in place of the synonym of a mention, which has none among its candidates then."""
    terms = [Term(f"X:{i}", f"name {i} {n}", source="NAMES") for i in range(12) for n in range(3)]
    terms += [Term(f"X:{i}", f"mention {i} {n}", "synonym", source="MENTIONS") for i in range(4) for n in range(9)]
    terminology = Terminology.from_records([SourceInfo("NAMES", "N"), *terms], SourceInfo("MENTIONS", "M"))
    plan = replace(PLAN, positives=1, prototype_sources=("MENTIONS",), candidate_sources=("NAMES",))
    made = sampler(terminology, plan)
    for batch in batches(made):
        for group in groups(batch, made):
            anchor, synonym, *others = (terminology.strings[row] for row in group)
            assert anchor.startswith("mention") and synonym.split()[:2] == ["name", anchor.split()[1]]
            assert len(others) == 4 and all(other.startswith("name") for other in others)
    assert made.rows_digest != sampler(terminology, replace(plan, candidate_sources=())).rows_digest
    with pytest.raises(InputError, match="batch_size 44 is too large: 36 of 72 rows are of NAMES"):
        sampler(terminology, replace(plan, neighbors=20))
