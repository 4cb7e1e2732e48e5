"""Samplers keep their epoch when training is resumed."""

from __future__ import annotations

from types import SimpleNamespace

from transformers import TrainerState

from st_biomed.samplers import EpochCallback


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
