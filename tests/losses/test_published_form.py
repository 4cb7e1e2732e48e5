"""The form of the published code: numbers of triplets, the library's values over its own list, and loops."""

from __future__ import annotations

import math
from itertools import product
from typing import Any, NamedTuple

import pytest
import torch
from pytorch_metric_learning import losses as peer_losses
from pytorch_metric_learning import miners as peer_miners
from pytorch_metric_learning import reducers

from st_biomed.errors import InputError
from st_biomed.losses.cached import CachedInfoNCELoss
from st_biomed.losses.info_nce import InfoNCELoss
from st_biomed.losses.lifted_structure import LiftedStructureLoss
from st_biomed.losses.miners import DISTANCES, MODES, MultiSimilarityMiner, TripletMarginMiner
from st_biomed.losses.nca import NCALoss
from st_biomed.losses.triplet_counts import count_triplets
from tests.contracts.loss_contract import LossContract
from tests.losses.pair_batches import CLASSES, NOTHING_MINED, VECTORS, batches, birds, pairs_of, text_ids, unit

PEERS: dict[Any, Any] = {
    InfoNCELoss: peer_losses.NTXentLoss,
    NCALoss: peer_losses.NCALoss,
    LiftedStructureLoss: peer_losses.LiftedStructureLoss,
}
MINERS = {
    "triplets .2": (TripletMarginMiner(0.2), peer_miners.TripletMarginMiner(0.2)),
    "triplets .02": (TripletMarginMiner(0.02), peer_miners.TripletMarginMiner(0.02)),
    "semihard": (
        TripletMarginMiner(0.2, mode="semihard"),
        peer_miners.TripletMarginMiner(0.2, type_of_triplets="semihard"),
    ),
    "none": (None, None),
}
REDUCERS = {
    "mean_all": reducers.MeanReducer(),
    "mean_nonzero": reducers.AvgNonZeroReducer(),
    "sum": reducers.SumReducer(),
}


class TestInfoNCEContract(LossContract):
    loss_class = InfoNCELoss
    arguments = {"form": "published"}
    nothing_to_learn = NOTHING_MINED


class TestLiftedStructureContract(LossContract):
    loss_class = LiftedStructureLoss
    arguments = {"form": "published"}
    nothing_to_learn = NOTHING_MINED


class TestNCAContract(LossContract):
    loss_class = NCALoss
    arguments = {"form": "published", "scale": 4.0}
    nothing_to_learn = NOTHING_MINED


class Triplet(NamedTuple):
    anchor: int
    positive: int
    negative: int


def triplets_of(distances: torch.Tensor, labels: torch.Tensor, margin: float, mode: str) -> list[Triplet]:
    """All triplets of a mode, one after the other."""
    kept = {
        "all": lambda d: d <= margin,
        "hard": lambda d: d <= 0,
        "semihard": lambda d: 0 < d <= margin,
        "easy": lambda d: d > margin,
        "violate": lambda d: d <= -margin,
    }[mode]
    y, found = labels.tolist(), []
    for i, p, n in product(range(len(y)), repeat=3):
        if i != p and y[i] == y[p] and y[i] != y[n] and kept((distances[i, n] - distances[i, p]).item()):
            found.append(Triplet(i, p, n))
    return found


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:mode='easy'")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("distance", DISTANCES)
def test_counts_are_those_of_a_list(mode: str, distance: str):
    """Catches a strict comparison, a pair counted in another anchor's row, and masked distances among the sorted ones."""
    miner = TripletMarginMiner(0.17, distance=distance, mode=mode)
    some = False
    for embeddings, labels in batches():
        rows = embeddings.detach()
        cosines, norms = unit(rows) @ unit(rows).T, rows.norm(dim=1)
        cosines = (cosines + cosines.T) / 2
        distances = DISTANCES[distance](cosines, norms[:, None], norms[None, :])
        near, far = torch.zeros(2, 13, 13, dtype=torch.int64)
        for i, p, n in triplets_of(distances, labels, 0.17, mode):
            near[i, p] += 1
            far[i, n] += 1
        found = count_triplets(miner, rows, cosines, *pairs_of(labels))
        assert torch.equal(found[0], near) and torch.equal(found[1], far)
        kept = miner(rows, cosines, *pairs_of(labels))
        assert torch.equal(kept[0], near > 0) and torch.equal(kept[1], far > 0)
        some |= bool(near.max() > 1)
    assert some, "no pair was in two triplets"


@pytest.mark.parametrize("loss_class", PEERS)
@pytest.mark.parametrize("miner", MINERS)
@pytest.mark.parametrize("reduction", REDUCERS)
def test_value_and_gradient_are_the_library_s_over_its_own_triplets(loss_class, miner: str, reduction: str):
    """Catches every weight that is not the published one."""
    ours, peers = MINERS[miner]
    mined = 0
    for seed in range(12):
        generator = torch.Generator().manual_seed(seed)
        labels = torch.randint(0, 2 + seed % 7, (16,), generator=generator)
        centers = torch.randn(9, 5, generator=generator, dtype=torch.float64)
        noise = torch.randn(16, 5, generator=generator, dtype=torch.float64)
        embeddings = centers[labels] + (0.2 + seed % 3) * noise
        mine, theirs = embeddings.clone().requires_grad_(), embeddings.clone().requires_grad_()
        loss = loss_class(None, form="published", miner=ours, reduction=reduction)
        found = loss.compute_loss_from_embeddings([mine], labels)
        triplets = None if peers is None else peers(theirs, labels)
        if peers is not None and len(triplets[0]) == 1:
            continue  # the library gives 0 for a single triplet
        mined += 1 if peers is None else len(triplets[0])
        expected = PEERS[loss_class](reducer=REDUCERS[reduction])(theirs, labels, triplets)
        torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)
        found.backward()
        expected.backward()
        theirs_grad = torch.zeros_like(mine) if theirs.grad is None else theirs.grad
        torch.testing.assert_close(mine.grad, theirs_grad, atol=1e-8, rtol=1e-6)
    assert mined


