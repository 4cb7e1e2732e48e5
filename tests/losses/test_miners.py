"""Miners in closed form select what the enumeration of all triplets selects."""

from __future__ import annotations

import re

import pytest
import torch
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.losses.miners import DISTANCES, MODES, Miner, MultiSimilarityMiner, TripletMarginMiner
from tests.contracts.miner_contract import MinerContract, all_pairs, cosines

# Four vectors, two concepts; the cosines are S01 = .8, S02 = 0, S03 = .6, S12 = .6, S13 = .96, S23 = .8.
VECTORS = torch.tensor([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]], dtype=torch.float64)
CLASSES = torch.tensor([0, 0, 1, 1])


class TestTripletMarginMinerContract(MinerContract):
    miner_class = TripletMarginMiner


class TestSemihardTripletsContract(MinerContract):
    miner_class = TripletMarginMiner
    arguments = {"mode": "semihard", "margin": 1.0, "distance": "l2_raw"}


class TestMultiSimilarityMinerContract(MinerContract):
    miner_class = MultiSimilarityMiner


def mined(miner, embeddings: Tensor = VECTORS, labels: Tensor = CLASSES) -> list[set[tuple[int, int]]]:
    """The kept positives and negatives as sets of pairs."""
    kept = miner(embeddings, cosines(embeddings), *all_pairs(labels))
    return [set(map(tuple, mask.nonzero().tolist())) for mask in kept]


def random_batch(seed: int) -> tuple[Tensor, Tensor]:
    """Up to 24 small whole-number vectors, many of them equal or on one line, in up to 6 classes: ties everywhere."""
    generator = torch.Generator().manual_seed(seed)
    size = int(torch.randint(1, 25, (1,), generator=generator))
    vectors = torch.randint(-2, 3, (size, 3), generator=generator).double()
    vectors[vectors.abs().sum(1) == 0] = 1.0
    return vectors, torch.randint(0, int(torch.randint(1, 7, (1,), generator=generator)), (size,), generator=generator)


def by_enumeration(
    distances: Tensor, positives: Tensor, negatives: Tensor, mode: str, margin: float
) -> tuple[Tensor, Tensor]:
    """The definition: projections of all triplets (i, p, n) whose margin the mode asks for."""
    p, n = distances[:, :, None], distances[:, None, :]
    chosen = {
        "all": n <= p + margin,
        "hard": n <= p,
        "semihard": (n > p) & (n <= p + margin),
        "easy": n > p + margin,
        "violate": n <= p - margin,
    }[mode]
    triplets = chosen & positives[:, :, None] & negatives[:, None, :]
    return triplets.any(2), triplets.any(1)


@pytest.mark.filterwarnings("ignore:mode='easy'")
@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("mode", MODES)
def test_selects_the_same_pairs_as_triplet_enumeration(mode, distance):
    """300 batches a distance, with ties; would catch < for <=, the extreme of the wrong pairs, a search off by one."""
    n_mined = 0
    for seed in range(60 * MODES.index(mode), 60 * MODES.index(mode) + 60):
        embeddings, labels = random_batch(seed)
        margin = (0.0, 0.2, 0.25, 1.0)[seed % 4]
        similarities, norms = cosines(embeddings), embeddings.norm(dim=1)
        distances = DISTANCES[distance](similarities, norms[:, None], norms[None, :])
        expected = by_enumeration(distances, *all_pairs(labels), mode, margin)
        found = TripletMarginMiner(margin, distance, mode)(embeddings, similarities, *all_pairs(labels))
        assert torch.equal(found[0], expected[0]) and torch.equal(found[1], expected[1]), seed
        n_mined += int(found[0].sum())
    assert n_mined > 200


