"""Losses of pytorch-metric-learning: on plain classes the library's own values, on our pairs those of a loop."""

from __future__ import annotations

import builtins
import math
from itertools import product

import pytest
import torch
from pytorch_metric_learning import distances, losses, reducers
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.losses.circle import CircleLoss
from st_biomed.losses.cosine import CosineLoss
from st_biomed.losses.generalized_lifted_structure import GeneralizedLiftedStructureLoss
from st_biomed.losses.max_margin_triplet import MaxMarginTripletLoss, triplets
from st_biomed.losses.miners import TripletMarginMiner
from tests.contracts.loss_contract import LossContract
from tests.losses.pair_batches import CLASSES, NOTHING_MINED, VECTORS, batches, pairs_of, unit

PEERS = {
    CircleLoss: losses.CircleLoss(),
    GeneralizedLiftedStructureLoss: losses.GeneralizedLiftedStructureLoss(),
    MaxMarginTripletLoss: losses.TripletMarginLoss(),
    CosineLoss: losses.ContrastiveLoss(
        pos_margin=1, neg_margin=0, distance=distances.CosineSimilarity(), reducer=reducers.MeanReducer()
    ),
}


class TestCircleLossContract(LossContract):
    loss_class = CircleLoss
    nothing_to_learn = NOTHING_MINED

    def test_gradient_is_the_derivative_of_the_value(self, loss):
        """Of the value with its weights held: Eq. 6's weights take no gradient (Sun et al. 2020, section 3.1)."""
        embeddings, labels = self.batch()
        value = self.value(loss, embeddings, labels)
        (gradient,) = torch.autograd.grad(value, embeddings)
        cosines = unit(embeddings) @ unit(embeddings).T
        near, far = loss.miner(embeddings, cosines.detach(), *pairs_of(labels))
        pull = -80 * (1.4 - cosines).clamp(min=0).detach() * (cosines - 0.6)
        push = 80 * (cosines + 0.4).clamp(min=0).detach() * (cosines - 0.4)
        sums = [torch.where(mask, x, -1e30).logsumexp(1) for mask, x in ((near, pull), (far, push))]
        rows = torch.nn.functional.softplus(sums[0] + sums[1])[near.any(1) & far.any(1)]
        (expected,) = torch.autograd.grad(rows.mean(), embeddings)
        torch.testing.assert_close(value, rows.mean())
        torch.testing.assert_close(gradient, expected)


class TestGeneralizedLiftedStructureLossContract(LossContract):
    loss_class = GeneralizedLiftedStructureLoss
    nothing_to_learn = NOTHING_MINED


class TestMaxMarginTripletLossContract(LossContract):
    loss_class = MaxMarginTripletLoss
    arguments = {"margin": 0.5, "miner": None}
    nothing_to_learn = NOTHING_MINED


class TestCosineLossContract(LossContract):
    loss_class = CosineLoss
    nothing_to_learn = NOTHING_MINED


def results(loss, embeddings: Tensor, *arguments) -> tuple[Tensor, Tensor]:
    rows = embeddings.detach().clone().requires_grad_()
    value = loss(rows, *arguments)
    value.backward()
    return value.detach(), rows.grad


@pytest.mark.parametrize("loss_class", PEERS)
def test_on_plain_classes_it_is_the_library_with_its_defaults(loss_class):
    """Catches another default than the published code's, and pairs or triplets listed in another way than by labels."""
    ours = loss_class(None, miner=None)
    for embeddings, labels in batches():
        found = results(lambda rows, y: ours.compute_loss_from_embeddings([rows], y), embeddings, labels)
        expected = results(PEERS[loss_class], embeddings, labels)
        torch.testing.assert_close(found, expected, atol=1e-7, rtol=1e-6)


def test_triplets_are_all_there_are():
    """Catches a positive joined with the negatives of another row."""
    for embeddings, labels in batches():
        positives, negatives = TripletMarginMiner(0.05)(
            embeddings, (unit(embeddings) @ unit(embeddings).T).detach(), *pairs_of(labels)
        )
        found = list(zip(*(column.tolist() for column in triplets(positives, negatives))))
        expected = [(i, p, n) for i, p, n in product(range(13), repeat=3) if positives[i, p] and negatives[i, n]]
        assert found == expected


def test_a_miner_with_a_larger_margin_does_not_change_the_triplet_loss():
    """Mining drops only triplets that cost nothing; would catch pairs mined for other anchors."""
    for embeddings, labels in batches():
        values = [
            MaxMarginTripletLoss(None, 0.05, miner=miner).compute_loss_from_embeddings([embeddings], labels)
            for miner in (None, TripletMarginMiner(0.2))
        ]
        torch.testing.assert_close(*values)


def test_reductions_are_those_of_the_triplets():
    """Catches a reducer of another name; distances by hand: d01 = sqrt(.4), d02 = sqrt 2, d03 = d12 = sqrt .8, d13 = sqrt .08."""
    near, side, close = math.sqrt(0.4), math.sqrt(0.8), math.sqrt(0.08)
    costs = [near - far + 0.5 for far in (math.sqrt(2), side, side, close)] * 2
    costs = [max(0.0, cost) for cost in costs]
    for reduction, expected in (
        ("sum", sum(costs)),
        ("mean_all", sum(costs) / 8),
        ("mean_nonzero", sum(costs) / sum(cost > 0 for cost in costs)),
    ):
        loss = MaxMarginTripletLoss(None, 0.5, miner=None, reduction=reduction)
        value = loss.compute_loss_from_embeddings([VECTORS], CLASSES).item()
        assert value == pytest.approx(expected, abs=1e-6)


def test_golden_numbers_of_the_cosine_loss():
    """By hand: 1 - .8 over positives, and the mean of 0, .6, .6 and .96 over negatives."""
    loss = CosineLoss(None, miner=None).compute_loss_from_embeddings([VECTORS], CLASSES)
    assert loss.item() == pytest.approx(0.2 + (0.6 + 0.6 + 0.96) / 4, abs=1e-9)


def test_without_the_library_the_error_names_the_extra(monkeypatch):
    """Catches an ImportError of a module that the person never asked for."""
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.startswith("pytorch_metric_learning"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(InputError, match=r"pip install 'st-biomed\[ablation\]'"):
        CircleLoss(None)
