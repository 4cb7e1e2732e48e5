"""InfoNCE: golden numbers, a double loop, the peer's values, and the cached form."""

from __future__ import annotations

import math

import pytest
import torch
from pytorch_metric_learning.losses import NTXentLoss

from st_biomed.losses.cached import CachedInfoNCELoss
from st_biomed.losses.info_nce import InfoNCELoss
from st_biomed.losses.miners import TripletMarginMiner
from tests.contracts.loss_contract import LossContract
from tests.losses.pair_batches import CLASSES, NOTHING_MINED, VECTORS, batches, pairs_of, unit


class TestInfoNCELossContract(LossContract):
    loss_class = InfoNCELoss
    nothing_to_learn = NOTHING_MINED


class TestAllPairsContract(LossContract):
    loss_class = InfoNCELoss
    arguments = {"miner": None, "temperature": 0.5, "reduction": "sum"}
    nothing_to_learn = NOTHING_MINED


class TestCachedInfoNCELossContract(LossContract):
    loss_class = CachedInfoNCELoss
    nothing_to_learn = NOTHING_MINED


def test_golden_numbers():
    """By hand, from the cosines: .8 with 0 and .6 against it for rows 0 and 2, with .6 and .96 for rows 1 and 3."""
    outer = math.log(1 + math.exp(-0.8) + math.exp(0.6 - 0.8))
    inner = math.log(1 + math.exp(0.6 - 0.8) + math.exp(0.96 - 0.8))
    loss = InfoNCELoss(None, 1.0, miner=None).compute_loss_from_embeddings([VECTORS], CLASSES)
    assert loss.item() == pytest.approx((outer + inner) / 2, abs=1e-9)
    assert loss.item() == pytest.approx(0.957474, abs=1e-6)


def test_a_double_loop_gives_the_same():
    """Catches other synonyms in a denominator, a self-pair, and a mean over pairs where one over texts is meant."""
    miner = TripletMarginMiner(0.1)
    for embeddings, labels in batches():
        s = (unit(embeddings) @ unit(embeddings).T).detach()
        kept = miner(embeddings, s, *pairs_of(labels))
        rows = []
        for i in range(len(labels)):
            near = [s[i, p].item() for p in range(13) if kept[0][i, p]]
            far = sum(math.exp(s[i, n].item() / 0.3) for n in range(13) if kept[1][i, n])
            losses = [-math.log(math.exp(x / 0.3) / (math.exp(x / 0.3) + far)) for x in near]
            rows.append(sum(losses) / max(1, len(losses)))
        for reduction, expected in (
            ("sum", sum(rows)),
            ("mean_all", sum(rows) / 13),
            ("mean_nonzero", sum(rows) / max(1, sum(row > 0 for row in rows))),
        ):
            loss = InfoNCELoss(None, 0.3, miner=miner, reduction=reduction)
            assert loss.compute_loss_from_embeddings([embeddings], labels).item() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("size", [2, 3])
def test_value_and_gradient_are_the_peers(size):
    """With as many names of every concept, a mean over texts is the peer's mean over pairs."""
    generator = torch.Generator().manual_seed(5)
    embeddings = torch.randn(24, 6, generator=generator, dtype=torch.float64)
    labels = torch.arange(24) // size
    mine, theirs = embeddings.clone().requires_grad_(), embeddings.clone().requires_grad_()
    found = InfoNCELoss(None, miner=None).compute_loss_from_embeddings([mine], labels)
    expected = NTXentLoss(temperature=0.07)(theirs, labels)
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)
    found.backward()
    expected.backward()
    torch.testing.assert_close(mine.grad, theirs.grad, atol=1e-9, rtol=1e-7)


def test_the_cached_form_has_the_same_gradients(tiny_bert):
    """Catches labels that stay behind when the rows are sorted by length."""
    tiny_bert.double()
    names = ["flu", "acute of the disease", "zoster", "other", "type 2 disease of the ear", "gout"]
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    results = []
    for loss in (InfoNCELoss(tiny_bert, miner=None), CachedInfoNCELoss(tiny_bert, miner=None, mini_batch_size=2)):
        tiny_bert.zero_grad()
        value = loss([dict(tiny_bert.preprocess(names))], labels)
        value.backward()
        gradients = {name: p.grad.clone() for name, p in tiny_bert.named_parameters() if p.grad is not None}
        assert max(gradient.abs().max() for gradient in gradients.values()) > 1e-3
        results.append((value.detach(), gradients))
    torch.testing.assert_close(*results, atol=1e-6, rtol=0)
