"""The ordinal loss: golden numbers, a double loop over the formula, groups, weights, and the published code's form."""

from __future__ import annotations

import math
import re
from itertools import combinations

import pytest
import torch
from torch import Tensor, nn

from st_biomed.errors import InputError
from st_biomed.losses.cached import CachedOrdinalMultiSimilarityLoss
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.ordinal_multi_similarity import OrdinalMultiSimilarityLoss
from tests.contracts.loss_contract import LossContract
from tests.losses.ordinal_batches import DISTANCES, VECTORS, cosines, random_batch, value


class TestOrdinalMultiSimilarityLossContract(LossContract):
    loss_class = OrdinalMultiSimilarityLoss

    def levels(self, labels: Tensor) -> list[Tensor]:
        distances = self.distances(labels)
        return [distances == level for level in range(3)]

    def distances(self, labels: Tensor) -> Tensor:
        """0 within a class, 1 between neighboring classes, 2 between the others; -1 on the diagonal."""
        return (labels[:, None] - labels[None, :]).abs().clamp(max=2).fill_diagonal_(-1)

    def value(self, loss: nn.Module, embeddings: Tensor, labels: Tensor) -> Tensor:
        return loss.compute_loss_from_embeddings([embeddings], labels, distances=self.distances(labels))


class TestTunedOrdinalContract(TestOrdinalMultiSimilarityLossContract):
    arguments = {
        "alpha": [2.0, 4.0],
        "beta": [30.0, 50.0],
        "base": [0.8, 0.4],
        "cuts": [0, 1],
        "reduction": "mean_all",
    }


class TestPairwiseMeanContract(TestOrdinalMultiSimilarityLossContract):
    arguments = {"form": "pairwise_mean", "similarity": "half", "beta": 50.0}
    nothing_to_learn = {"one row": [3], "one class": [3, 3, 3]}


class TestOrdinalOnClassesContract(LossContract):
    loss_class = OrdinalMultiSimilarityLoss
    arguments = {"reduction": "mean_nonzero", "similarity": "half"}


class TestCachedOrdinalMultiSimilarityLossContract(LossContract):
    loss_class = CachedOrdinalMultiSimilarityLoss


def test_golden_numbers_of_the_papers_form():
    assert value(OrdinalMultiSimilarityLoss(None)) == pytest.approx(12.185704, abs=1e-6)
    for cut, golden in ((0, 3.372257), (1, 4.415452), (2, 4.397995)):
        assert value(OrdinalMultiSimilarityLoss(None, cuts=[cut])) == pytest.approx(golden, abs=1e-6)


def test_golden_number_of_the_published_codes_form():
    loss = OrdinalMultiSimilarityLoss(None, beta=50, form="pairwise_mean", similarity="half")
    assert value(loss) == pytest.approx(3.262405, abs=1e-6)


