"""Mixing datasets: who gets how many batches, and whether all processes are on the same dataset."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from accelerate.data_loader import BatchSamplerShard
from datasets import Dataset
from sentence_transformers.base import DefaultBatchSampler, NoDuplicatesBatchSampler
from torch.utils.data import ConcatDataset, RandomSampler, SequentialSampler

import st_biomed.samplers.mixing
from st_biomed.errors import InputError
from st_biomed.samplers import RankAlignedBatchSampler, RankAlignedMixing, ShuffledBatchSampler
from st_biomed.samplers.mixing import _shared_out
from tests.contracts.batch_contract import BatchContract, batches

B = 4


def datasets(*sizes: int) -> list[Dataset]:
    return [
        Dataset.from_dict({"text": [f"{i} {n}" for n in range(size)], "label": [0] * size})
        for i, size in enumerate(sizes)
    ]


def mixed(*sizes: int, batch_size: int = B, seed: int = 0, **options) -> RankAlignedBatchSampler:
    parts = datasets(*sizes)
    samplers = [ShuffledBatchSampler(part, batch_size, seed=seed) for part in parts]
    return RankAlignedBatchSampler(ConcatDataset(parts), samplers, seed=seed, **options)


def owners(sampler: RankAlignedBatchSampler, drawn: list[list[int]]) -> list[int]:
    """The dataset of each batch, which must come from one alone."""
    found = [np.unique(np.searchsorted(sampler.dataset.cumulative_sizes, batch, side="right")) for batch in drawn]
    assert all(len(of) == 1 for of in found)
    return [int(of[0]) for of in found]


@pytest.fixture
def two_processes(monkeypatch):
    monkeypatch.setattr(st_biomed.samplers.mixing, "get_world_size", lambda: 2)


class TestMixingContract(BatchContract):
    sampler_class = RankAlignedBatchSampler

    def make(self, seed=0):
        return mixed(70, 200, 40, batch_size=self.batch_size, seed=seed)

    def make_too_large(self):
        parts = datasets(3, 2)
        samplers = [DefaultBatchSampler(SequentialSampler(part), 16, True) for part in parts]
        return RankAlignedBatchSampler(ConcatDataset(parts), samplers)


class TestTemperatureContract(TestMixingContract):
    def make(self, seed=0):
        return mixed(70, 200, 40, batch_size=self.batch_size, seed=seed, temperature=3)


class TestTwoProcessesContract(TestMixingContract):
    @pytest.fixture(autouse=True)
    def use(self, two_processes):
        pass


class TestShuffledContract(BatchContract):
    sampler_class = ShuffledBatchSampler

    def make(self, seed=0):
        return ShuffledBatchSampler(datasets(70)[0], self.batch_size, seed=seed)

    def make_too_large(self):
        return ShuffledBatchSampler(datasets(15)[0], self.batch_size)


def test_temperature_one_takes_every_batch_once():
    """Would catch rows that are lost, repeated or offset into another dataset."""
    sampler = mixed(16, 40, 8)
    rows = [row for batch in batches(sampler) for row in batch]
    assert sorted(rows) == list(range(64))
    assert Counter(owners(sampler, batches(sampler))) == {0: 4, 1: 10, 2: 2}


def test_processes_are_on_the_same_dataset_at_the_same_step(two_processes):
    """Would catch sentence-transformers' mixing, under which a loss that gathers waits forever; dealt as accelerate deals."""
    sampler = mixed(20, 44, 12)
    steps = [owners(sampler, list(BatchSamplerShard(sampler, 2, rank, even_batches=False))) for rank in range(2)]
    assert steps[0] == steps[1]
    assert set(steps[0]) == {0, 1, 2}
    assert len(steps[0]) == len(sampler) // 2


def test_a_short_last_block_begins_the_dataset_anew(two_processes):
    """Would catch a small dataset that is never seen because it does not fill a block."""
    sampler = mixed(B, 40)  # one batch and ten
    drawn = batches(sampler)
    assert Counter(owners(sampler, drawn)) == {0: 2, 1: 10} == dict(enumerate(sampler.batches))


def test_temperature_favors_the_small():
    sampler = mixed(400, 100, 4, temperature=2)  # 100, 25 and 1 batches in the ratio 10 : 5 : 1
    count = Counter(owners(sampler, batches(sampler)))
    assert sum(count.values()) == len(sampler) == 126
    assert count == {0: 79, 1: 39, 2: 8}


