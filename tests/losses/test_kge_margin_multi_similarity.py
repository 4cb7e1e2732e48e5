"""MS loss v3: golden numbers, the case table, a double loop, K from a table, and what a missing vector means."""

from __future__ import annotations

import copy
import math
import pickle
import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.kge import KGETable
from st_biomed.losses.cached import CachedKGEMarginMultiSimilarityLoss
from st_biomed.losses.kge_margin_multi_similarity import KGEMarginMultiSimilarityLoss
from st_biomed.losses.miners import MultiSimilarityMiner, TripletMarginMiner
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.terminology.lookup import ConceptLookup
from tests.contracts.loss_contract import LossContract
from tests.losses.pair_batches import CLASSES, NOTHING_MINED, VECTORS, batches, birds, pairs_of, text_ids, unit

BIRDS = birds()
GRAPH = KGETable(
    ["X:BIRD", "X:FISH", "X:MACHINE", "Y:ELSEWHERE"],
    np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0], [0.0, 2.0]]),
    model="complex",
)
GOLDEN_K = torch.tensor([[1, 1, 0.3, 0.5], [1, 1, 0.3, 0.5], [0.3, 0.3, 1, 1], [0.5, 0.5, 1, 1]], dtype=torch.float64)


def graph_similarity(labels: Tensor) -> Tensor:
    """An invented K ``[B, B]`` of classes: 1 within one, else between -.5 and .9; the classes 1 and 2 have none."""
    a, b = labels[:, None], labels[None, :]
    k = ((a * 7 + b * 7 + a * b * 3) % 15).double() / 10 - 0.5
    k = torch.where((a - b).abs() * (a + b) == 3, torch.nan, k)
    return torch.where(a == b, 1.0, k)


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


def value(loss: Any, embeddings: Tensor, labels: Tensor, k: Tensor | None = None) -> Tensor:
    return loss.compute_loss_from_embeddings([embeddings], labels, kge_similarity=k)


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


class TestSimilarityOfTheTable:
    """K as the loss takes it from a table; cosines: bird-fish .6, bird-machine -1, fish-machine -.6."""

    labels = text_ids(BIRDS, "crane", "grus", "derrick", "carp", "cyprinus", "carp")

    def k(self, **options: Any) -> Tensor:
        loss = KGEMarginMultiSimilarityLoss(None, GRAPH, lookup=BIRDS, **options)
        negatives = ~loss.lookup.same_concept(self.labels, self.labels)
        return loss._kge_similarity(self.labels, negatives, None)

    def test_of_ambiguous_texts_the_nearest_concepts_count(self):
        """Catches the first concept of a text taken for all, and a shared concept that is not 1."""
        crane, grus, derrick, fish = [1, 1, 1, 0.6], [1, 1, -1, 0.6], [1, -1, 1, -0.6], [0.6, 0.6, -0.6, 1]
        expected = torch.tensor([row + [row[3]] * 2 for row in (crane, grus, derrick, fish, fish, fish)])
        torch.testing.assert_close(self.k(), expected)

    def test_unambiguous_batches_take_the_short_way_to_the_same(self):
        """Catches a place of distinct concepts mixed up, which a batch in order of concepts cannot show."""
        labels = text_ids(BIRDS, "carp", "derrick", "grus", "cyprinus")
        loss = KGEMarginMultiSimilarityLoss(None, GRAPH, lookup=BIRDS)
        row = {"f": [1, -0.6, 0.6, 1], "m": [-0.6, 1, -1, -0.6], "b": [0.6, -1, 1, 0.6]}
        torch.testing.assert_close(loss.kge(labels), torch.tensor([row[c] for c in "fmbf"]))

    def test_clipping_leaves_shared_concepts_at_one(self):
        clipped = self.k(kge_clip=(0, 0.5))
        assert clipped.min() == 0 and set(clipped.unique().tolist()) == {0, 0.5, 1}

    def test_a_missing_concept_leaves_the_others_of_a_text(self):
        """Without a vector of the bird, the ambiguous text still has the machine's; its own concept stays 1."""
        table = KGETable(["X:FISH", "X:MACHINE"], np.array([[0.6, 0.8], [-1.0, 0.0]]), model="complex")
        loss = KGEMarginMultiSimilarityLoss(None, table, lookup=BIRDS)
        k = loss._kge_similarity(self.labels, ~loss.lookup.same_concept(self.labels, self.labels), None)
        assert k[0, 3].item() == pytest.approx(-0.6) and k[1, 3].isnan() and k[0, 1] == 1 and k[1, 2].isnan()

    def test_zeros_have_no_direction(self):
        """Catches 0 / 0 in the cosine."""
        table = KGETable(GRAPH.codes[:3], np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 2.0]]), model="transe")
        loss = KGEMarginMultiSimilarityLoss(None, table, lookup=BIRDS)
        assert (loss.kge.n_vectors, loss.kge.n_missing) == (2, 1)
        assert loss.kge(text_ids(BIRDS, "grus", "carp")).isnan().tolist() == [[True, True], [True, False]]

    def test_codes_of_both_sides_are_counted(self):
        kge = KGEMarginMultiSimilarityLoss(None, GRAPH, lookup=BIRDS).kge
        assert (kge.n_vectors, kge.n_missing, kge.n_foreign) == (3, 0, 1)

    def test_it_is_in_no_checkpoint_and_can_be_copied(self):
        """Catches a table of gigabytes in every checkpoint."""
        loss = KGEMarginMultiSimilarityLoss(None, GRAPH, lookup=BIRDS)
        before = loss.kge(self.labels)
        assert not loss.state_dict()
        for copied in (pickle.loads(pickle.dumps(loss)), copy.deepcopy(loss)):
            torch.testing.assert_close(copied.kge(self.labels), before, equal_nan=True)


