"""The lifted structure loss: golden numbers, a double loop and the peer's values in a fraction of its memory."""

from __future__ import annotations

import math

import pytest
import torch
from pytorch_metric_learning.losses import LiftedStructureLoss as PeerLoss

from st_biomed.losses.lifted_structure import LiftedStructureLoss
from st_biomed.losses.miners import TripletMarginMiner
from tests.contracts.loss_contract import LossContract
from tests.losses.pair_batches import CLASSES, NOTHING_MINED, VECTORS, batches, pairs_of, unit


class TestLiftedStructureLossContract(LossContract):
    loss_class = LiftedStructureLoss
    nothing_to_learn = NOTHING_MINED


class TestAllPairsContract(LossContract):
    loss_class = LiftedStructureLoss
    arguments = {"miner": None, "margin": 0.5, "positive_margin": 0.1, "reduction": "sum"}
    nothing_to_learn = NOTHING_MINED


def test_golden_numbers():
    """By hand: the distances of both pairs are sqrt(.4), of the negatives sqrt(2), sqrt(.8), sqrt(.8) and sqrt(.08)."""
    far = sum(math.exp(1 - math.sqrt(x)) for x in (2, 0.8, 0.8, 0.08))
    expected = (math.log(far) + math.sqrt(0.4)) ** 2 / 2
    loss = LiftedStructureLoss(None, miner=None).compute_loss_from_embeddings([VECTORS], CLASSES)
    assert loss.item() == pytest.approx(expected, abs=1e-9)
    assert loss.item() == pytest.approx(2.482508, abs=1e-6)


def test_a_double_loop_gives_the_same():
    """Catches negatives of the anchor alone, a hinge without its square, and a mean over texts."""
    miner = TripletMarginMiner(0.1)
    for embeddings, labels in batches():
        z = unit(embeddings).detach()
        kept = miner(embeddings, z @ z.T, *pairs_of(labels))
        d = [[(a - b).norm().item() for b in z] for a in z]
        losses = []
        for i, p in kept[0].nonzero().tolist():
            far = sum(math.exp(0.7 - d[x][n]) for x in (i, p) for n in range(13) if kept[1][x, n])
            losses.append(max(0.0, math.log(far) + d[i][p] - 0.2) ** 2 / 2)
        loss = LiftedStructureLoss(None, 0.7, 0.2, miner=miner)
        value = loss.compute_loss_from_embeddings([embeddings], labels).item()
        assert value == pytest.approx(sum(losses) / max(1, len(losses)), abs=1e-9)


def test_value_and_gradient_are_the_peers():
    for embeddings, labels in batches():
        if (labels == labels[0]).all():
            continue
        mine, theirs = embeddings.detach().clone().requires_grad_(), embeddings.detach().clone().requires_grad_()
        found = LiftedStructureLoss(None, miner=None).compute_loss_from_embeddings([mine], labels)
        expected = PeerLoss()(theirs, labels)
        torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)
        found.backward()
        expected.backward()
        torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-8, rtol=1e-6)
