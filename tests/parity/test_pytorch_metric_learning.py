"""Values and gradients of pytorch-metric-learning, with which SapBERT, CODER and GEBERT were trained."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from pytorch_metric_learning import losses as peer_losses
from pytorch_metric_learning import miners as peer_miners
from torch import Tensor

from st_biomed.losses.miners import MultiSimilarityMiner, TripletMarginMiner
from st_biomed.losses.multi_similarity import MultiSimilarityLoss
from st_biomed.losses.pair_loss import concept_pairs

MINERS = {
    "none": (None, None),
    "triplets .2": (TripletMarginMiner(0.2), peer_miners.TripletMarginMiner(0.2)),
    "triplets .05": (TripletMarginMiner(0.05), peer_miners.TripletMarginMiner(0.05)),
    "hard": (
        TripletMarginMiner(0.2, mode="hard"),
        peer_miners.TripletMarginMiner(0.2, type_of_triplets="hard"),
    ),
    "semihard": (
        TripletMarginMiner(0.2, mode="semihard"),
        peer_miners.TripletMarginMiner(0.2, type_of_triplets="semihard"),
    ),
    "multi-similarity": (MultiSimilarityMiner(0.1), peer_miners.MultiSimilarityMiner(0.1)),
}


def batches() -> dict[str, tuple[Tensor, Tensor]]:
    """Embeddings and labels: random, partly mined, with equal vectors, with singletons, one class, no positives."""
    generator = torch.Generator().manual_seed(3)

    def names(labels: Tensor, spread: float) -> Tensor:
        centers = torch.randn(int(labels.max()) + 1, 6, generator=generator, dtype=torch.float64)
        return centers[labels] + spread * torch.randn(len(labels), 6, generator=generator, dtype=torch.float64)

    pairs = torch.arange(40) // 2
    mixed = torch.randint(0, 14, (40,), generator=generator)
    repeated = names(mixed, 1.0)
    repeated[:10] = repeated[10:20]
    return {
        "random": (names(mixed, 5.0), mixed),
        "partly mined": (names(pairs, 0.5), pairs),
        "nothing mined": (torch.eye(20, dtype=torch.float64)[pairs] + 0.01 * names(pairs, 1.0)[:, :1], pairs),
        "equal vectors": (repeated, mixed),
        "singletons": (names(torch.arange(40).clamp(max=30), 1.0), torch.arange(40).clamp(max=30)),
        "one class": (names(pairs * 0, 1.0), pairs * 0),
        "no positives": (names(torch.arange(40), 1.0), torch.arange(40)),
    }


BATCHES = batches()
# Equal vectors tie exactly with ours, while the peer's distance matrix tells them apart by rounding.
TIED = {("hard", "equal vectors"), ("semihard", "equal vectors")}


@pytest.mark.parametrize(("miner", "batch"), [pair for pair in product(MINERS, BATCHES) if pair not in TIED])
@pytest.mark.parametrize(("alpha", "beta", "base"), [(1, 60, 0.5), (2, 50, 0.5), (2, 2, 0.3)])
def test_value_and_gradient_are_the_peers(miner, batch, alpha, beta, base):
    embeddings, labels = BATCHES[batch]
    ours, peers = MINERS[miner]
    mine, theirs = embeddings.clone().requires_grad_(), embeddings.clone().requires_grad_()
    found = MultiSimilarityLoss(None, alpha, beta, base, miner=ours).compute_loss_from_embeddings([mine], labels)
    mined = None if peers is None else peers(theirs, labels)
    expected = peer_losses.MultiSimilarityLoss(alpha, beta, base)(theirs, labels, mined)
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=1e-9)
    found.backward()
    expected.backward()
    torch.testing.assert_close(mine.grad, torch.zeros_like(mine) if theirs.grad is None else theirs.grad)


def test_the_batches_are_what_they_are_called():
    """Guards the parity: a batch in which all or nothing is mined would agree without any mining."""
    for miner in (TripletMarginMiner(0.2), MultiSimilarityMiner(0.1)):
        shares = {}
        for name, (embeddings, labels) in BATCHES.items():
            unit = embeddings / embeddings.norm(dim=1, keepdim=True)
            given = concept_pairs(labels, None, mask_same_text=True)
            kept = miner(embeddings, unit @ unit.T, *given)
            shares[name] = (kept[1].sum() / given[1].sum().clamp(min=1)).item()
        assert 0 < shares["partly mined"] < 0.5 and 0 < shares["equal vectors"] < 1 and 0 < shares["singletons"] < 1
        assert shares["nothing mined"] == shares["one class"] == shares["no positives"] == 0
