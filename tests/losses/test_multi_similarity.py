"""The multi-similarity loss: golden numbers, a double loop, presets, and what ambiguous texts mean."""

from __future__ import annotations

import math
import re
import sys
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from st_biomed.errors import InputError
from st_biomed.losses.cached import CachedMultiSimilarityLoss
from st_biomed.losses.miners import MultiSimilarityMiner, TripletMarginMiner
from st_biomed.losses.multi_similarity import PRESETS, MultiSimilarityLoss
from st_biomed.losses.pair_loss import concept_pairs
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.terminology.lookup import ConceptLookup
from tests.contracts.loss_contract import LossContract

VECTORS = torch.tensor([[1, 0], [0.8, 0.6], [0, 1], [0.6, 0.8]], dtype=torch.float64)
CLASSES = torch.tensor([0, 0, 1, 1])
MINED_NOTHING = {"one row": [3], "one class": [3, 3, 3], "no positives": [0, 1, 2]}


class TestMultiSimilarityLossContract(LossContract):
    loss_class = MultiSimilarityLoss
    nothing_to_learn = MINED_NOTHING


class TestAllPairsContract(LossContract):
    loss_class = MultiSimilarityLoss
    arguments = {"miner": None, "alpha": 2.0, "beta": 2.0, "reduction": "sum"}


class TestMultiSimilarityMiningContract(LossContract):
    loss_class = MultiSimilarityLoss
    arguments = {"miner": MultiSimilarityMiner(0.1), "positive_base": 1.0, "reduction": "mean_nonzero"}
    nothing_to_learn = MINED_NOTHING


class TestCachedMultiSimilarityLossContract(LossContract):
    loss_class = CachedMultiSimilarityLoss
    nothing_to_learn = MINED_NOTHING


def value(loss: MultiSimilarityLoss, embeddings: Tensor = VECTORS, labels: Tensor = CLASSES) -> float:
    return loss.compute_loss_from_embeddings([embeddings], labels).item()


@pytest.mark.parametrize(
    ("alpha", "beta", "mean", "total"),
    [(1, 60, 0.834376, 3.337504), (2, 50, 0.498811, 1.995245), (2, 2, 0.845107, 3.380428)],
)
def test_golden_numbers_without_a_miner(alpha, beta, mean, total):
    for reduction, golden in (("mean_all", mean), ("sum", total)):
        loss = MultiSimilarityLoss(None, alpha, beta, 0.5, miner=None, reduction=reduction)
        assert value(loss) == pytest.approx(golden, abs=1e-6)


@pytest.mark.parametrize(
    ("preset", "overrides", "golden"),
    [
        ("sapbert", {}, 0.507178),
        ("hiprbert", {}, 3.227187),
        ("coder", {}, 0.339372),
        ("coder", {"positive_base": 1.0, "negative_base": 0.5}, 0.458254),
        ("italian_v1", {}, 0.339372),
        ("italian_v2", {}, 0.458254),
    ],
)
def test_golden_numbers_of_the_presets(preset, overrides, golden):
    assert value(MultiSimilarityLoss.from_preset(None, preset, **overrides)) == pytest.approx(golden, abs=1e-6)


def test_presets_are_what_was_published():
    published = {
        "sapbert": (1, 60, 0.5, TripletMarginMiner(0.2, "l2_normalized"), "mean_all"),
        "coder": (2, 50, 0.5, MultiSimilarityMiner(0.1), "mean_all"),
        "italian_v1": (2, 50, 0.5, MultiSimilarityMiner(0.1), "mean_all"),
        "italian_v2": (2, 50, 1, 0.5, MultiSimilarityMiner(0.1), "mean_all"),
        "bergamot": (2, 50, 0.5, TripletMarginMiner(0.2, "l2_normalized"), "mean_all"),
        "hiprbert": (2, 2, 0.5, TripletMarginMiner(0.25, "cosine"), "sum"),
    }
    assert {name: tuple(preset.values()) for name, preset in PRESETS.items()} == published
    loss = MultiSimilarityLoss.from_preset(None, "sapbert", beta=50)
    assert (loss.alpha, loss.beta) == (1, 50)


def by_double_loop(similarities: Tensor, same: list[list[bool]], kept: tuple[Tensor, Tensor], settings) -> list[float]:
    """Each row's loss from its definition, with the pairs a miner kept."""
    alpha, beta, positive_base, negative_base = settings
    losses = []
    for i, row in enumerate(similarities.tolist()):
        pull = push = 0.0
        for j, s in enumerate(row):
            if j != i and same[i][j] and kept[0][i][j]:
                pull += math.exp(-alpha * (s - positive_base))
            elif j != i and not same[i][j] and kept[1][i][j]:
                push += math.exp(beta * (s - negative_base))
        losses.append(math.log(1 + pull) / alpha + math.log(1 + push) / beta)
    return losses


