"""The ordinal loss with distances and weights of a hierarchy, and weights that are learned."""

from __future__ import annotations

import math
import re

import pytest
import torch
from torch import Tensor, nn

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.losses.ordinal_multi_similarity import OrdinalMultiSimilarityLoss
from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.terminology import Terminology
from tests.losses.ordinal_batches import VECTORS, cosines, random_batch, value


@pytest.fixture(scope="module")
def terminology() -> Terminology:
    """A root with two children, of which one has two names."""
    terms = [
        Term("X:1", "root"),
        Term("X:2", "left"),
        Term("X:2", "left too"),
        Term("X:3", "right"),
        Term("X:4", "far"),
    ]
    parents = [Parent("X:2", "X:1"), Parent("X:3", "X:1")]
    return Terminology.from_records([*terms, *parents], SourceInfo("X", "Invented"))


def test_distances_come_from_the_hierarchy(terminology):
    labels = torch.tensor([list(terminology.strings).index(t) for t in ("left", "left too", "right", "root", "far")])
    by_hand = torch.tensor([[-1, 0, 1, 2, 3], [0, -1, 1, 2, 3], [1, 1, -1, 2, 3], [2, 2, 2, -1, 3], [3, 3, 3, 3, -1]])
    embeddings = random_batch(1, size=5)[0]
    loss = OrdinalMultiSimilarityLoss(None, Hierarchy(terminology))
    assert value(loss, embeddings, labels, None) == value(loss, embeddings, distances=by_hand)
    with pytest.raises(InputError, match="text ids from 0 to 4"):
        value(loss, embeddings, labels + 3, None)


def test_weights_multiply_the_exponentials(terminology):
    """Would catch weights on the loss of a row, or in the exponent itself; a weight of 0 takes the pair out."""
    labels, embeddings = torch.arange(5), random_batch(1, size=5)[0]
    weights = torch.tensor([[1.0, 2.0, 0.0, 1.0, 0.5]]).expand(5, 5)
    weighted = Hierarchy(terminology, weight_function=lambda pairs: weights)
    distances, s = weighted.distance(labels, labels).tolist(), cosines(embeddings)
    expected = 0.0
    for cut in range(3):
        for i in range(5):
            pull = push = 0.0
            for j in range(5):
                if 0 <= distances[i][j] <= cut:
                    pull += weights[i, j].item() * math.exp(-2 * (s[i][j] - 0.5))
                elif distances[i][j] > cut:
                    push += weights[i, j].item() * math.exp(2 * (s[i][j] - 0.5))
            expected += math.log(1 + pull) / 2 + math.log(1 + push) / 2
    found = value(OrdinalMultiSimilarityLoss(None, weighted), embeddings, labels, None)
    assert found == pytest.approx(expected, abs=1e-6)


def test_a_pair_of_weight_zero_is_left_out_of_the_means(terminology):
    """Would catch a mean that counts it among the pairs of its distance."""
    labels, embeddings = torch.arange(5), random_batch(1, size=5)[0]
    weights = torch.ones(5, 5)
    weights[0, 1] = weights[1, 0] = weights[2, 3] = 0.0
    weighted = Hierarchy(terminology, weight_function=lambda pairs: weights)
    masked = torch.where(weights > 0, weighted.distance(labels, labels), -1)
    loss = OrdinalMultiSimilarityLoss(None, weighted, form="pairwise_mean")
    plain = OrdinalMultiSimilarityLoss(None, form="pairwise_mean")
    found, expected = value(loss, embeddings, labels, None), value(plain, embeddings, distances=masked)
    assert found == pytest.approx(expected, abs=1e-9)