@pytest.mark.parametrize("similarity", ["cosine", "half"])
@pytest.mark.parametrize("group_size", [None, 4])
@pytest.mark.parametrize("cuts", [[0, 1, 2], [1], [0, 3]], ids=str)
def test_a_double_loop_over_the_formula_gives_the_same(cuts, group_size, similarity):
    """Settings differ from cut to cut; would catch a cut that takes another's, a level on the wrong side, a shared group."""
    alphas, betas, bases, weights = ([2.0, 3.0, 2.0], [2.0, 20.0, 5.0], [0.8, 0.6, 0.4], [3.0, 1.0, 0.5])
    for seed in range(4):
        embeddings, distances = random_batch(seed)
        s, d, size = cosines(embeddings, similarity), distances.tolist(), len(embeddings)
        sums, means, nonzero = 0.0, 0.0, 0.0
        for cut, alpha, beta, base, weight in zip(cuts, alphas, betas, bases, weights):
            rows = []
            for i in range(size):
                pull = push = 0.0
                for j in range(size):
                    if i == j or d[i][j] < 0 or (group_size and i // group_size != j // group_size):
                        continue
                    if d[i][j] <= cut:
                        pull += math.exp(-alpha * (s[i][j] - base))
                    else:
                        push += math.exp(beta * (s[i][j] - base))
                rows.append(math.log(1 + pull) / alpha + math.log(1 + push) / beta)
            sums += weight * sum(rows)
            means += weight * sum(rows) / size
            nonzero += weight * sum(rows) / max(1, sum(row > 0 for row in rows))
        n = len(cuts)
        for reduction, expected in (("sum", sums), ("mean_all", means), ("mean_nonzero", nonzero)):
            loss = OrdinalMultiSimilarityLoss(
                None,
                alpha=alphas[:n],
                beta=betas[:n],
                base=bases[:n],
                cuts=cuts,
                cut_weights=weights[:n],
                reduction=reduction,
                group_size=group_size,
                similarity=similarity,
            )
            assert value(loss, embeddings, distances=distances) == pytest.approx(expected, abs=1e-9)


def test_pairwise_mean_by_its_definition():
    """Would catch a mean over all pairs instead of each distance's, and a NaN for a distance without pairs."""
    for seed in range(10):
        embeddings, distances = random_batch(seed, size=5)
        s, d = cosines(embeddings), distances.tolist()
        pairs = {level: [s[i][j] for i, j in combinations(range(5), 2) if d[i][j] == level] for level in range(5)}
        expected = 0.0
        for near, far in combinations([level for level in pairs if pairs[level]], 2):
            expected += sum(math.log(1 + math.exp(3 * (0.4 - x))) for x in pairs[near]) / len(pairs[near]) / 3
            expected += sum(math.log(1 + math.exp(7 * (x - 0.4))) for x in pairs[far]) / len(pairs[far]) / 7
        loss = OrdinalMultiSimilarityLoss(None, alpha=3, beta=7, base=0.4, form="pairwise_mean")
        assert value(loss, embeddings, distances=distances) == pytest.approx(expected, abs=1e-9)


def test_one_cut_on_classes_is_the_multi_similarity_loss():
    embeddings, labels = torch.randn(9, 4, generator=torch.Generator().manual_seed(0)), torch.arange(9) // 2
    plain = MultiSimilarityLoss(None, 3, 20, 0.4, miner=None, reduction="sum")
    ordinal = OrdinalMultiSimilarityLoss(None, alpha=3, beta=20, base=0.4, cuts=[0])
    expected = plain.compute_loss_from_embeddings([embeddings], labels)
    assert ordinal.compute_loss_from_embeddings([embeddings], labels).item() == pytest.approx(
        expected.item(), rel=1e-6
    )


def test_a_group_is_that_of_the_row_in_every_column():
    """Two columns and groups of one row are the published code's flat pairs; would catch groups of stacked rows."""
    embeddings, _ = random_batch(3, size=8)
    distances = torch.tensor([0, 1, 3, 3])
    full = torch.full((8, 8), 2)
    for i, distance in enumerate(distances.tolist()):
        full[i, i + 4] = full[i + 4, i] = distance
    only = torch.where(torch.eye(4, dtype=torch.bool).repeat(2, 2), full, -1)
    for form in ("ordinal", "pairwise_mean"):
        paired = OrdinalMultiSimilarityLoss(None, form=form, group_size=1)
        found = paired.compute_loss_from_embeddings(list(embeddings.chunk(2)), distances=full)
        assert found.item() == pytest.approx(
            value(OrdinalMultiSimilarityLoss(None, form=form), embeddings, distances=only)
        )


def test_gathered_groups_belong_to_their_process(monkeypatch):
    """Would catch group 0 of one process joined with group 0 of another."""
    import sentence_transformers.util as host

    for name in ("all_gather", "all_gather_with_grad"):
        monkeypatch.setattr(host, name, lambda tensor: torch.cat([tensor, tensor.flip(0)]))
    embeddings, labels = random_batch(5, size=4)[0], torch.tensor([0, 0, 1, 2])
    gathered = OrdinalMultiSimilarityLoss(None, group_size=2, gather_across_devices=True)
    local = OrdinalMultiSimilarityLoss(None, group_size=2)
    once, both = (loss.compute_loss_from_embeddings([embeddings], labels) for loss in (local, gathered))
    assert both.item() == pytest.approx(2 * once.item())


def test_given_distances_and_labels_stay_as_they_are():
    """Would catch a diagonal masked in the caller's tensor."""
    distances = DISTANCES.clone()
    value(OrdinalMultiSimilarityLoss(None, group_size=2), distances=distances)
    assert torch.equal(distances, DISTANCES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": [2.0, 2.0]}, "alpha must be one number or 3 numbers, found 2"),
        ({"beta": [2.0, 0.0, 2.0]}, "beta[1] must be a number above 0, found 0.0"),
        ({"base": "0.5"}, "base must be a finite number, found '0.5'"),
        ({"cuts": []}, "cuts must be increasing whole numbers among 0..32766, found []"),
        ({"cuts": [0, 40_000]}, "cuts must be increasing whole numbers among 0..32766, found [0, 40000]"),
        ({"cuts": [1, 0]}, "found [1, 0]"),
        ({"cuts": [0.5]}, "found [0.5]"),
        ({"cut_weights": [1, 1, -1]}, "cut_weights[2] must be a number of at least 0, found -1"),
        ({"form": "paper"}, "unknown form 'paper': allowed are 'ordinal', 'pairwise_mean'"),
        ({"form": "pairwise_mean", "cuts": [0]}, "cuts and cut_weights belong to form='ordinal'"),
        ({"similarity": "dot"}, "unknown similarity 'dot'"),
        ({"group_size": 0}, "group_size must be an integer of at least 1 or None, found 0"),
        ({"reduction": "mean"}, "unknown reduction 'mean'"),
    ],
)
def test_bad_arguments_are_refused_when_the_loss_is_made(arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        OrdinalMultiSimilarityLoss(None, **arguments)


def test_a_batch_needs_labels_or_distances_of_its_shape():
    with pytest.raises(InputError, match="either labels or distances must be given"):
        value(OrdinalMultiSimilarityLoss(None), distances=None)
    for wrong in (DISTANCES[:3], DISTANCES.double()):
        with pytest.raises(InputError, match=r"distances must be integers of shape \[4, 4\]"):
            value(OrdinalMultiSimilarityLoss(None), distances=wrong)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_distances_of_any_integer_type_mean_the_same(dtype: torch.dtype):
    """Would catch an unsigned matrix whose masked diagonal turns into the farthest distance."""
    loss = OrdinalMultiSimilarityLoss(None)
    expected = loss.compute_loss_from_embeddings([VECTORS], distances=DISTANCES)
    assert torch.equal(loss.compute_loss_from_embeddings([VECTORS], distances=DISTANCES.to(dtype)), expected)


def test_booleans_are_no_distances():
    with pytest.raises(InputError, match="distances must be integers"):
        OrdinalMultiSimilarityLoss(None).compute_loss_from_embeddings([VECTORS], distances=DISTANCES > 0)
    with pytest.raises(InputError, match="distances must be a Tensor, found list"):
        value(OrdinalMultiSimilarityLoss(None), distances=DISTANCES.tolist())


@pytest.mark.parametrize("far", [32_767, 32_768, 65_536, 99_999, 2**40])
def test_large_distances_are_far(far):
    """Would catch distances that wrap around, so that far pairs are synonyms or masked."""
    near = DISTANCES.clamp(max=9)
    expected = value(OrdinalMultiSimilarityLoss(None), distances=near)
    found = value(OrdinalMultiSimilarityLoss(None), distances=torch.where(near > 2, far, near.long()))
    assert found == expected


@pytest.mark.parametrize("form", ["ordinal", "pairwise_mean"])
def test_vectors_that_are_not_finite_have_no_finite_loss(form):
    """Would catch a diverged model whose pairs in small groups are all skipped: 128 rows take the sparse sums."""
    embeddings, labels = random_batch(3, size=128)
    labels = torch.arange(128) // 2
    loss = OrdinalMultiSimilarityLoss(None, form=form, group_size=2)
    assert torch.isfinite(loss.compute_loss_from_embeddings([embeddings], labels))
    for rows in (slice(None), slice(5, 6)):
        broken = embeddings.clone()
        broken[rows] = torch.nan
        assert torch.isnan(loss.compute_loss_from_embeddings([broken], labels))
