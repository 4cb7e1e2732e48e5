"""MS loss v3: its contracts, golden numbers, the case table, and a double loop, with K given."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.losses.cached import CachedKGEMarginMultiSimilarityLoss
from st_biomed.losses.kge_margin_multi_similarity import KGEMarginMultiSimilarityLoss
from st_biomed.losses.miners import MultiSimilarityMiner, TripletMarginMiner
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from tests.contracts.loss_contract import LossContract
from tests.losses.bird_graph import BIRDS, GRAPH, graph_similarity, value
from tests.losses.pair_batches import CLASSES, NOTHING_MINED, VECTORS, batches, pairs_of, unit

GOLDEN_K = torch.tensor([[1, 1, 0.3, 0.5], [1, 1, 0.3, 0.5], [0.3, 0.3, 1, 1], [0.5, 0.5, 1, 1]], dtype=torch.float64)


class GivenSimilarity(LossContract):
    """The contract of the loss with K given in every call."""

    loss_class = KGEMarginMultiSimilarityLoss
    arguments = {"kge": None}
    nothing_to_learn = NOTHING_MINED

    def value(self, loss, embeddings, labels):
        return loss.compute_loss_from_embeddings([embeddings], labels, kge_similarity=graph_similarity(labels))


class TestKGEMarginContract(GivenSimilarity):
    pass


class TestKGEMarginAllPairsContract(GivenSimilarity):
    arguments = {"kge": None, "miner": None, "missing": "v1", "kge_clip": (0.0, 1.0), "reduction": "sum"}
    nothing_to_learn = {"one row": [3]}


class TestKGEMarginDetachedContract(GivenSimilarity):
    arguments = {"kge": None, "miner": TripletMarginMiner(0.2), "detach_margin": True, "reduction": "mean_nonzero"}

    def test_gradient_is_the_derivative_of_the_value(self, loss):
        """It is not, by intent; catches a margin that has a gradient. What it is instead is tested below."""
        embeddings, labels = self.batch()
        assert not torch.autograd.gradcheck(
            lambda rows: self.value(loss, rows, labels), embeddings, raise_exception=False
        )


class TestKGEMarginTableContract(LossContract):
    """The classes of the contract as text ids; the same string twice is a positive pair here."""

    loss_class = KGEMarginMultiSimilarityLoss
    arguments = {"kge": GRAPH, "lookup": BIRDS, "mask_same_text": False}
    nothing_to_learn = {"one row": [3], "one text": [3, 3, 3]}


class TestCachedKGEMarginContract(TestKGEMarginTableContract):
    loss_class = CachedKGEMarginMultiSimilarityLoss


@pytest.mark.parametrize("detached", [False, True])
def test_golden_number(detached):
    loss = KGEMarginMultiSimilarityLoss(None, None, detach_margin=detached)
    assert value(loss, VECTORS, CLASSES, GOLDEN_K).item() == pytest.approx(0.275821, abs=1e-6)


def exponents(s: Tensor, k: Tensor, *, detached: bool = False) -> tuple[Tensor, Tensor]:
    """What stands behind -alpha and beta in Eq. 3, left to autograd."""
    margin = (s - k).abs()
    margin = margin.detach() if detached else margin
    return s - margin, s - (1 - margin)


def by_double_loop(s: Tensor, kept: tuple[Tensor, Tensor], k: Tensor, settings: dict[str, Any]) -> list[Tensor]:
    """Each row's loss from Eq. 3, one pair after the other; missing pairs with the thresholds of v2 or v1."""
    alpha, beta = settings["alpha"], settings["beta"]
    bases = {"v2": (1.0, 0.5), "v1": (0.5, 0.5)}.get(settings["missing"])
    losses = []
    for i in range(len(s)):
        pull = push = s[i, i] * 0
        for j in range(len(s)):
            if not (kept[0][i, j] or kept[1][i, j]):
                continue
            if k[i, j].isnan():
                if bases is None:
                    continue
                near, far = s[i, j] - bases[0], s[i, j] - bases[1]
            else:
                near, far = exponents(s[i, j], k[i, j], detached=settings["detach_margin"])
            if kept[0][i, j]:
                pull = pull + torch.exp(-alpha * near)
            else:
                push = push + torch.exp(beta * far)
        losses.append(torch.log(1 + pull) / alpha + torch.log(1 + push) / beta)
    return losses


