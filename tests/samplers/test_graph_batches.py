"""Batches of different concepts with two names each."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import combinations

import pytest
import torch

import st_biomed.samplers.batch_factories
from st_biomed.errors import InputError
from st_biomed.records import SourceInfo, Term
from st_biomed.samplers import GraphBatches, GraphBatchSampler, GraphPlan
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset
from tests.contracts.batch_contract import BatchContract, batches

TOY = Terminology.read("toy")


def sampler(terminology: Terminology, batch_size: int, dataset=None, seed=0, **options) -> GraphBatchSampler:
    dataset = names_dataset(terminology) if dataset is None else dataset
    return GraphBatchSampler(dataset, batch_size, seed=seed, terminology=terminology, plan=GraphPlan(**options))


def with_names(*counts: int, language: str = "en") -> Terminology:
    """Concept ``i`` has ``counts[i]`` names of its own."""
    terms = (
        Term(f"X:{i:03}", f"term {i:03} {n:02}", "synonym", language)
        for i, count in enumerate(counts)
        for n in range(count)
    )
    return Terminology.from_records(terms, SourceInfo("X", "X"))


def drawn_pairs(terminology: Terminology, batch_size: int, epoch: int = 0, **options) -> list[list[tuple[str, str]]]:
    """The pairs of names of each batch."""
    strings = terminology.strings
    return [
        [(strings[a], strings[b]) for a, b in zip(batch[::2], batch[1::2])]
        for batch in batches(sampler(terminology, batch_size, **options), epoch)
    ]


class TestGraphContract(BatchContract):
    sampler_class = GraphBatchSampler

    def make(self, seed=0):
        return sampler(TOY, self.batch_size, seed=seed)

    def make_too_large(self):
        return sampler(TOY, 100_000)


def test_a_batch_holds_two_names_of_each_concept_and_no_concept_twice():
    """Would catch a concept whose two nodes would be one, also where its pairs lie at the end of a round."""
    counts = [2, 3, 4, 7, 5, 6] * 8
    concepts = with_names(*counts).text_concepts
    for epoch in range(4):
        for batch in batches(sampler(with_names(*counts), 20), epoch):
            first, second = ([int(concepts.row(row)[0]) for row in batch[i::2]] for i in (0, 1))
            assert first == second and len(set(first)) == 10
            assert len(set(batch)) == 20


def test_an_epoch_holds_every_pair_of_synonyms_once():
    terminology = with_names(3, 4, 3, 3)  # 3 + 6 + 3 + 3 pairs, which fill 7 batches of 2
    rows = terminology.concept_texts
    every = {frozenset(pair) for i in range(4) for pair in combinations(rows.row(i).tolist(), 2)}
    for epoch in range(4):
        found = [frozenset(b[i : i + 2]) for b in batches(sampler(terminology, 4), epoch) for i in (0, 2)]
        assert len(found) == len(set(found)) == 14 and set(found) < every


def test_a_concept_gives_no_more_pairs_than_there_are_batches():
    """Would catch a concept that has half of all pairs and fills batches by itself."""
    terminology = with_names(8, 2, 2, 2)  # 28 pairs and three
    drawn = sampler(terminology, 4)
    assert len(drawn) == 3
    seen = {frozenset(batch[i : i + 2]) for epoch in range(90) for batch in batches(drawn, epoch) for i in (0, 2)}
    assert len(seen) == 31  # another three of the 28 each time


def test_the_cap_is_an_argument():
    assert sum(map(len, drawn_pairs(with_names(5, 5, 5), 6, max_pairs_per_concept=2))) == 6


def test_concepts_without_a_pair_are_counted():
    """Would catch a translation that is taken for a synonym although nothing maps it to the pivot."""
    terms = [Term("X:1", f"en {i}") for i in "ab"] + [Term("X:2", "en c"), Term("X:2", "it c", "synonym", "it")]
    terms += [Term("X:3", "it d", "preferred", "it"), Term("X:3", "es d", "synonym", "es"), Term("X:4", "en e")]
    terminology = Terminology.from_records(terms, SourceInfo("X", "X"))
    assert sampler(terminology, 4).n_skipped == 2
    assert sampler(terminology, 4, pivot_language=None).n_skipped == 1


def several_languages() -> Terminology:
    """Three concepts: in English and Italian and Spanish, in Italian and Spanish, and in English alone."""
    names = {"1": {"en": "ab", "it": "cde", "es": "f"}, "2": {"it": "gh", "es": "i"}, "3": {"en": "jkl"}}
    terms = [
        Term(f"X:{code}", f"{language} {letter}", "synonym", language)
        for code, languages in names.items()
        for language, letters in languages.items()
        for letter in letters
    ]
    return Terminology.from_records(terms, SourceInfo("X", "X"))


def among(*words: str) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in combinations(words, 2)}


def test_pairs_are_drawn_within_a_language_and_with_the_pivot():
    """Catches Italian-Spanish pairs, which nothing maps, and a stratum that is forgotten."""
    terminology = several_languages()
    seen = {frozenset(pair) for epoch in range(40) for batch in drawn_pairs(terminology, 4, epoch) for pair in batch}
    expected = among("en a", "en b") | among("it c", "it d", "it e") | among("it g", "it h")
    expected |= among("en j", "en k", "en l")
    expected |= {frozenset([other, f"en {i}"]) for other in ("it c", "it d", "it e", "es f") for i in "ab"}
    assert seen == expected


def test_a_concept_of_several_strata_is_one_target():
    """Would catch the pairs of each language as if they were another concept's."""
    terms = [
        Term(f"X:{code}", f"{language} {code} {i}", "synonym", language)
        for code in range(8)
        for language in ("en", "es", "it")
        for i in range(3)
    ]
    terminology = Terminology.from_records(terms, SourceInfo("X", "X"))
    for epoch in range(3):
        for batch in drawn_pairs(terminology, 10, epoch):
            assert len({name.split()[1] for name, _ in batch}) == 5