@pytest.mark.parametrize("temperature", [1.0, 1.5, 3.0, float("inf")])
def test_shares_add_up_and_leave_nobody_out(temperature):
    blocks = np.array([1_000_000, 1, 37, 0, 5_000])
    shares = _shared_out(blocks, blocks ** (1 / temperature))
    assert shares.sum() >= blocks.sum()
    assert shares.sum() <= blocks.sum() + 3
    assert ((shares > 0) == (blocks > 0)).all()


def test_a_dataset_that_is_gone_through_again_gives_new_batches():
    """Would catch a second pass with the batches of the first, and passes that epochs share."""
    sampler = mixed(8, 400, temperature=4)  # two batches an epoch, taken about forty times
    of = [{tuple(batch) for batch in batches(sampler, epoch) if batch[0] < 8} for epoch in range(2)]
    assert len(of[0]) > 20
    assert len(of[0] & of[1]) < 5  # as many as chance has it


def test_evaluation_takes_every_row_once_whatever_the_temperature():
    parts = datasets(10, 30)
    samplers = [DefaultBatchSampler(SequentialSampler(part), B, False) for part in parts]
    drawn = batches(RankAlignedMixing(temperature=5)(ConcatDataset(parts), samplers))
    assert sorted(row for batch in drawn for row in batch) == list(range(40))


def test_a_dataset_that_fills_no_batch_is_passed_over():
    parts = datasets(2, 12)
    samplers = [DefaultBatchSampler(SequentialSampler(part), B, True) for part in parts]
    assert len(batches(RankAlignedBatchSampler(ConcatDataset(parts), samplers))) == 3


def test_shares_say_how_many_batches_each_dataset_gives():
    """Catches shares of the batches of each dataset, in place of those of the run."""
    sampler = mixed(400, 100, 4, shares=(1, 2, 1))  # 126 batches in all
    assert sampler.blocks.tolist() == [32, 63, 31]
    assert Counter(owners(sampler, batches(sampler))) == {0: 32, 1: 63, 2: 31}


@pytest.mark.parametrize(
    "options",
    [
        {"shares": (1, 2)},
        {"shares": (1, 0, 1)},
        {"shares": (1, 1, float("nan"))},
        {"shares": (1, 1, 1), "temperature": 2},
    ],
)
def test_shares_that_do_not_fit_are_refused(options):
    with pytest.raises(InputError, match="shares must be 3 numbers above 0, one for each dataset, without a temp"):
        mixed(400, 100, 4, **options)


def test_shares_and_a_temperature_are_refused_before_there_are_data():
    with pytest.raises(InputError, match="^temperature must be 1 with shares, found 2"):
        RankAlignedMixing(temperature=2.0, shares=(1, 1))


@pytest.mark.parametrize("temperature", [0.5, 0.0, -1.0, float("nan")])
def test_a_temperature_below_one_is_refused(temperature):
    with pytest.raises(InputError, match="temperature must be a number of at least 1"):
        mixed(16, 16, temperature=temperature)


def test_one_dataset_object_under_two_names_is_refused():
    """Would catch training one loss on everything: sentence-transformers writes the last name into the shared object."""
    (part,) = datasets(16)
    with pytest.raises(InputError, match="two names share one dataset object"):
        RankAlignedMixing()(ConcatDataset([part, part]), [ShuffledBatchSampler(part, B)] * 2)


def test_the_batches_of_sentence_transformers_depend_on_seed_and_epoch_alone():
    """Catches a resumed epoch of other batches: random samplers draw from a generator that no one seeds."""

    def sampler() -> RankAlignedBatchSampler:
        generator = torch.Generator().manual_seed(3)
        parts = datasets(16, 8)
        made = [DefaultBatchSampler(RandomSampler(part, generator=generator), B, True) for part in parts]
        return RankAlignedBatchSampler(ConcatDataset(parts), made, generator, seed=3)

    gone_on, resumed = sampler(), sampler()
    assert batches(gone_on) != batches(resumed, 1) == batches(gone_on, 1)


def test_batches_that_a_sampler_announces_and_does_not_make_are_named():
    """Catches a training that waits forever: equal rows, of which no batch without duplicates can be made."""
    parts = datasets(8, 8)
    parts[1] = parts[1].map(lambda row: {"text": "equal"})
    made = [NoDuplicatesBatchSampler(part, B, True, generator=torch.Generator(), seed=0) for part in parts]
    with pytest.raises(InputError, match="^dataset 2 of 2: its NoDuplicatesBatchSampler makes no batch of 4 rows"):
        list(RankAlignedBatchSampler(ConcatDataset(parts), made))