@pytest.mark.long
@pytest.mark.parametrize("detached", [False, True], ids=["literal", "detached"])
@pytest.mark.parametrize("missing", ["v2", "v1", "skip"])
@pytest.mark.parametrize("miner", [None, MultiSimilarityMiner(0.1)], ids=str)
def test_a_double_loop_gives_the_same_value_and_gradient(miner, missing, detached):
    """Catches a case of the table with another's slope or constant, thresholds mixed up, and K of the wrong pair."""
    settings = {"alpha": 2.0, "beta": 9.0, "missing": missing, "detach_margin": detached}
    for embeddings, labels in batches(9):
        k = graph_similarity(labels)
        s = unit(embeddings) @ unit(embeddings).T
        kept = pairs_of(labels) if miner is None else miner(embeddings, s.detach(), *pairs_of(labels))
        rows = torch.stack(by_double_loop(s, kept, k, settings))
        for reduction, expected in (
            ("mean_all", rows.mean()),
            ("sum", rows.sum()),
            ("mean_nonzero", rows.sum() / rows.count_nonzero().clamp(min=1)),
        ):
            loss = KGEMarginMultiSimilarityLoss(None, None, **settings, miner=miner, reduction=reduction)
            found = value(loss, embeddings, labels, k)
            torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)
            gradients = [torch.autograd.grad(v, embeddings, retain_graph=True)[0] for v in (found, expected)]
            torch.testing.assert_close(*gradients, atol=1e-9, rtol=1e-9)


def slope(cosine: float, k: float, *, positive: bool, detached: bool) -> float:
    """The derivative of a pair's exponent (without alpha and beta), from the gradient of the loss of two rows.

    The loss is ``log(1 + exp(-alpha g)) / alpha`` or ``log(1 + exp(beta g)) / beta``, of both rows.
    """
    angle = torch.tensor(math.acos(cosine), dtype=torch.float64, requires_grad=True)
    embeddings = torch.stack([torch.stack([angle.cos(), angle.sin()]), torch.tensor([1.0, 0.0]).double()])
    loss = KGEMarginMultiSimilarityLoss(None, None, 2, 3, miner=None, detach_margin=detached, reduction="sum")
    labels = torch.tensor([0, 0 if positive else 1])
    value(loss, embeddings, labels, torch.full((2, 2), k, dtype=torch.float64)).backward()
    near, far = exponents(*torch.tensor([cosine, k], dtype=torch.float64))
    weight = -torch.sigmoid(-2 * near) if positive else torch.sigmoid(3 * far)
    return (angle.grad / (2 * weight * -math.sin(math.acos(cosine)))).item()


@pytest.mark.parametrize(
    ("cosine", "k", "positive", "literal"),
    [(0.4, 0.7, True, 2), (0.7, 0.4, True, 0), (0.4, 0.7, False, 0), (0.7, 0.4, False, 2)],
)
def test_the_case_table(cosine, k, positive, literal):
    """Catches a pair that is pushed past K, and a stop of the gradient where none is meant (or the other way round)."""
    assert slope(cosine, k, positive=positive, detached=False) == pytest.approx(literal, abs=1e-9)
    assert slope(cosine, k, positive=positive, detached=True) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("positive", [True, False])