@pytest.mark.parametrize("miner", [None, TripletMarginMiner(0.1), MultiSimilarityMiner(0.05)], ids=str)
def test_a_double_loop_gives_the_same(miner):
    """Random batches with ties, singletons and one class; would catch a term with the other's alpha or threshold."""
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        embeddings = torch.randn(13, 3, generator=generator, dtype=torch.float64)
        embeddings[4] = embeddings[9]
        labels = torch.randint(0, 1 + seed % 6, (13,), generator=generator)
        unit = embeddings / embeddings.norm(dim=1, keepdim=True)
        same = labels[:, None] == labels[None, :]
        everything = same & ~torch.eye(13, dtype=torch.bool), ~same
        kept = everything if miner is None else miner(embeddings, unit @ unit.T, *everything)
        rows = by_double_loop(unit @ unit.T, same.tolist(), kept, (3.0, 20.0, 0.7, 0.4))
        for reduction, expected in (
            ("sum", sum(rows)),
            ("mean_all", sum(rows) / 13),
            ("mean_nonzero", sum(rows) / max(1, sum(row > 0 for row in rows))),
        ):
            loss = MultiSimilarityLoss(
                None, 3, 20, positive_base=0.7, negative_base=0.4, miner=miner, reduction=reduction
            )
            assert value(loss, embeddings, labels) == pytest.approx(expected, abs=1e-9)


@pytest.fixture(scope="module")
def birds() -> Terminology:
    """Three concepts; the text "crane" names the bird and the machine."""
    names = {"BIRD": ["crane", "grus"], "MACHINE": ["crane", "derrick"], "FISH": ["carp", "cyprinus"]}
    terms = [Term(f"X:{code}", text) for code, texts in names.items() for text in texts]
    return Terminology.from_records(terms, SourceInfo("X", "Invented"))


def text_ids(terminology: Terminology, *texts: str) -> Tensor:
    return torch.tensor([list(terminology.strings).index(text) for text in texts])


def test_an_ambiguous_text_is_a_negative_of_none_of_its_concepts(birds):
    """Would catch labels compared as numbers, or only the first concept of a text looked up."""
    loss = MultiSimilarityLoss(None, lookup=birds, miner=None)
    labels = text_ids(birds, "crane", "grus", "derrick", "carp")
    positives, negatives = concept_pairs(labels, loss.lookup, mask_same_text=True)
    assert positives.int().tolist() == [[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert negatives.int().tolist() == [[0, 0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 0]]
    embeddings = torch.randn(4, 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    apart = MultiSimilarityLoss(None, lookup=ConceptLookup(birds), miner=None, beta=1e3, negative_base=-1)
    apart.compute_loss_from_embeddings([embeddings[:2]], text_ids(birds, "crane", "derrick")).backward()
    pulled = embeddings.detach() - embeddings.grad
    before, after = (torch.cosine_similarity(e[0], e[1], dim=0) for e in (embeddings.detach(), pulled))
    assert after > before


def test_a_text_is_not_its_own_synonym(birds):
    """Would catch a positive pair that is similar by construction, and a duplicate taken for a negative."""
    labels = text_ids(birds, "grus", "grus", "carp")
    lookup = ConceptLookup(birds)
    masked, kept = (concept_pairs(labels, lookup, mask_same_text=masked) for masked in (True, False))
    assert not masked[0].any() and kept[0].int().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert torch.equal(masked[1], kept[1]) and not masked[1][0, 1]


def test_columns_are_one_batch(birds):
    """Would catch a loss that sees one column, or pairs a text with the label of another column."""
    embeddings = torch.randn(6, 4, generator=torch.Generator().manual_seed(1))
    labels = text_ids(birds, "crane", "carp", "grus", "derrick", "cyprinus", "carp")
    loss = MultiSimilarityLoss(None, lookup=birds)
    columns = loss.compute_loss_from_embeddings(list(embeddings.chunk(2)), labels.reshape(2, 3).T)
    assert columns == loss.compute_loss_from_embeddings([embeddings], labels) != 0


def test_forward_embeds_and_nothing_else(monkeypatch):
    """Shell and kernel: the model is asked once, with the features as they came."""
    asked = []
    stub = SimpleNamespace(embed_columns=lambda model, features: asked.append((model, features)) or [VECTORS])
    monkeypatch.setitem(sys.modules, "st_biomed.losses.embed", stub)
    model, features = torch.nn.Identity(), [{"input_ids": CLASSES}]
    assert MultiSimilarityLoss(model)(features, CLASSES).item() == value(MultiSimilarityLoss(None))
    assert asked == [(model, features)]


def test_text_ids_of_another_terminology_are_refused(birds):
    with pytest.raises(InputError, match=r"text ids from 0 to 4 .* found 0 to 99"):
        value(MultiSimilarityLoss(None, lookup=birds), labels=torch.tensor([0, 1, 2, 99]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0}, "alpha must be a number above 0, found 0"),
        ({"beta": -1}, "beta must be a number above 0, found -1"),
        ({"base": math.inf}, "base must be a finite number, found inf"),
        ({"reduction": "mean"}, "unknown reduction 'mean': allowed are 'mean_all', 'mean_nonzero', 'sum'"),
        ({"miner": 0.2}, "miner must be an object such as TripletMarginMiner(0.2), or None, found 0.2"),
        ({"lookup": "icd10cm"}, "lookup must be a ConceptLookup, a Terminology or None, found str"),
    ],
)
def test_bad_arguments_are_refused_when_the_loss_is_made(arguments, message):
    with pytest.raises(InputError, match=re.escape(message)):
        MultiSimilarityLoss(None, **arguments)


def test_an_unknown_preset_names_the_nearest():
    with pytest.raises(InputError, match="unknown preset 'sapbret'.*did you mean 'sapbert'"):
        MultiSimilarityLoss.from_preset(None, "sapbret")


def test_config_names_the_terminology_and_the_miner(birds):
    config = MultiSimilarityLoss.from_preset(None, "coder", lookup=birds).get_config_dict()
    assert config["terminology"] == birds.digest and config["miner"] == {
        "miner": "MultiSimilarityMiner",
        "epsilon": 0.1,
    }
