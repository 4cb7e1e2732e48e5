"""BioSyn's synonym marginalization: golden numbers, a double loop over mentions and names, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.losses.miners import TripletMarginMiner
from st_biomed.losses.nca import NCALoss
from st_biomed.losses.similarity import unit_rows
from st_biomed.losses.synonym_marginalization import SynonymMarginalizationLoss
from tests.contracts.loss_contract import LossContract
from tests.losses.pair_batches import CLASSES, NOTHING_MINED, VECTORS, batches, birds, text_ids


class TestSynonymMarginalizationContract(LossContract):
    loss_class = SynonymMarginalizationLoss
    nothing_to_learn = NOTHING_MINED


class TestCosinesContract(LossContract):
    loss_class = SynonymMarginalizationLoss
    arguments = {"similarity": "cosine", "scale": 10.0, "reduction": "mean_all"}
    nothing_to_learn = NOTHING_MINED


def value(embeddings: torch.Tensor, labels: torch.Tensor, **options) -> float:
    return SynonymMarginalizationLoss(None, **options).compute_loss_from_embeddings([embeddings], labels).item()


def test_golden_numbers():
    """By hand, from the inner products .8, 0, .6 of row 0 and .8, .6, .96 of row 1; rows 2 and 3 mirror them."""
    outer = math.log(1 + math.exp(-0.8) + math.exp(0.6 - 0.8))
    inner = math.log(1 + math.exp(0.6 - 0.8) + math.exp(0.96 - 0.8))
    assert value(VECTORS, CLASSES) == pytest.approx((outer + inner) / 2, abs=1e-9)
    assert value(VECTORS, CLASSES) == pytest.approx(0.957474, abs=1e-6)
    twice = VECTORS * 2  # inner products are four times as large, cosines are not
    assert value(twice, CLASSES) == pytest.approx(value(VECTORS, CLASSES, scale=4.0), abs=1e-9)
    assert value(twice, CLASSES, similarity="cosine") == pytest.approx(value(VECTORS, CLASSES), abs=1e-9)


def test_on_the_sphere_it_is_nca_with_half_the_scale():
    """``d^2 = 2 - 2 S``; catches a share of the positives alone."""
    for embeddings, labels in batches():
        expected = NCALoss(None, 2.0, miner=None).compute_loss_from_embeddings([embeddings], labels).item()
        assert value(embeddings, labels, scale=4.0, similarity="cosine") == pytest.approx(expected, abs=1e-9)


def test_mentions_pick_among_names_alone():
    """By hand; catches names as anchors, mentions as candidates, and a mention without a synonym that counts as a zero."""
    terms = birds()
    labels = text_ids(terms, "crane", "grus", "carp", "cyprinus", "derrick")
    rows = torch.tensor([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8], [0.5, 0.5]], dtype=torch.float64)
    mentions, names = torch.zeros(terms.n_texts, dtype=torch.bool), torch.zeros(terms.n_texts, dtype=torch.bool)
    mentions[labels[[0, 2, 4]]], names[labels[[1, 3]]] = True, True
    options = {"lookup": terms, "mentions": mentions, "names": names}
    # crane: grus (.8) against cyprinus (.6); carp: cyprinus (.8) against grus (.6); derrick has no name in the batch
    assert value(rows, labels, **options) == pytest.approx(math.log(1 + math.exp(-0.2)), abs=1e-9)
    config = SynonymMarginalizationLoss(None, **options).get_config_dict()
    assert (config["mentions"], config["names"]) == (3, 2)


@pytest.mark.parametrize("miner", [TripletMarginMiner(0.2), TripletMarginMiner(0.2, distance="l2_raw")])
def test_a_miner_takes_cosines_whatever_the_similarity(miner: TripletMarginMiner):
    """Catches inner products of vectors of any length taken for cosines: distances of them are no distances."""
    pairs = torch.tensor([[False, True, False, False], [True, *[False] * 3], *torch.eye(4)[[3, 2]].bool().tolist()])
    rows = VECTORS * torch.tensor([[3.0], [1.0], [2.0], [0.5]])
    mined = miner(rows, unit_rows(rows) @ unit_rows(rows).T, pairs, ~pairs & ~torch.eye(4, dtype=torch.bool))
    loss = SynonymMarginalizationLoss(None, miner=miner)
    expected = loss.loss_of_pairs(rows, rows, *mined)
    assert loss.compute_loss_from_embeddings([rows], CLASSES).item() == pytest.approx(expected.item(), abs=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": 0.0}, "scale"),
        ({"similarity": "cos"}, "unknown similarity 'cos'.*did you mean 'cosine'"),
        (
            {name: torch.ones(3) for name in ("mentions", "names")},
            "mentions must be a tensor of booleans, found torch.float32",
        ),
        ({"mentions": torch.ones(3, dtype=torch.bool)}, "mentions and names must be masks of the same text ids"),
        (
            {"mentions": torch.ones(3, dtype=torch.bool), "names": torch.ones(4, dtype=torch.bool)},
            "mentions and names must be masks of the same text ids",
        ),
        (
            {"mentions": torch.ones(3, dtype=torch.bool), "names": torch.ones(3, dtype=torch.bool), "lookup": birds()},
            r"mentions must have an entry for each of the \d+ text ids of the lookup, found shape \[3\]",
        ),
        (
            {"mentions": np.ones(3, dtype=bool), "names": np.ones(3, dtype=bool)},
            "mentions must be a tensor of booleans, found ndarray",
        ),
    ],
)
def test_bad_arguments_are_named(options: dict, message: str):
    with pytest.raises(InputError, match=message):
        SynonymMarginalizationLoss(None, **options)


@pytest.mark.parametrize("label", [-1, 9])
def test_a_label_without_an_entry_in_the_masks_is_refused(label: int):
    """Catches a mask that is read from its end, and a traceback where no lookup checks the labels."""
    masks = {"mentions": torch.ones(4, dtype=torch.bool), "names": torch.ones(4, dtype=torch.bool)}
    with pytest.raises(
        InputError, match=f"^labels must be text ids from 0 to 3, as mentions and names, found {label}"
    ):
        value(VECTORS, torch.tensor([0, 1, 2, label]), **masks)


def test_a_mention_whose_loss_is_0_counts():
    """Catches a mean that grows as more mentions are solved: over those alone whose loss is not 0, here two of four."""
    rows = torch.tensor([[60.0, 0.0], [60.0, 0.0], [0.0, 1.0], [0.0, 0.5], [0.0, 2.0]], dtype=torch.float32)
    labels = torch.tensor([0, 0, 1, 1, 2])  # the last has no synonym
    total = value(rows, labels, reduction="sum")
    assert total == pytest.approx(2 * value(rows, labels, reduction="mean_nonzero"), abs=1e-6)
    assert total == pytest.approx(4 * value(rows, labels), abs=1e-6)
