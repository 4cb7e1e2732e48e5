"""What all losses on pairs do with ambiguous texts, columns, models and bad arguments."""

from __future__ import annotations

import re
import sys
import warnings
from types import SimpleNamespace

import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.losses import (
    CircleLoss,
    CosineLoss,
    GeneralizedLiftedStructureLoss,
    InfoNCELoss,
    LiftedStructureLoss,
    MaxMarginTripletLoss,
    NCALoss,
)
from st_biomed.losses.lookup import concept_lookup
from st_biomed.losses.pair_loss import concept_pairs
from tests.losses.pair_batches import CLASSES, VECTORS, birds, text_ids

pytest.importorskip("pytorch_metric_learning", reason="extra ablation")

LOSSES = [
    CircleLoss,
    CosineLoss,
    GeneralizedLiftedStructureLoss,
    InfoNCELoss,
    LiftedStructureLoss,
    MaxMarginTripletLoss,
    NCALoss,
]


@pytest.mark.long
@pytest.mark.parametrize("loss_class", LOSSES)
def test_a_text_of_two_concepts_is_pulled_to_both(loss_class):
    """Catches labels compared as numbers, which would push "crane" from "derrick", and a lookup that is not used."""
    terminology = birds()
    labels = text_ids(terminology, "crane", "grus", "derrick", "carp", "cyprinus")
    embeddings = torch.randn(5, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64).requires_grad_()
    loss = loss_class(None, miner=None, lookup=terminology)
    optimizer = torch.optim.Adam([embeddings], lr=0.1)
    for _ in range(120):
        optimizer.zero_grad()
        loss.compute_loss_from_embeddings([embeddings], labels).backward()
        optimizer.step()
    unit = embeddings.detach() / embeddings.detach().norm(dim=1, keepdim=True)
    crane, grus, derrick, carp, cyprinus = unit
    assert min(crane @ grus, crane @ derrick, carp @ cyprinus) > max(grus @ derrick, crane @ carp, crane @ cyprinus)


def test_a_text_is_no_pair_with_itself():
    """Catches the diagonal among the positives, of classes as of text ids."""
    terminology = birds()
    for labels, lookup in (
        (torch.tensor([0, 0, 1]), None),
        (text_ids(terminology, "crane", "grus", "carp"), terminology),
    ):
        for mask_same_text in (True, False):
            positives, negatives = concept_pairs(labels, concept_lookup(lookup), mask_same_text=mask_same_text)
            assert positives.nonzero().tolist() == [[0, 1], [1, 0]]
            assert negatives.nonzero().tolist() == [[0, 2], [1, 2], [2, 0], [2, 1]]


@pytest.mark.parametrize("loss_class", LOSSES)
def test_a_pair_of_the_same_text_counts_for_nothing(loss_class):
    """Catches a duplicate taken for a synonym or for a negative."""
    terminology = birds()
    labels = text_ids(terminology, "grus", "grus", "carp")
    embeddings = torch.randn(3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    loss = loss_class(None, lookup=terminology)
    assert loss.compute_loss_from_embeddings([embeddings], labels) == 0
    kept = loss_class(None, lookup=terminology, mask_same_text=False, miner=None)
    assert kept.compute_loss_from_embeddings([embeddings], labels) > 0


@pytest.mark.parametrize("loss_class", LOSSES)
def test_columns_are_one_batch(loss_class):
    """Catches a loss that sees one column, or pairs a text with the label of another column."""
    terminology = birds()
    embeddings = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    labels = text_ids(terminology, "crane", "carp", "grus", "derrick", "cyprinus", "carp")
    loss = loss_class(None, lookup=terminology)
    columns = loss.compute_loss_from_embeddings(list(embeddings.chunk(2)), labels.reshape(2, 3).T)
    assert columns == loss.compute_loss_from_embeddings([embeddings], labels) != 0


@pytest.mark.parametrize("loss_class", LOSSES)
def test_forward_embeds_and_nothing_else(loss_class, monkeypatch):
    """Shell and kernel: the model is asked once, with the features as they came."""
    asked = []
    stub = SimpleNamespace(embed_columns=lambda model, features: asked.append((model, features)) or [VECTORS])
    monkeypatch.setitem(sys.modules, "st_biomed.losses.embed", stub)
    model, features = torch.nn.Identity(), [{"input_ids": CLASSES}]
    expected = loss_class(None).compute_loss_from_embeddings([VECTORS], CLASSES)
    assert loss_class(model)(features, CLASSES) == expected and asked == [(model, features)]


def test_a_loss_without_a_model_embeds_nothing(tiny_bert):
    """Catches a TypeError about None."""
    with pytest.raises(InputError, match="embedding needs a model; without a model call compute_loss_from_embeddings"):
        InfoNCELoss(None)([dict(tiny_bert.preprocess(["flu", "gout"]))], CLASSES[:2])


@pytest.mark.parametrize(
    ("loss_class", "arguments", "message"),
    [
        (InfoNCELoss, {"temperature": 0}, "temperature must be a number above 0, found 0"),
        (NCALoss, {"scale": -1}, "scale must be a number above 0, found -1"),
        (LiftedStructureLoss, {"margin": -0.1}, "margin must be a number of at least 0, found -0.1"),
        (CircleLoss, {"gamma": "80"}, "gamma must be a number above 0, found '80'"),
        (MaxMarginTripletLoss, {"margin": -1}, "margin must be a number of at least 0, found -1"),
        (CosineLoss, {"margin": -2}, "margin must be a number of at least -1, found -2"),
        (NCALoss, {"reduction": "mean"}, "unknown reduction 'mean': allowed are 'mean_all', 'mean_nonzero', 'sum'"),
        (InfoNCELoss, {"miner": "triplet"}, "miner must be an object such as TripletMarginMiner(0.2), or None"),
        (CircleLoss, {"lookup": "icd10cm"}, "lookup must be a ConceptLookup, a Terminology or None, found str"),
    ],
)
def test_bad_arguments_are_refused_when_the_loss_is_made(loss_class, arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        loss_class(None, **arguments)


def test_text_ids_of_another_terminology_are_refused():
    with pytest.raises(InputError, match=r"text ids from 0 to 4 .* found 0 to 99"):
        InfoNCELoss(None, lookup=birds()).compute_loss_from_embeddings([VECTORS], torch.tensor([0, 1, 2, 99]))


@pytest.mark.parametrize("loss_class", LOSSES)
def test_config_names_the_terminology_and_the_miner(loss_class):
    terminology = birds()
    config = loss_class(None, lookup=terminology).get_config_dict()
    assert config["terminology"] == terminology.digest
    assert config["miner"]["miner"] == "TripletMarginMiner" and config["miner"]["margin"] == 0.2


def test_labels_without_a_pair_are_warned_of_once():
    """Catches a forgotten lookup in a script without callbacks: the loss is 0 in every step."""
    embeddings = torch.eye(4, requires_grad=True)
    loss, other, looked_up = NCALoss(None), NCALoss(None), NCALoss(None, lookup=birds())
    with pytest.warns(
        UserWarning, match="NCALoss: no two of the 4 rows of the first batch have the same label.*lookup"
    ):
        loss.compute_loss_from_embeddings([embeddings], torch.arange(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss.compute_loss_from_embeddings([embeddings], torch.arange(4))
        other.compute_loss_from_embeddings([embeddings], torch.tensor([0, 1, 1, 2]))
        looked_up.compute_loss_from_embeddings([embeddings], torch.arange(4))
