"""Losses and miners by name."""

from __future__ import annotations

import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.losses.by_name import LOSSES, MINERS, TWO_FORMS, loss_by_name, miner_by_name
from st_biomed.losses.miners import MultiSimilarityMiner, TripletMarginMiner
from st_biomed.losses.multi_similarity import MultiSimilarityLoss

PUBLISHED = {
    "ms": {"alpha": 1.0, "beta": 60.0, "positive_base": 0.5, "negative_base": 0.5},
    "infonce": {"temperature": 0.07},
    "nca": {"scale": 1.0},
    "lifted": {"margin": 1.0, "positive_margin": 0.0},
    "lifted_generalized": {"margin": 1.0, "positive_margin": 0.0},
    "circle": {"m": 0.4, "gamma": 80.0},
    "triplet": {"margin": 0.05},
    "cosine": {"margin": 0.0},
    "marginal": {"scale": 1.0, "similarity": "dot"},
}


@pytest.mark.parametrize("name", LOSSES)
def test_each_loss_has_the_published_settings_and_the_papers_miner(name):
    """Catches an ablation that compares losses with other settings than those of the published code."""
    config = loss_by_name(name, None).get_config_dict()
    assert PUBLISHED[name].items() <= config.items() and PUBLISHED.keys() == LOSSES.keys()
    assert config["miner"] == TripletMarginMiner(0.2).get_config_dict()
    assert loss_by_name(name, None, miner="none").get_config_dict()["miner"] is None


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("miner", MINERS)
def test_every_loss_learns_with_every_miner(name, miner):
    embeddings = torch.randn(12, 6, generator=torch.Generator().manual_seed(2)).requires_grad_()
    loss = loss_by_name(name, None, miner=miner, gather_across_devices=False)
    loss.compute_loss_from_embeddings([embeddings], torch.arange(12) // 2).backward()
    assert embeddings.grad.isfinite().all() and embeddings.grad.any()


@pytest.mark.parametrize("name", sorted(LOSSES.keys() - {"cosine"}))
@pytest.mark.parametrize("miner", ["none", "triplet"])
def test_every_loss_with_published_code_has_its_form(name, miner):
    """Catches a form that is read and dropped: only the losses of two forms say which one they have."""
    loss = loss_by_name(name, None, miner=miner, form="published")
    assert loss.get_config_dict().get("form") == ("published" if name in TWO_FORMS else None)
    embeddings = torch.randn(12, 6, generator=torch.Generator().manual_seed(2)).requires_grad_()
    loss.compute_loss_from_embeddings([embeddings], torch.arange(12) // 2).backward()
    assert embeddings.grad.isfinite().all() and embeddings.grad.any()


def test_ms_is_the_preset_of_sapbert():
    found = loss_by_name("ms", None).get_config_dict()
    assert found == MultiSimilarityLoss.from_preset(None, "sapbert").get_config_dict()


def test_miners_by_name():
    assert miner_by_name("none") is None
    assert miner_by_name("triplet") == TripletMarginMiner(0.2) and miner_by_name("ms") == MultiSimilarityMiner(0.1)


@pytest.mark.parametrize("name", ["ms", "infonce"])
def test_the_cached_form_takes_the_same_settings(name):
    cached, plain = (loss_by_name(name, None, miner="ms", **size) for size in ({"mini_batch_size": 7}, {}))
    sizes = {"mini_batch_size": 7, "mini_batch_num_tokens": None}
    assert cached.get_config_dict() == plain.get_config_dict() | sizes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: loss_by_name("infonc", None), "unknown loss 'infonc'.*did you mean 'infonce'"),
        (
            lambda: loss_by_name("cosine", None, form="published"),
            "loss_form: no code of loss 'cosine' is published; the form 'pairs' is needed",
        ),
        (
            lambda: loss_by_name("nca", None, miner="ms", form="published"),
            "needs a TripletMarginMiner with mine='both', or None, found MultiSimilarityMiner",
        ),
        (lambda: loss_by_name("nca", None, form="triplet"), "unknown loss_form 'triplet'"),
        (lambda: miner_by_name("triplets"), "unknown miner 'triplets'.*did you mean 'triplet'"),
        (
            lambda: loss_by_name("circle", None, miner="hard"),
            "unknown miner 'hard': allowed are 'ms', 'none', 'triplet'",
        ),
        (
            lambda: loss_by_name("circle", None, mini_batch_size=8),
            "mini_batch_size: loss 'circle' has no cached form; 'ms', 'infonce' have",
        ),
    ],
)
def test_unknown_names_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
