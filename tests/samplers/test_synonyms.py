"""Synonym batches: which pairs an epoch holds, and who meets whom."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

import st_biomed.samplers.synonyms
from st_biomed.errors import InputError
from st_biomed.records import SourceInfo, Term
from st_biomed.samplers import SynonymBatchSampler, SynonymPlan
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset, relation_pairs
from st_biomed.training_data.draws import pair_of
from tests.contracts.batch_contract import BatchContract, batches

TOY = Terminology.read("toy")


def with_names(*counts: int) -> Terminology:
    """Concept ``i`` has ``counts[i]`` names of its own."""
    terms = (Term(f"X:{i:03}", f"term {i:03} {n:02}") for i, count in enumerate(counts) for n in range(count))
    return Terminology.from_records(terms, SourceInfo("X", "X"))


def sampler(terminology: Terminology, batch_size: int, dataset=None, seed=0, **options) -> SynonymBatchSampler:
    dataset = names_dataset(terminology) if dataset is None else dataset
    return SynonymBatchSampler(dataset, batch_size, seed=seed, terminology=terminology, plan=SynonymPlan(**options))


def pairs(terminology: Terminology, batch_size: int = 4, epoch: int = 0, **options) -> Counter[frozenset[int]]:
    """How often each unordered pair of rows stands side by side in an epoch."""
    drawn = batches(sampler(terminology, batch_size, **options), epoch)
    return Counter(frozenset(batch[i : i + 2]) for batch in drawn for i in range(0, batch_size, 2))


class TestSynonymContract(BatchContract):
    sampler_class = SynonymBatchSampler

    def make(self, seed=0):
        return sampler(TOY, self.batch_size, seed=seed)

    def make_too_large(self):
        return sampler(TOY, 100_000)


class TestThreeNamesContract(TestSynonymContract):
    """Groups that do not add up to batches, in blocks that end within a batch."""

    batch_size = 10

    @pytest.fixture(autouse=True)
    def small_blocks(self, monkeypatch):
        monkeypatch.setattr(st_biomed.samplers.synonyms, "_BLOCK", 2)

    def make(self, seed=0):
        return sampler(TOY, self.batch_size, seed=seed, names_per_concept=3)


def test_an_epoch_holds_every_pair_of_synonyms_once():
    """Would catch pairs drawn with replacement, and a wrong count of them."""
    terminology = with_names(2, 3, 5, 1, 4)  # 1 + 3 + 10 + 0 + 6 pairs
    expected = [frozenset(pair) for row in range(5) for pair in combinations(terminology.concept_texts.row(row), 2)]
    for epoch in range(3):
        assert pairs(terminology, epoch=epoch) == Counter(expected)


def test_a_concept_gives_no_more_pairs_than_the_cap_and_other_ones_every_epoch():
    """Would catch a cap that is ignored, or the same trimmed pairs every epoch."""
    terminology = with_names(12, 2, 2)  # 66 pairs, trimmed to 50
    epochs = [
        {pair for pair in pairs(terminology, epoch=epoch) if pair <= set(terminology.concept_texts.row(0).tolist())}
        for epoch in range(12)
    ]
    assert {len(epoch) for epoch in epochs} == {50}
    assert epochs[0] != epochs[1]
    assert len(set().union(*epochs)) == 66
    assert len(sampler(terminology, 4)) == (50 + 1 + 1) * 2 // 4


def test_the_cap_is_an_argument():
    assert sum(pairs(with_names(5, 5), max_pairs_per_concept=3).values()) == 6


def test_more_names_than_two_come_in_groups_of_distinct_names():
    """Would catch a name twice in its group, and groups that hold fewer pairs than two by two would."""
    drawn = batches(sampler(with_names(7), 8, names_per_concept=4))  # ceil(21 / 6) groups of 4
    groups = np.array(drawn).reshape(-1, 4)
    assert len(groups) == 4
    assert all(len(set(group)) == 4 for group in groups.tolist())


def test_a_concept_with_fewer_names_gives_them_all():
    """Would catch a short concept that is dropped, or padded with a name twice."""
    terminology = with_names(2, 3, 3)  # one group each
    drawn = batches(sampler(terminology, 8, names_per_concept=4))
    assert sorted(drawn[0]) == list(range(8))


def test_pairs_are_numbered_without_gap_or_repeat():
    """Would catch an off-by-one in the square root, which shows first at triangular numbers."""
    i, j = pair_of(np.arange(100 * 99 // 2))
    assert list(zip(i, j)) == [(a, b) for b in range(100) for a in range(b)]
    n = 10_000_000
    last = pair_of(np.array([n * (n - 1) // 2 - 1]))
    assert (int(last[0][0]), int(last[1][0])) == (n - 2, n - 1)


def test_a_concept_does_not_meet_itself_in_a_batch():
    """Would catch a plain shuffle: two groups of a concept in one batch are fewer negatives for both."""
    counts = [2, 3, 4, 5, 6] * 40
    terminology = with_names(*counts)
    concept = np.repeat(np.arange(len(counts)), counts)
    for epoch in range(3):
        for batch in batches(sampler(terminology, 32), epoch):
            assert max(Counter(concept[batch].tolist()).values()) == 2


def test_an_epoch_is_the_same_mixture_from_beginning_to_end():
    """Would catch concepts with one pair that all come early, since one part of the epoch is theirs."""
    counts = [2] * 300 + [4] * 50
    terminology = with_names(*counts)
    concept = np.repeat(np.arange(len(counts)), counts)
    drawn = np.array(batches(sampler(terminology, 20)))
    small = (concept[drawn] < 300).mean(axis=1)
    for part in np.array_split(small, 4):
        assert 0.35 < part.mean() < 0.65


def test_groups_of_a_batch_are_new_company_every_time():
    """Would catch concepts with equally many pairs that travel through the epoch together."""
    terminology = with_names(*[3] * 200)
    met: Counter[frozenset[int]] = Counter()
    for batch in batches(sampler(terminology, 8)):
        met.update(frozenset(pair) for pair in combinations({row // 3 for row in batch}, 2))
    assert np.mean(np.array(list(met.values())) > 1) < 0.1


def test_concepts_with_one_name_are_counted_and_left_out():
    terminology = with_names(1, 2, 1, 3, 1, 2)
    drawn = sampler(terminology, 4)
    assert drawn.n_skipped == 3
    single = {int(terminology.concept_texts.row(i)[0]) for i in (0, 2, 4)}
    assert single.isdisjoint(row for batch in batches(drawn) for row in batch)


def test_rows_follow_the_dataset_whatever_its_order():
    """Would catch text ids taken for rows, which is right only while nobody selects or shuffles."""
    dataset = names_dataset(TOY).shuffle(seed=3).select(range(300))
    labels = np.array(dataset["label"][:])
    share = TOY.text_concepts
    for batch in batches(sampler(TOY, 8, dataset)):
        for a, b in zip(labels[batch][::2], labels[batch][1::2]):
            assert a != b and np.intersect1d(share.row(a), share.row(b)).size


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sampler(with_names(1, 1, 1), 4), "no synonyms: none of 3 concepts has two names"),
        (lambda: sampler(TOY, 3), "at least 4; found 3"),
        (lambda: sampler(TOY, 16, names_per_concept=1), "names_per_concept must be an integer of at least 2, found 1"),
        (
            lambda: sampler(TOY, 16, max_pairs_per_concept=0),
            "max_pairs_per_concept must be an integer of at least 1, found 0",
        ),
        (lambda: sampler(with_names(2, 2), 8), "batch_size 8 is too large: 2 concepts with synonyms fill 4 rows"),
        (lambda: sampler(TOY, 16, names_dataset(with_names(2, 2))), "labels come from terminology"),
        (lambda: sampler(TOY, 16, relation_pairs(TOY)), "expected the columns"),
        (lambda: sampler(TOY, 4, names_dataset(TOY).select([0, 1, 2, 1, 5])), "found label 1 in several"),
    ],
)
def test_what_cannot_be_batched_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def several_languages() -> Terminology:
    """Three concepts: in English and Italian and Spanish, in Italian and Spanish, and in English alone."""
    names = {
        "1": {"en": "ab", "it": "cde", "es": "f"},
        "2": {"it": "gh", "es": "i"},
        "3": {"en": "jkl"},
    }
    terms = [
        Term(f"X:{code}", f"{language} {letter}", "synonym", language)
        for code, languages in names.items()
        for language, letters in languages.items()
        for letter in letters
    ]
    terms.append(Term("X:1", "en a", "synonym", "it"))  # one string in two languages counts for the pivot
    return Terminology.from_records(terms, SourceInfo("X", "X"))


def test_pairs_are_drawn_within_a_language_and_with_the_pivot():
    """Catches Italian-Spanish pairs, which nothing maps, and a stratum that is forgotten or drawn twice."""
    terminology = several_languages()
    drawn = sampler(terminology, 4, pivot_language="en")
    seen = Counter()
    for epoch in range(8):
        strings = [terminology.strings[row] for batch in batches(drawn, epoch) for row in batch]
        seen.update(frozenset(pair) for pair in zip(strings[::2], strings[1::2]))
    expected = {frozenset(pair) for pair in combinations(["en a", "en b"], 2)}
    expected |= {frozenset(pair) for pair in combinations(["it c", "it d", "it e"], 2)}
    expected |= {frozenset([other, f"en {letter}"]) for other in ("it c", "it d", "it e", "es f") for letter in "ab"}
    expected |= {frozenset(["it g", "it h"])}
    expected |= {frozenset(pair) for pair in combinations(["en j", "en k", "en l"], 2)}
    assert set(seen) == expected
    assert max(seen.values()) <= 8
    assert len(drawn) == len(expected) * 2 // 4


def test_the_cap_holds_for_each_stratum():
    drawn = sampler(several_languages(), 4, pivot_language="en", max_pairs_per_concept=1)
    assert len(drawn) == 2 * 6 // 4  # en, it, it-en, es-en of the first concept, it of the second, en of the third


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pivot_language": "fr"}, r"no name is in the pivot language 'fr'; there are \['en', 'es', 'it'\]"),
        ({"pivot_language": "en", "names_per_concept": 3}, "needs names_per_concept=2, found 3"),
    ],
)
def test_a_pivot_that_cannot_be_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        sampler(several_languages(), 6, **options)


@pytest.mark.parametrize("seed", [-1, 1.5, True])
def test_a_seed_is_an_integer_from_0(seed):
    """Catches an error of numpy in the first epoch, after hours of reading."""
    with pytest.raises(InputError, match="seed must be"):
        sampler(TOY, 16, seed=seed)