def test_without_a_pivot_languages_do_not_matter():
    terminology = several_languages()
    seen = {
        frozenset(pair)
        for epoch in range(60)
        for batch in drawn_pairs(terminology, 4, epoch, pivot_language=None)
        for pair in batch
    }
    assert {"es i", "it g"} in seen and {"es f", "it c"} in seen
    assert seen == {pair for names in map(terminology.concept_names, terminology.codes) for pair in among(*names)}


def test_one_language_alone_is_the_pivot_or_needs_none():
    """Would catch a pivot that is looked for among the languages of a larger terminology."""
    english = with_names(3, 3, 3)
    assert drawn_pairs(english, 6) and len(drawn_pairs(english, 6)) == len(
        drawn_pairs(english, 6, pivot_language=None)
    )
    italian = several_languages().subset(languages=["it"])
    with pytest.raises(InputError, match=r"no name is in the pivot language 'en'; there are \['it'\]"):
        sampler(italian, 4)
    assert len(sampler(italian, 4, pivot_language="it")) == len(sampler(italian, 4, pivot_language=None)) == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sampler(TOY, 7), "an even number of at least 4 .two names of each concept., found 7"),
        (lambda: sampler(TOY, 2), "an even number of at least 4 .two names of each concept., found 2"),
        (
            lambda: sampler(TOY, 16, max_pairs_per_concept=0),
            "max_pairs_per_concept must be an integer of at least 1, found 0",
        ),
        (lambda: sampler(TOY, 16, pivot_language="fr"), "no name is in the pivot language 'fr'"),
        (lambda: sampler(with_names(1, 1), 4), "no synonyms: no concept has two names in one language"),
        (lambda: sampler(with_names(1, 1), 4, pivot_language=None), "no synonyms: no concept has two names$"),
        (lambda: sampler(with_names(9, 9), 6), "batch_size 6 is too large: it holds 3 concepts, 2 have two names"),
        (lambda: sampler(TOY, 16, names_dataset(with_names(2, 2))), "labels come from terminology"),
    ],
)
def test_what_cannot_be_batched_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_the_callable_is_small_and_finds_the_terminology_in_another_process(tmp_path, monkeypatch):
    """Would catch names in a checkpoint, an option that is lost, and a callable that works only where it was made."""
    part = names_dataset(TOY).select(range(300))
    options = {"max_pairs_per_concept": 3, "pivot_language": None}
    made = GraphBatches.of(TOY, TOY.save(tmp_path / "toy"), dataset=part, **options)
    frozen = pickle.dumps(made)
    assert len(frozen) < 1_000
    assert not [text for text in TOY.strings if len(text) > 8 and text.encode() in frozen]
    monkeypatch.setattr(st_biomed.samplers.batch_factories, "_TERMINOLOGIES", {})
    unpickled = pickle.loads(frozen)(part, 16, True, seed=3)
    assert isinstance(unpickled, GraphBatchSampler)
    assert list(unpickled) == list(sampler(TOY, 16, part, seed=3, **options))


def test_two_processes_get_every_batch_once_between_them():
    """sentence-transformers deals one list of batches to the processes: each has to make the same one."""
    from accelerate.data_loader import BatchSamplerShard

    whole = batches(sampler(TOY, 16), 1)
    dealt = []
    for rank in range(2):
        own = sampler(TOY, 16)
        own.set_epoch(1)
        torch.manual_seed(rank)
        dealt.append(list(BatchSamplerShard(own, 2, rank, even_batches=False)))
    assert [batch for both in zip(*dealt) for batch in both] == whole[: 2 * len(dealt[1])]


def test_pairs_that_fill_no_batch_are_others_in_another_epoch():
    """Would catch concepts that are never met because they come last."""
    terminology = with_names(*[2] * 7)  # one of seven is left over
    met = Counter(row for epoch in range(20) for batch in batches(sampler(terminology, 4), epoch) for row in batch)
    assert len(met) == 14
