"""What every batch sampler has to do, as tests that its own test class inherits."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
import torch

from st_biomed.errors import InputError


def batches(sampler, epoch: int = 0) -> list[list[int]]:
    """The batches of an epoch."""
    sampler.set_epoch(epoch)
    return list(sampler)


class BatchContract:
    """Inherit as ``TestXContract``, name the class, and say how to make one of at least three batches.

    Attributes:
        sampler_class: The class under contract.
        batch_size: Rows of every batch.
    """

    sampler_class: ClassVar[type]
    batch_size: ClassVar[int] = 16

    def make(self, seed: int = 0):
        """A new sampler with that seed."""
        raise NotImplementedError

    def make_too_large(self):
        """Ask for a sampler whose batch size its dataset cannot fill."""
        raise NotImplementedError

    def test_every_batch_has_exactly_batch_size_rows(self):
        """Would catch a short or long batch, which a gathering loss cannot take."""
        for epoch in range(3):
            assert {len(batch) for batch in batches(self.make(), epoch)} == {self.batch_size}

    def test_rows_are_plain_integers_of_the_dataset(self):
        sampler = self.make()
        rows = [row for batch in batches(sampler) for row in batch]
        assert {type(row) for row in rows} == {int}
        assert 0 <= min(rows) <= max(rows) < len(sampler.dataset)

    def test_length_is_exact_and_the_same_in_every_epoch(self):
        """Would catch a length that is an estimate: sentence-transformers fixes the schedule from it once."""
        sampler = self.make()
        assert len(sampler) >= 3
        assert {len(batches(sampler, epoch)) for epoch in range(4)} == {len(sampler)}

    def test_seed_and_epoch_alone_decide(self):
        """Would catch a global random state, which differs between processes, and state left by earlier epochs."""
        np.random.seed(1)
        torch.manual_seed(1)
        first = self.make()
        expected = batches(first, 2)
        np.random.seed(2)
        torch.manual_seed(2)
        second = self.make()
        batches(second, 5)
        assert batches(second, 2) == expected == batches(first, 2)

    def test_epochs_and_seeds_differ(self):
        """Would catch an epoch that is never heard of."""
        drawn = [batches(self.make(), 0), batches(self.make(), 1), batches(self.make(seed=1), 0)]
        assert drawn[0] != drawn[1] and drawn[0] != drawn[2] and drawn[1] != drawn[2]

    def test_set_epoch_may_come_twice(self):
        """Would catch an epoch that counts calls: sentence-transformers sets it twice."""
        sampler = self.make()
        sampler.set_epoch(1)
        assert batches(sampler, 1) == batches(self.make(), 1)

    def test_a_batch_size_that_cannot_be_filled_is_refused(self):
        with pytest.raises(InputError, match="batch"):
            self.make_too_large()