def test_a_weight_function_gets_the_levels_that_the_loss_weights(terminology):
    """Would catch weights by the levels before the level function, and by levels of pairs that the loss masks."""
    seen: list[list[list[int]]] = []

    def weights(pairs) -> Tensor:
        seen.append(pairs.distance.tolist())
        return torch.ones(pairs.distance.shape)

    def above(pairs) -> Tensor:
        return pairs.distance + 1  # the diagonal too, which the loss masks again

    hierarchy = Hierarchy(terminology, level_function=above, weight_function=weights, max_distance=4)
    texts = ("left", "right", "root", "far")  # siblings, and unrelated texts
    labels = torch.tensor([list(terminology.strings).index(text) for text in texts])
    value(OrdinalMultiSimilarityLoss(None, hierarchy, group_size=2), random_batch(1, size=4)[0], labels, None)
    assert seen == [[[-1, 2, -1, -1], [2, -1, -1, -1], [-1, -1, -1, 4], [-1, -1, 4, -1]]]


class LearnedWeights(nn.Module):
    """One factor for every pair."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(1.0))

    def forward(self, pairs) -> Tensor:
        return self.factor.expand(pairs.distance.shape)


@pytest.mark.parametrize("form", ["ordinal", "pairwise_mean"])
def test_learned_weights_are_parameters_of_the_loss_and_get_a_gradient(terminology, form):
    """Would catch weights taken for constants, or a module the optimizer never sees."""
    loss = OrdinalMultiSimilarityLoss(None, Hierarchy(terminology, weight_function=LearnedWeights()), form=form)
    plain = OrdinalMultiSimilarityLoss(None, Hierarchy(terminology), form=form)
    embeddings = random_batch(1, size=5)[0]
    (parameter,) = loss.parameters()
    found = loss.compute_loss_from_embeddings([embeddings], torch.arange(5))
    assert found.item() == pytest.approx(value(plain, embeddings, torch.arange(5), None), rel=1e-6)
    found.backward()
    assert parameter.grad > 0


def test_cuts_beyond_the_hierarchy_are_refused(terminology):
    with pytest.raises(InputError, match=re.escape("among 0..2, found [0, 3]")):
        OrdinalMultiSimilarityLoss(None, Hierarchy(terminology), cuts=[0, 3])


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.float64])
def test_pair_weights_may_have_any_numeric_type(dtype: torch.dtype):
    """Would catch a weight function that returns whole numbers or double precision and fails in the backward pass."""
    records = [Term(f"W:{i}", f"name {i}") for i in range(4)] + [Parent(f"W:{i}", "W:0") for i in (1, 2, 3)]
    terminology = Terminology.from_records(records, SourceInfo("W", "Weights"))
    hierarchy = Hierarchy(terminology, weight_function=lambda pairs: (pairs.distance + 2).to(dtype))
    rows = VECTORS.float().requires_grad_()
    loss = OrdinalMultiSimilarityLoss(None, hierarchy).compute_loss_from_embeddings([rows], torch.arange(4))
    loss.backward()
    assert torch.isfinite(rows.grad).all() and rows.grad.abs().sum() > 0


def test_weights_multiply_both_exponentials_of_the_published_form(terminology):
    """Catches weights on negatives alone."""
    labels, embeddings = torch.arange(5), random_batch(1, size=5)[0]
    weights = 0.5 + torch.arange(25.0).reshape(5, 5) / 10
    weighted = Hierarchy(terminology, weight_function=lambda pairs: weights)
    loss = OrdinalMultiSimilarityLoss(None, weighted, alpha=2.0, beta=3.0, base=0.4, form="pairwise_mean")
    distances, s = weighted.distance(labels, labels).tolist(), cosines(embeddings)
    found = sorted({d for i, row in enumerate(distances) for j, d in enumerate(row) if i != j and d >= 0})
    expected = 0.0
    for nearer, distance in enumerate(found):
        pairs = [(i, j) for i in range(5) for j in range(5) if i != j and distances[i][j] == distance]
        pull = [math.log(1 + weights[i, j].item() * math.exp(-2 * (s[i][j] - 0.4))) / 2 for i, j in pairs]
        push = [math.log(1 + weights[i, j].item() * math.exp(3 * (s[i][j] - 0.4))) / 3 for i, j in pairs]
        expected += (len(found) - 1 - nearer) * sum(pull) / len(pairs) + nearer * sum(push) / len(pairs)
    assert value(loss, embeddings, labels, None) == pytest.approx(expected, abs=1e-6)
