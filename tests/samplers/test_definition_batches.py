"""Batches of names and definitions: who meets whom, and what changes from epoch to epoch."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.records import Definition, Parent, Record, SourceInfo, Term
from st_biomed.samplers import DefinitionBatches, DefinitionBatchSampler, DefinitionPlan
from st_biomed.terminology import Terminology
from st_biomed.training_data import definitions_dataset, names_dataset
from tests.contracts.batch_contract import BatchContract, batches

TOY = Terminology.read("toy", definitions=True)


def families(n: int = 6, children: int = 5) -> Terminology:
    """Trees of two levels; a root and its children have three names and two definitions each, but for the last child."""
    records: list[Record] = []
    for tree in range(n):
        for child in range(children + 1):
            code = f"X:{tree}.{child}"
            records += [Term(code, f"name {i} of {tree}.{child}", "synonym" if i else "preferred") for i in range(3)]
            if child < children:
                records += [Definition(code, f"What {tree}.{child} is, in {i} words.") for i in range(2)]
            if child:
                records.append(Parent(code, f"X:{tree}.0"))
    return Terminology.from_records(records, SourceInfo("X", "X"))


def sampler(terminology: Terminology, batch_size: int, seed: int = 0, dataset=None, **plan) -> DefinitionBatchSampler:
    dataset = definitions_dataset(terminology) if dataset is None else dataset
    return DefinitionBatchSampler(dataset, batch_size, seed=seed, terminology=terminology, plan=DefinitionPlan(**plan))


def concepts_of(terminology: Terminology, batch: list[int]) -> list[int]:
    """The concept of each pair of a batch, which has to be that of its definition and one of its name's."""
    assert all(name < terminology.n_texts for name in batch[::2])
    found = terminology.definitions["concept"].to_numpy()[np.array(batch[1::2]) - terminology.n_texts].tolist()
    for name, concept in zip(batch[::2], found):
        assert concept in terminology.text_concepts.row(name)
    return found


class TestDefinitionContract(BatchContract):
    sampler_class = DefinitionBatchSampler

    def make(self, seed=0):
        return sampler(TOY, self.batch_size, seed)

    def make_too_large(self):
        return sampler(TOY, 100_000)


class TestManySiblingsContract(TestDefinitionContract):
    def make(self, seed=0):
        return sampler(TOY, self.batch_size, seed, siblings=0.8)


@pytest.mark.parametrize("siblings", [0, 0.25, 0.5])
def test_a_batch_has_a_name_and_a_definition_of_different_concepts(siblings):
    """Would catch a concept twice in a batch, which would be a positive of itself, and pairs of different concepts."""
    for epoch in range(3):
        for batch in batches(sampler(TOY, 16, siblings=siblings), epoch):
            concepts = concepts_of(TOY, batch)
            assert len(set(concepts)) == len(concepts) == 8


def test_an_epoch_has_every_concept_with_both_as_an_anchor_once():
    """Would catch concepts that are siblings only, or never there."""
    terminology = families()
    made = sampler(terminology, 10, siblings=0.4)  # 3 anchors, 2 siblings
    assert (made.n_anchors, made.n_siblings, made.n_skipped, len(made)) == (3, 2, 6, 10)
    anchors = [concept for batch in batches(made) for concept in concepts_of(terminology, batch)[:3]]
    assert sorted(anchors) == np.flatnonzero(terminology.concept_definitions.counts > 0).tolist()


def test_siblings_are_under_a_common_parent_with_an_anchor():
    """Would catch children, cousins and random concepts in the place of hard negatives."""
    terminology = families(n=12, children=7)
    tree = [code.split(".")[0] for code in terminology.codes]
    is_root = [code.endswith(".0") for code in terminology.codes]
    n_hard = 0
    for batch in batches(sampler(terminology, 16, siblings=0.25)):
        concepts = concepts_of(terminology, batch)
        of_anchors = {tree[concept] for concept in concepts[:6] if not is_root[concept]}
        n_hard += sum(tree[concept] in of_anchors and not is_root[concept] for concept in concepts[6:])
        if of_anchors:
            assert {tree[concept] for concept in concepts[6:]} <= of_anchors
    assert n_hard == 2 * len(sampler(terminology, 16, siblings=0.25))


def loose(n: int) -> Terminology:
    """Concepts without parents, each with a name and a definition."""
    terms: list[Record] = []
    for i in range(n):
        terms += [Term(f"X:{i}", f"name {i}"), Definition(f"X:{i}", f"What {i} is.")]
    return Terminology.from_records(terms, SourceInfo("X", "X"))


