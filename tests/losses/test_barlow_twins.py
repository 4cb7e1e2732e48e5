"""Barlow Twins: loops over Eq. 1 and 2, which names are pairs, and dimensions that do not move."""

from __future__ import annotations

import math
import re

import pytest
import torch
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.losses.barlow_twins import BarlowTwinsLoss, pairs_of_concepts
from tests.contracts.loss_contract import LossContract
from tests.losses.pair_batches import birds, text_ids

BIRDS = birds()


class TestBarlowTwinsContract(LossContract):
    loss_class = BarlowTwinsLoss
    nothing_to_learn = {"one row": [3], "one concept": [3, 3, 3], "no pair": [0, 1, 2]}

    def batch(self, dtype=torch.float64):
        """Pairs alone: of three names of a concept, the order of the rows says which two are the pair."""
        embeddings, _ = super().batch(dtype)
        return embeddings, torch.tensor([0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 0])

    def test_order_of_the_rows_does_not_matter(self, loss):
        """As long as the first name of a pair stays the first: the two sides have means and lengths of their own."""
        embeddings, labels = self.batch()
        order = torch.tensor([4, 0, 3, 1, 5, 2])
        order = torch.cat([order, 6 + order[[3, 1, 5, 0, 2, 4]]])
        shuffled = self.value(loss, embeddings.detach()[order], labels[order])
        torch.testing.assert_close(shuffled, self.value(loss, embeddings, labels))


class TestBarlowTwinsWithoutRedundancyContract(TestBarlowTwinsContract):
    arguments = {"off_diagonal": 0.0}


def by_loops(a: list[list[float]], b: list[list[float]], weight: float) -> float:
    """Eq. 1 and 2, number by number."""
    n, d = len(a), len(a[0])
    total = 0.0
    for i in range(d):
        for j in range(d):
            x = [row[i] - sum(r[i] for r in a) / n for row in a]
            y = [row[j] - sum(r[j] for r in b) / n for row in b]
            lengths = math.sqrt(sum(v * v for v in x)) * math.sqrt(sum(v * v for v in y))
            c = sum(p * q for p, q in zip(x, y)) / lengths if lengths > 1e-9 else 0.0
            total += (1 - c) ** 2 if i == j else weight * c * c
    return total


def columns(seed: int, n: int = 7, d: int = 4) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return list(torch.randn(2, n, d, generator=generator, dtype=torch.float64) + 3)


@pytest.mark.parametrize("weight", [5e-3, 0.7])
def test_loops_give_the_same(weight):
    """Catches lengths or means over the wrong side, a diagonal counted twice, and C between names and not dimensions."""
    for seed in range(10):
        a, b = columns(seed)
        loss = BarlowTwinsLoss(None, weight).compute_loss_from_embeddings([a, b])
        assert loss.item() == pytest.approx(by_loops(a.tolist(), b.tolist(), weight), abs=1e-9)


def test_a_number_by_hand():
    """One dimension agrees, one is reversed: 0 + (1 + 1)^2, and both off-diagonal correlations are 0."""
    a = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    assert BarlowTwinsLoss(None).compute_loss_from_embeddings([a, a * torch.tensor([5.0, -2.0])]).item() == 4


def test_scale_and_shift_of_a_dimension_do_not_matter():
    a, b = columns(3)
    loss = BarlowTwinsLoss(None)
    expected = loss.compute_loss_from_embeddings([a, b])
    torch.testing.assert_close(loss.compute_loss_from_embeddings([a * 1e-4 - 2, b]), expected, atol=1e-6, rtol=1e-6)


def test_a_constant_dimension_counts_one_and_learns_nothing():
    """Catches rounding of the mean blown up to a correlation: in float32, 0.1 minus the mean of ten is not 0."""
    a, b = (column.float() for column in columns(4, n=10))
    a[:, 2] = 0.1
    a.requires_grad_()
    loss = BarlowTwinsLoss(None, 0.0).compute_loss_from_embeddings([a, b])
    loss.backward()
    assert not a.grad[:, 2].any() and a.grad[:, 0].any()
    assert loss.item() == pytest.approx(by_loops(a.tolist(), b.tolist(), 0.0), abs=1e-5)


def test_one_column_is_paired_by_concept():
    """Catches a third name that joins a pair, and names that are paired by their place."""
    embeddings = torch.cat(columns(5, n=6))
    labels = torch.tensor([4, 0, 1, 4, 2, 0, 4, 3, 1, 0, 2, 2])
    first, second = pairs_of_concepts(labels, None)
    assert list(zip(first.tolist(), second.tolist())) == [(0, 3), (1, 5), (2, 8), (4, 10)]
    loss = BarlowTwinsLoss(None)
    pairs = [embeddings[first], embeddings[second]]
    assert loss.compute_loss_from_embeddings([embeddings], labels) == loss.compute_loss_from_embeddings(pairs)


def test_a_text_is_not_its_own_synonym_and_may_have_two():
    """Catches a repeated string as a pair that agrees by construction, and an ambiguous one used for one concept only."""
    labels = text_ids(BIRDS, "grus", "grus", "carp", "derrick", "crane", "crane", "cyprinus")
    lookup = BarlowTwinsLoss(None, lookup=BIRDS).lookup
    first, second = pairs_of_concepts(labels, lookup)
    assert list(zip(first.tolist(), second.tolist())) == [(0, 4), (2, 6), (3, 4)]


@pytest.mark.parametrize(
    ("embeddings", "labels", "message"),
    [
        ([torch.ones(2, 3)] * 3, None, "embeddings must be one or two columns, found 3"),
        ([], None, "embeddings must be one or two columns, found 0"),
        ([torch.ones(2, 3)], None, "labels must be given for one text column, found none"),
        ([torch.ones(2, 3), torch.ones(3, 3)], None, "both columns must have one shape, found [2, 3] and [3, 3]"),
        ([torch.ones(2, 3)], torch.tensor([1]), "labels must have shape [2]"),
    ],
)
def test_columns_that_do_not_fit_are_refused(embeddings, labels, message):
    with pytest.raises(InputError, match=re.escape(message)):
        BarlowTwinsLoss(None).compute_loss_from_embeddings(embeddings, labels)


def test_a_negative_weight_is_refused():
    with pytest.raises(InputError, match="off_diagonal must be a number of at least 0, found -1"):
        BarlowTwinsLoss(None, -1)


def test_text_ids_of_another_terminology_are_refused():
    with pytest.raises(InputError, match="found 0 to 99"):
        BarlowTwinsLoss(None, lookup=BIRDS).compute_loss_from_embeddings([torch.ones(2, 3)], torch.tensor([0, 99]))
