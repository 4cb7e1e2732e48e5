"""NCA: golden numbers, a double loop and the peer's values."""

from __future__ import annotations

import math

import pytest
import torch
from pytorch_metric_learning.losses import NCALoss as PeerLoss

from st_biomed.losses.miners import TripletMarginMiner
from st_biomed.losses.nca import NCALoss
from tests.contracts.loss_contract import LossContract
from tests.losses.pair_batches import CLASSES, NOTHING_MINED, VECTORS, batches, pairs_of, unit


class TestNCALossContract(LossContract):
    loss_class = NCALoss
    nothing_to_learn = NOTHING_MINED


class TestAllPairsContract(LossContract):
    loss_class = NCALoss
    arguments = {"miner": None, "scale": 4.0, "reduction": "mean_all"}
    nothing_to_learn = NOTHING_MINED


def test_golden_numbers():
    """By hand, from squared distances .4, 2, .8 of row 0 and .4, .8, .08 of row 1; rows 2 and 3 mirror them."""
    outer = math.log(1 + math.exp(0.4 - 2) + math.exp(0.4 - 0.8))
    inner = math.log(1 + math.exp(0.4 - 0.8) + math.exp(0.4 - 0.08))
    loss = NCALoss(None, miner=None).compute_loss_from_embeddings([VECTORS], CLASSES)
    assert loss.item() == pytest.approx((outer + inner) / 2, abs=1e-9)
    assert loss.item() == pytest.approx(0.870714, abs=1e-6)


def test_a_double_loop_gives_the_same():
    """Catches distances that are not squared, a share of the positives alone, and rows without a synonym."""
    miner = TripletMarginMiner(0.1)
    for embeddings, labels in batches():
        z = unit(embeddings).detach()
        kept = miner(embeddings, z @ z.T, *pairs_of(labels))
        rows = []
        for i in range(13):
            weight = [math.exp(-2.5 * (z[i] - z[j]).square().sum().item()) for j in range(13)]
            near = sum(w for j, w in enumerate(weight) if kept[0][i, j])
            every = sum(w for j, w in enumerate(weight) if kept[0][i, j] or kept[1][i, j])
            rows.append(-math.log(near / every) if near else 0.0)
        loss = NCALoss(None, 2.5, miner=miner, reduction="sum")
        value = loss.compute_loss_from_embeddings([embeddings], labels).item()
        assert value == pytest.approx(sum(rows), abs=1e-9)


def test_value_and_gradient_are_the_peers():
    for embeddings, labels in batches():
        mine, theirs = embeddings.detach().clone().requires_grad_(), embeddings.detach().clone().requires_grad_()
        found = NCALoss(None, miner=None).compute_loss_from_embeddings([mine], labels)
        expected = PeerLoss(softmax_scale=1)(theirs, labels)
        torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)
        found.backward()
        expected.backward()
        torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-8, rtol=1e-6)