def test_without_siblings_other_concepts_take_the_place():
    """Would catch a short batch where no concept has a parent."""
    terminology = loose(9)
    for batch in batches(sampler(terminology, 18, siblings=0.5)):
        assert sorted(concepts_of(terminology, batch)) == list(range(9))


def test_other_concepts_are_drawn_without_a_list_of_all_free_ones(monkeypatch):
    """Would catch work for each batch that grows with the terminology."""
    made, terminology = sampler(loose(400), 16, siblings=0.5), loose(400)

    def listed(*arguments, **options):
        raise AssertionError("all concepts are listed for a batch")

    monkeypatch.setattr(np, "setdiff1d", listed)
    found = [concepts_of(terminology, batch) for batch in batches(made)]
    assert len(found) == 100 and {len(set(concepts)) for concepts in found} == {8}


@pytest.mark.parametrize("n", [10, 11, 60])
def test_other_concepts_are_drawn_evenly(n):
    """Would catch concepts that are preferred by their place, or by a draw that ran out of free ones."""
    terminology = loose(n)
    made = sampler(terminology, 20, siblings=0.5)  # 5 anchors, 5 others
    epochs = 600 // len(made)
    times = np.zeros(n)
    for epoch in range(epochs):
        for batch in batches(made, epoch):
            concepts = concepts_of(terminology, batch)
            assert len(set(concepts)) == 10
            times[concepts[5:]] += 1
    expected = epochs * len(made) * 5 / n
    assert (np.abs(times - expected) < 5 * expected**0.5).all()
    assert batches(made, 1) == batches(sampler(terminology, 20, siblings=0.5), 1) != batches(made, 2)


def test_names_and_definitions_are_drawn_anew_every_epoch():
    """Would catch one name of a concept that is always the same, and others that are never seen."""
    terminology = families()
    seen: dict[int, set[int]] = {}
    for epoch in range(60):
        for batch in batches(sampler(terminology, 10), epoch):
            for pair, concept in enumerate(concepts_of(terminology, batch)):
                seen.setdefault(concept, set()).update(batch[2 * pair : 2 * pair + 2])
    assert {len(labels) for labels in seen.values()} == {3 + 2}


def test_a_selection_of_rows_in_another_order_is_what_it_holds():
    """Would catch labels taken for rows."""
    terminology = families()
    labels = np.arange(terminology.n_texts + terminology.n_definitions)
    chosen = np.random.default_rng(0).permutation(labels[labels % 3 > 0])
    dataset = definitions_dataset(terminology).select(chosen)
    for batch in batches(sampler(terminology, 10, dataset=dataset)):
        held = [dataset[row]["label"] for row in batch]
        assert set(held) <= {*chosen.tolist()} and len(concepts_of(terminology, held)) == 5


def test_the_batches_are_pickled_without_the_terminology():
    """Would catch a checkpoint that carries a licensed terminology."""
    made = DefinitionBatches.of(TOY, siblings=0.5)
    again = pickle.loads(pickle.dumps(made))
    assert len(pickle.dumps(made)) < 2000
    dataset = definitions_dataset(TOY)
    expected = batches(sampler(TOY, 16, seed=3, siblings=0.5))
    assert list(again(dataset, 16, True, seed=3)) == expected
    assert not made.is_training(names_dataset(TOY))


@pytest.mark.parametrize(
    ("batch_size", "plan", "message"),
    [
        (16, {"siblings": 1.0}, "siblings must be at least 0 and less than 1, found 1.0"),
        (16, {"siblings": -0.1}, "siblings must be at least 0 and less than 1, found -0.1"),
        (15, {}, "batch_size must be an even number of at least 4, .* found 15"),
        (2, {}, "batch_size must be an even number of at least 4, .* found 2"),
        (300, {}, "batch_size 300 is too large: 125 concepts have a name and a definition"),
    ],
)
def test_wrong_arguments_are_refused(batch_size, plan, message):
    with pytest.raises(InputError, match=message):
        sampler(TOY, batch_size, **plan)


def test_other_datasets_are_refused():
    dataset = definitions_dataset(TOY)
    with pytest.raises(InputError, match="comes? from terminology"):
        sampler(families(), 4, dataset=dataset)
    with pytest.raises(InputError, match="none of 158 concepts with a name in the dataset has a definition there"):
        sampler(TOY, 4, dataset=names_dataset(TOY))
    with pytest.raises(InputError, match="found label 5 in several rows"):
        sampler(TOY, 4, dataset=dataset.select([4, 5, 6, 5]))
    with pytest.raises(InputError, match="names and definitions: expected the columns"):
        sampler(TOY, 4, dataset=dataset.rename_column("text", "name"))
