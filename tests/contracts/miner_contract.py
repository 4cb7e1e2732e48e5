"""What every miner has to do, as tests that its own test class inherits."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor

from st_biomed.losses import miners
from st_biomed.losses.similarity import unit_rows


def cosines(embeddings: Tensor) -> Tensor:
    unit = unit_rows(embeddings)
    return unit @ unit.T


def all_pairs(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Positives without the diagonal, and negatives."""
    same = labels[:, None] == labels[None, :]
    return same & ~torch.eye(len(labels), dtype=torch.bool), ~same


class MinerContract:
    """Inherit as ``TestXContract`` and name the class.

    Attributes:
        miner_class: The class under contract.
        arguments: Its arguments.
    """

    miner_class: ClassVar[Any]
    arguments: ClassVar[dict[str, Any]] = {}

    @pytest.fixture
    def miner(self) -> miners.Miner:
        return type(self).miner_class(**self.arguments)

    def batch(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        generator = torch.Generator().manual_seed(5)
        embeddings = torch.randn(20, 4, generator=generator, dtype=torch.float64, requires_grad=True)
        labels = torch.randint(0, 7, (20,), generator=generator)
        return embeddings, cosines(embeddings), *all_pairs(labels)

    def test_some_pairs_are_kept_and_only_pairs_that_were_given(self, miner):
        embeddings, similarities, positives, negatives = self.batch()
        kept = miner(embeddings, similarities, positives, negatives)
        for mask, given in zip(kept, (positives, negatives)):
            assert mask.dtype == torch.bool and mask.any() and not (mask & ~given).any() and not mask.requires_grad

    def test_arguments_stay_as_they_are(self, miner):
        """Would catch a mask or a distance matrix that is filled in place."""
        given = self.batch()
        copies = [tensor.detach().clone() for tensor in given]
        miner(*given)
        assert all(torch.equal(tensor, copy) for tensor, copy in zip(given, copies))

    def test_order_of_the_rows_does_not_matter(self, miner):
        embeddings, similarities, positives, negatives = (tensor.detach() for tensor in self.batch())
        order = torch.randperm(20, generator=torch.Generator().manual_seed(6))
        kept = miner(embeddings, similarities, positives, negatives)
        shuffled = miner(embeddings[order], *(m[order][:, order] for m in (similarities, positives, negatives)))
        assert all(torch.equal(a[order][:, order], b) for a, b in zip(kept, shuffled))

    def test_blocks_of_rows_do_not_matter(self, miner, monkeypatch):
        """Would catch lengths or masks of one block used for another."""
        batch = self.batch()
        whole = miner(*batch)
        monkeypatch.setattr(miners, "row_blocks", lambda matrix: [slice(i, i + 3) for i in range(0, len(matrix), 3)])
        assert all(torch.equal(a, b) for a, b in zip(whole, miner(*batch)))

    @pytest.mark.parametrize("labels", [[0], [0, 0, 0], [0, 1, 2]], ids=["one row", "one class", "no positives"])
    def test_rows_without_a_positive_or_a_negative_mine_nothing(self, miner, labels):
        embeddings = torch.randn(len(labels), 4, generator=torch.Generator().manual_seed(7))
        kept = miner(embeddings, cosines(embeddings), *all_pairs(torch.tensor(labels)))
        assert not kept[0].any() and not kept[1].any()

    def test_config_names_the_miner(self, miner):
        config = miner.get_config_dict()
        assert config["miner"] == type(miner).__name__ and json.loads(json.dumps(config)) == config