def test_distances_by_definition():
    """Would catch a formula from cosines and lengths that is not the distance it is named after."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(9, 4, generator=generator, dtype=torch.float64)
    unit = rows / rows.norm(dim=1, keepdim=True)
    norms = rows.norm(dim=1)
    expected = {
        "l2_normalized": torch.cdist(unit, unit, compute_mode="donot_use_mm_for_euclid_dist"),
        "cosine": 1 - unit @ unit.T,
        "l2_raw": torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist"),
        "neg_dot": -rows @ rows.T,
    }
    assert set(expected) == set(DISTANCES)
    for name, distances in expected.items():
        found = DISTANCES[name](cosines(rows), norms[:, None], norms[None, :])
        torch.testing.assert_close(found, distances, atol=1e-6, rtol=0)


def test_golden_pairs_of_the_triplet_miner():
    assert mined(TripletMarginMiner(0.2)) == [{(1, 0), (3, 2)}, {(1, 3), (3, 1)}]
    assert mined(TripletMarginMiner(0.25, "cosine")) == [
        {(0, 1), (1, 0), (2, 3), (3, 2)},
        {(0, 3), (1, 2), (1, 3), (2, 1), (3, 0), (3, 1)},
    ]


def test_golden_pairs_of_the_multi_similarity_miner():
    assert mined(MultiSimilarityMiner(0.1)) == [{(1, 0), (3, 2)}, {(1, 3), (3, 1)}]


@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_multi_similarity_miner_by_its_definition(epsilon):
    """Would catch >= for > (equal vectors tie at epsilon 0), and an epsilon on the wrong side."""
    n_mined = 0
    for seed in range(60):
        embeddings, labels = random_batch(seed)
        similarities = cosines(embeddings)
        s, y, size = similarities.tolist(), labels.tolist(), len(labels)
        positives, negatives = set(), set()
        for i in range(size):
            p = [j for j in range(size) if j != i and y[j] == y[i]]
            n = [j for j in range(size) if y[j] != y[i]]
            if p and n:
                negatives |= {(i, j) for j in n if s[i][j] + epsilon > min(s[i][k] for k in p)}
                positives |= {(i, j) for j in p if s[i][j] - epsilon < max(s[i][k] for k in n)}
        assert mined(MultiSimilarityMiner(epsilon), embeddings, labels) == [positives, negatives], seed
        n_mined += len(negatives)
    assert n_mined > 1000


def test_only_negatives_are_mined_when_asked():
    """HiPrBERT's reading: every positive stays, also where no negative is near."""
    positives, negatives = mined(TripletMarginMiner(0.2, mine="negatives"))
    assert positives == {(0, 1), (1, 0), (2, 3), (3, 2)} and negatives == {(1, 3), (3, 1)}


def test_pairs_outside_both_masks_are_never_used():
    """A pair of one ambiguous text and its concept is neither; would catch a miner that takes it for a negative."""
    positives, negatives = all_pairs(CLASSES)
    negatives[1, 3] = False
    kept = TripletMarginMiner(0.2)(VECTORS, cosines(VECTORS), positives, negatives)
    assert not kept[0][1].any() and not kept[1][1].any() and kept[1][3, 1]


def test_easy_triplets_come_with_a_warning():
    with pytest.warns(UserWarning, match="learns little"):
        TripletMarginMiner(0.25, "cosine", mode="easy")


@pytest.mark.parametrize(
    ("miner", "arguments", "message"),
    [
        (TripletMarginMiner, {"margin": -0.2}, "margin must be a number of at least 0, found -0.2"),
        (TripletMarginMiner, {"margin": float("nan")}, "margin must be a number of at least 0, found nan"),
        (TripletMarginMiner, {"margin": "0.2"}, "margin must be a number of at least 0, found '0.2'"),
        (TripletMarginMiner, {"distance": "l2_normalised"}, "did you mean 'l2_normalized'?"),
        (TripletMarginMiner, {"mode": "soft"}, "unknown mode 'soft': allowed are 'all', 'easy'"),
        (TripletMarginMiner, {"mine": "positives"}, "unknown mine 'positives'"),
        (MultiSimilarityMiner, {"epsilon": -1}, "epsilon must be a number of at least 0, found -1"),
    ],
)
def test_bad_arguments_are_refused_when_the_miner_is_made(miner, arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        miner(**arguments)


def test_a_custom_miner_needs_no_dataclass():
    """Catches a run that ends where its record is written."""

    class EveryPair(Miner):
        def select(
            self, similarities: Tensor, norms: Tensor, other_norms: Tensor, positives: Tensor, negatives: Tensor
        ) -> tuple[Tensor, Tensor]:
            return positives, negatives

    assert EveryPair().get_config_dict() == {"miner": "EveryPair"}