def test_table_and_given_similarity_agree():
    """Catches K looked up with the labels of one column while the rows are those of two."""
    generator = torch.Generator().manual_seed(2)
    columns = list(torch.randn(2, 3, 4, generator=generator))
    labels = text_ids(BIRDS, "crane", "carp", "grus", "derrick", "cyprinus", "carp")
    loss = KGEMarginMultiSimilarityLoss(None, GRAPH, lookup=BIRDS)
    k = loss._kge_similarity(labels, ~loss.lookup.same_concept(labels, labels), None)
    found = loss.compute_loss_from_embeddings(columns, labels.reshape(2, 3).T)
    assert found == value(loss, torch.cat(columns), labels, k) != 0


def test_cached_and_uncached_agree(tiny_bert):
    """Catches labels that stay behind when the names are sorted by length."""
    names = ["crane", "carp", "grus", "derrick", "cyprinus"]
    labels, results = text_ids(BIRDS, *names), []
    tiny_bert.double()
    arguments = {"kge": GRAPH, "lookup": BIRDS, "miner": None}
    for loss in (
        KGEMarginMultiSimilarityLoss(tiny_bert, **arguments),
        CachedKGEMarginMultiSimilarityLoss(tiny_bert, mini_batch_size=2, **arguments),
    ):
        tiny_bert.zero_grad()
        found = loss([dict(tiny_bert.preprocess(names))], labels)
        found.backward()
        results.append((found.detach(), [p.grad.clone() for p in tiny_bert.parameters() if p.grad is not None]))
    assert results[0][1]
    torch.testing.assert_close(*results, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0}, "alpha must be a number above 0, found 0"),
        ({"beta": "x"}, "beta must be a number above 0, found 'x'"),
        ({"missing": "v3"}, "unknown missing 'v3': allowed are 'skip', 'v1', 'v2'"),
        ({"kge_clip": (1, 0)}, "kge_clip must be a lower and a higher number, found (1, 0)"),
        ({"kge_clip": (0, 1, 2)}, "kge_clip must be one number or 2 numbers, found 3"),
        ({"kge": {"X:1": [1]}}, "kge must be a KGETable or None, found dict"),
        ({"kge": GRAPH}, "lookup must be a Terminology, for the codes that kge has vectors of, found NoneType"),
        ({"kge": GRAPH, "lookup": ConceptLookup(BIRDS)}, "that kge has vectors of, found ConceptLookup"),
        (
            {"kge": KGETable(["Y:1"], np.ones((1, 2)), model="m"), "lookup": BIRDS},
            "kge has a vector of none of the 3 concepts of lookup: its codes look like 'Y:1', the terminology's like 'X:BIRD'",
        ),
    ],
)
def test_bad_arguments_are_refused_when_the_loss_is_made(arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        KGEMarginMultiSimilarityLoss(None, **{"kge": None, **arguments})


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (None, "either kge or kge_similarity must be given, found neither"),
        (torch.ones(3, 3), "kge_similarity must be floating and of shape [4, 4], found torch.float32 [3, 3]"),
        (torch.ones(4, 4).long(), "found torch.int64 [4, 4]"),
    ],
)
def test_similarities_that_do_not_fit_are_refused(k, message):
    with pytest.raises(InputError, match=re.escape(message)):
        value(KGEMarginMultiSimilarityLoss(None, None), VECTORS, CLASSES, k)


def test_config_names_table_and_terminology():
    config = KGEMarginMultiSimilarityLoss(None, GRAPH, lookup=BIRDS, kge_clip=(0, 1)).get_config_dict()
    assert config["terminology"] == BIRDS.digest and config["kge"]["digest"] == GRAPH.digest
    assert (config["kge"]["model"], config["missing"], config["kge_clip"]) == ("complex", "v2", [0.0, 1.0])