@pytest.mark.parametrize("detached", [True, False])
def test_where_both_similarities_are_equal_the_slope_is_one(positive, detached):
    """The edge of the table, as autograd has it: catches a pair there that is counted twice or in no case."""
    embeddings = torch.tensor([[1.0, 0.0], [0.5, 0.75**0.5]], dtype=torch.float64, requires_grad=True)
    s = (unit(embeddings.detach()) @ unit(embeddings.detach()).T)[0, 1].item()
    k = torch.full((2, 2), s, dtype=torch.float64)
    loss = KGEMarginMultiSimilarityLoss(None, None, miner=None, detach_margin=detached, reduction="sum")
    labels = torch.tensor([0, 0 if positive else 1])
    found = value(loss, embeddings, labels, k)
    plain = MultiSimilarityLoss(None, miner=None, positive_base=0, negative_base=1, reduction="sum")
    expected = plain.compute_loss_from_embeddings([embeddings], labels)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(v, embeddings)[0] for v in (found, expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_without_any_similarity_it_is_the_loss_with_fixed_margins(version):
    """Catches a fall-back with doubled slopes, or with the thresholds of the other version."""
    plain = MultiSimilarityLoss.from_preset(None, f"italian_{version}")
    loss = KGEMarginMultiSimilarityLoss(None, None, missing=version)
    for embeddings, labels in batches():
        k = torch.full((13, 13), torch.nan, dtype=torch.float64)
        found, expected = value(loss, embeddings, labels, k), plain.compute_loss_from_embeddings([embeddings], labels)
        torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-12)
        gradients = [torch.autograd.grad(v, embeddings)[0] for v in (found, expected)]
        torch.testing.assert_close(*gradients, atol=1e-12, rtol=1e-12)


def test_negatives_unrelated_in_the_graph_turn_around_a_half():
    """K = 0: the threshold of v1 with twice its slope, for cosines above 0."""
    embeddings = torch.rand(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.arange(9)
    loss = KGEMarginMultiSimilarityLoss(None, None, 2, 10, miner=None)
    k = torch.zeros(9, 9, dtype=torch.float64)
    plain = MultiSimilarityLoss(None, 2, 20, miner=None).compute_loss_from_embeddings([embeddings], labels)
    torch.testing.assert_close(value(loss, embeddings, labels, k), 2 * plain)


@pytest.mark.long
@given(
    seed=st.integers(0, 10**6), rows=st.integers(1, 9), classes=st.integers(1, 5), share=st.sampled_from([0, 0.5, 1])
)
def test_any_batch_is_finite_and_detaching_keeps_the_value(seed, rows, classes, share):
    """Catches NaN of missing pairs in value or gradient, and a margin that changes when it is detached."""
    generator = torch.Generator().manual_seed(seed)
    embeddings = torch.randn(rows, 3, generator=generator, requires_grad=True)
    labels = torch.randint(0, classes, (rows,), generator=generator)
    k = torch.rand(rows, rows, generator=generator) * 2 - 1
    k[torch.rand(rows, rows, generator=generator) < share] = torch.nan
    values = []
    for detached in (False, True):
        loss = KGEMarginMultiSimilarityLoss(None, None, detach_margin=detached)
        values.append(value(loss, embeddings, labels, k))
        (gradient,) = torch.autograd.grad(values[-1], embeddings)
        assert values[-1].isfinite() and values[-1] >= 0 and gradient.isfinite().all()
    torch.testing.assert_close(*values, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (None, "either kge or kge_similarity must be given, found neither"),
        (torch.ones(3, 3), "kge_similarity must be floating and of shape [4, 4], found torch.float32 [3, 3]"),
        (torch.ones(4, 4).long(), "found torch.int64 [4, 4]"),
        ([[1.0] * 4] * 4, "kge_similarity must be a Tensor, found list"),
    ],
)
def test_similarities_that_do_not_fit_are_refused(k, message):
    with pytest.raises(InputError, match=re.escape(message)):
        value(KGEMarginMultiSimilarityLoss(None, None), VECTORS, CLASSES, k)
