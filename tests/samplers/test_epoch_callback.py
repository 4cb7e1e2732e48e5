"""Samplers keep their epoch when training is resumed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from transformers import TrainerState

from st_biomed.errors import InputError
from st_biomed.samplers import EpochCallback, GraphCollator, SynonymBatches, SynonymBatchSampler
from st_biomed.terminology import Terminology
from st_biomed.training_data import names_dataset


class Sampler:
    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch


class Mixing(Sampler):
    def __init__(self, *samplers: Sampler) -> None:
        self.batch_samplers = samplers


def shard(sampler: object) -> SimpleNamespace:
    """What deals the batches to the processes: it has no epoch of its own."""
    return SimpleNamespace(batch_sampler=sampler)


def begin_training(batch_sampler: object, dataset: object, args: object = None, collator: object = None) -> None:
    dataloader = SimpleNamespace(batch_sampler=shard(shard(batch_sampler)), dataset=dataset, collate_fn=collator)
    EpochCallback().on_train_begin(args, TrainerState(), None, train_dataloader=dataloader)


def begin(batch_sampler: object, epoch: float | None) -> None:
    dataloader = SimpleNamespace(batch_sampler=batch_sampler)
    EpochCallback().on_epoch_begin(None, TrainerState(epoch=epoch), None, train_dataloader=dataloader)


def test_samplers_get_their_epoch_through_every_wrapper():
    """Would catch a resumed epoch that draws the batches of epoch 0 again."""
    inner = Sampler(), Sampler()
    mixing = Mixing(*inner)
    begin(shard(shard(mixing)), 2.4)
    assert [sampler.epoch for sampler in (mixing, *inner)] == [2, 2, 2]


def test_the_first_epoch_is_zero_and_other_samplers_are_let_be():
    sampler = Sampler()
    sampler.epoch = 5
    begin(shard(sampler), None)
    assert sampler.epoch == 0
    begin(shard(object()), 1.0)
    begin(None, 1.0)


def test_rows_in_order_are_not_trained_on():
    """Catches a shuffled or mapped training set, whose rows would be taken as they come: no two names of a concept in a batch."""
    terminology = Terminology.read("toy")
    dataset = names_dataset(terminology)
    make = SynonymBatches.of(terminology)
    fitting, other = (make(rows, 16, drop_last=True) for rows in (dataset, dataset.shuffle(seed=1)))

    begin_training(fitting, dataset)
    for refused in (other, Mixing(fitting, other)):
        with pytest.raises(InputError, match="the training dataset is not the one that the batches were made for"):
            begin_training(refused, dataset)


def test_an_iterable_dataset_is_not_trained_on():
    """Catches rows that are taken as they come, because the batches of an iterable dataset are its own."""
    rows = names_dataset(Terminology.read("toy")).to_iterable_dataset()
    with pytest.raises(InputError, match="^train_dataset must have a length"):
        begin_training(None, rows)


def test_prompts_that_a_collator_drops_are_refused():
    collator = SimpleNamespace(takes_prompts=GraphCollator.takes_prompts)
    with pytest.raises(InputError, match="^prompts must be None with SimpleNamespace, found 'query: '"):
        begin_training(None, [], SimpleNamespace(prompts="query: "), collator)
    begin_training(None, [], SimpleNamespace(prompts=None), collator)
    begin_training(None, [], SimpleNamespace(prompts="query: "), SimpleNamespace())


def test_a_sampler_is_no_factory_of_samplers():
    """Catches an object that the trainer cannot call and would replace by batches of one row."""
    terminology = Terminology.read("toy")
    made = SynonymBatchSampler(names_dataset(terminology), 16, terminology=terminology)
    with pytest.raises(InputError, match=r"batch_sampler: found a SynonymBatchSampler; .* SynonymBatches.of"):
        made(names_dataset(terminology), 16, False)
