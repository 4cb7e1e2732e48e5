"""The ordinal loss: golden numbers, a double loop over the formula, groups, weights, and the published code's form."""

from __future__ import annotations

import math
import re
from itertools import combinations

import pytest
import torch
from torch import Tensor, nn

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.losses.cached import CachedOrdinalMultiSimilarityLoss
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.ordinal_multi_similarity import OrdinalMultiSimilarityLoss
from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.terminology import Terminology
from tests.contracts.loss_contract import LossContract

VECTORS = torch.tensor([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]], dtype=torch.float64)
DISTANCES = torch.tensor([[0, 0, 1, 3], [0, 0, 2, 3], [1, 2, 0, 3], [3, 3, 3, 0]])


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


def value(loss: nn.Module, embeddings: Tensor = VECTORS, labels: Tensor | None = None, distances=DISTANCES) -> float:
    return loss.compute_loss_from_embeddings([embeddings], labels, distances=distances).item()


def test_golden_numbers_of_the_papers_form():
    assert value(OrdinalMultiSimilarityLoss(None)) == pytest.approx(12.185704, abs=1e-6)
    for cut, golden in ((0, 3.372257), (1, 4.415452), (2, 4.397995)):
        assert value(OrdinalMultiSimilarityLoss(None, cuts=[cut])) == pytest.approx(golden, abs=1e-6)


def test_golden_number_of_the_published_codes_form():
    loss = OrdinalMultiSimilarityLoss(None, beta=50, form="pairwise_mean", similarity="half")
    assert value(loss) == pytest.approx(3.262405, abs=1e-6)


def random_batch(seed: int, size: int = 9) -> tuple[Tensor, Tensor]:
    """Embeddings with two equal rows, and symmetric distances -1..4 with nothing on the diagonal."""
    generator = torch.Generator().manual_seed(seed)
    embeddings = torch.randn(size, 3, generator=generator, dtype=torch.float64)
    embeddings[0] = embeddings[3]
    distances = torch.randint(-1, 5, (size, size), generator=generator).triu(1)
    return embeddings, distances + distances.T


def cosines(embeddings: Tensor, similarity: str = "cos") -> list[list[float]]:
    unit = embeddings / embeddings.norm(dim=1, keepdim=True)
    return ((unit @ unit.T) if similarity == "cos" else (unit @ unit.T + 1) / 2).tolist()


@pytest.mark.parametrize("similarity", ["cos", "half"])
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
        ({"cuts": []}, "cuts must be increasing whole numbers among 0, 1, ..., found []"),
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


def test_cuts_beyond_the_hierarchy_are_refused(terminology):
    with pytest.raises(InputError, match=re.escape("among 0..2, found [0, 3]")):
        OrdinalMultiSimilarityLoss(None, Hierarchy(terminology), cuts=[0, 3])


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