def test_golden_numbers():
    """By hand: triplets (1, 0, 2) (1, 0, 3) (0, 1, 3) of rows 0 and 1, and their mirror images, at a margin of .3."""
    miner = TripletMarginMiner(0.3)
    s = VECTORS @ VECTORS.T
    near, far = count_triplets(miner, VECTORS, s, *pairs_of(CLASSES))
    assert near.tolist() == [[0, 1, 0, 0], [2, 0, 0, 0], [0, 0, 0, 1], [0, 0, 2, 0]]
    assert far.tolist() == [[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 0], [1, 1, 0, 0]]
    outer = math.log(1 + math.exp(0.6 - 0.8))
    inner = math.log(1 + math.exp(0.6 - 0.8) + math.exp(0.96 - 0.8))
    loss = InfoNCELoss(None, 1.0, form="published", miner=miner)
    value = loss.compute_loss_from_embeddings([VECTORS], CLASSES).item()
    assert value == pytest.approx((outer + 2 * inner) / 3, abs=1e-9)
    assert value == pytest.approx(0.930061, abs=1e-6)
    pairs = InfoNCELoss(None, 1.0, miner=miner).compute_loss_from_embeddings([VECTORS], CLASSES).item()
    assert pairs == pytest.approx((outer + inner) / 2, abs=1e-9), "in the default form a pair counts once"
    # NCA over all pairs; rows 0 and 2 are in four triplets, rows 1 and 3 in five
    outer = math.log(1 + math.exp(0.4 - 2) + math.exp(0.4 - 0.8))
    inner = math.log(1 + math.exp(0.4 - 0.8) + math.exp(0.4 - 0.08))
    loss = NCALoss(None, form="published", miner=miner)
    value = loss.compute_loss_from_embeddings([VECTORS], CLASSES).item()
    assert value == pytest.approx((0.8 * outer + inner) / 2, abs=1e-9)


def test_ambiguous_texts_have_no_triplet_of_their_own_concepts():
    """Catches counts that are made from labels and not from shared concepts."""
    lookup = birds()
    labels = text_ids(lookup, "crane", "grus", "derrick", "carp", "cyprinus")
    embeddings = torch.randn(5, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64).requires_grad_()
    z = unit(embeddings.detach())
    d = (2 - 2 * z @ z.T).clamp(min=0).sqrt()
    names = [{"BIRD", "MACHINE"}, {"BIRD"}, {"MACHINE"}, {"FISH"}, {"FISH"}]
    total, count = 0.0, 0
    for i, p, n in product(range(5), repeat=3):
        if i == p or not names[i] & names[p] or names[i] & names[n] or d[i, n] - d[i, p] > 0.4:
            continue
        rivals = [
            (q, m)
            for q, m in product(range(5), repeat=2)
            if q != i and names[i] & names[q] and not names[i] & names[m] and d[i, m] - d[i, q] <= 0.4
        ]
        far = sum(math.exp((z[i] @ z[m]).item() / 0.5) for _, m in rivals)
        near = math.exp((z[i] @ z[p]).item() / 0.5)
        total, count = total - math.log(near / (near + far)), count + 1
    assert count > 3
    loss = InfoNCELoss(None, 0.5, form="published", miner=TripletMarginMiner(0.4), lookup=lookup)
    value = loss.compute_loss_from_embeddings([embeddings], labels[:, None] if labels.ndim == 1 else labels)
    assert value.item() == pytest.approx(total / count, abs=1e-9)


def test_the_cached_form_has_the_same_gradients(tiny_bert):
    """Catches a form that the cached loss does not pass on."""
    tiny_bert.double()
    names = ["flu", "acute of the disease", "zoster", "other", "type 2 disease of the ear", "gout"]
    labels, results = torch.tensor([0, 0, 1, 1, 2, 2]), []
    for loss in (
        InfoNCELoss(tiny_bert, form="published"),
        CachedInfoNCELoss(tiny_bert, form="published", mini_batch_size=2),
    ):
        tiny_bert.zero_grad()
        value = loss([dict(tiny_bert.preprocess(names))], labels)
        value.backward()
        gradients = {name: p.grad.clone() for name, p in tiny_bert.named_parameters() if p.grad is not None}
        assert max(gradient.abs().max() for gradient in gradients.values()) > 1e-3
        results.append((value.detach(), gradients))
    torch.testing.assert_close(*results, atol=1e-6, rtol=0)


@pytest.mark.parametrize("loss_class", PEERS)
@pytest.mark.parametrize("miner", [MultiSimilarityMiner(0.1), TripletMarginMiner(0.2, mine="negatives")])
def test_a_miner_without_a_list_of_triplets_is_refused(loss_class, miner):
    with pytest.raises(InputError, match="form='published' needs a TripletMarginMiner with mine='both', or None"):
        loss_class(None, form="published", miner=miner)


def test_an_unknown_form_is_refused():
    with pytest.raises(InputError, match="unknown form 'publisched'.*did you mean 'published'"):
        NCALoss(None, form="publisched")
