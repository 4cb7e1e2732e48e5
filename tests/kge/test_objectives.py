"""Losses and negatives against loops over triples."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.kge import KGESettings
from st_biomed.kge.negatives import TrueTriples, draw_entities
from st_biomed.kge.objectives import nuclear_3_norm, self_adversarial
from st_biomed.kge.scoring import MODELS
from st_biomed.kge.steps import EpochRunner
from st_biomed.kge.trained import model_for
from tests.kge.graphs import wheel


def log_sigmoid(x: float) -> float:
    return -math.log1p(math.exp(-x))


def by_hand(positives: list[float], negatives: list[list[float]], margin: float, temperature: float) -> float:
    """Equation 5 of Sun et al. 2019, with scores for negative distances."""
    total = 0.0
    for positive, of_triple in zip(positives, negatives):
        weights = [math.exp(temperature * score) for score in of_triple]
        total -= log_sigmoid(margin + positive)
        for weight, score in zip(weights, of_triple):
            total -= weight / sum(weights) * log_sigmoid(-score - margin)
    return total / len(positives)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("margin", [0.0, 3.0])
def test_the_self_adversarial_loss_is_that_of_the_equation(margin: float, temperature: float) -> None:
    positives, negatives = torch.randn(4), torch.randn(4, 5)
    expected = by_hand(positives.tolist(), negatives.tolist(), margin, temperature)
    found = self_adversarial(positives, negatives, margin=margin, temperature=temperature)
    assert found.item() == pytest.approx(expected, rel=1e-5)


def test_no_gradient_flows_through_the_weights() -> None:
    """The equation treats p as the probability of a draw; would catch a missing detach."""
    negatives = torch.tensor([[1.0, -2.0, 0.5]], requires_grad=True)
    self_adversarial(torch.zeros(1), negatives, margin=1.0, temperature=1.0).backward()
    weights = torch.softmax(negatives.detach(), dim=-1)
    torch.testing.assert_close(negatives.grad, weights * torch.sigmoid(negatives.detach() + 1.0))


@pytest.mark.parametrize("temperature", [0.0, 1.0, 8.0])
def test_true_negatives_do_not_count_even_if_all_are_true(temperature: float) -> None:
    """Catches NaN of a masked score that the temperature makes infinite."""
    positives, negatives = torch.randn(2), torch.randn(2, 3, requires_grad=True)
    true = torch.tensor([[False, True, False], [True, True, True]])
    loss = self_adversarial(positives, negatives, margin=1.0, temperature=temperature, true=true)
    rest = negatives[0, [0, 2]].tolist()
    expected = by_hand(positives[:1].tolist(), [rest], 1.0, temperature) - log_sigmoid(1.0 + float(positives[1]))
    assert loss.item() == pytest.approx(expected / 2, rel=1e-5)
    loss.backward()
    assert negatives.grad is not None and torch.equal(negatives.grad == 0, true)


def test_n3_sums_cubes_of_complex_moduli() -> None:
    model = MODELS["complex"](4, 2, 6, seed=0)
    vectors = [model.entities.weight[:2], model.relations.weight, model.entities.weight[2:]]
    expected = 0.0
    for row in range(2):
        for vector in vectors:
            real, imaginary = vector[row].detach().numpy().reshape(2, 3)
            expected += sum(abs(complex(a, b)) ** 3 for a, b in zip(real, imaginary)) / 2
    found = nuclear_3_norm([model.cubed_moduli(vector) for vector in vectors])
    assert found.item() == pytest.approx(expected, rel=1e-5)


def test_corrupted_triples_that_are_true_are_known() -> None:
    """Against a set; would catch heads looked up as tails, and a fingerprint taken for the triple."""
    rng = np.random.default_rng(0)
    triples = np.unique(rng.integers([9, 3, 9], size=(120, 3)), axis=0)
    known = {tuple(triple) for triple in triples.tolist()}
    true = TrueTriples(triples, 9, 3, torch.device("cpu"))
    given, relations = (torch.from_numpy(rng.integers(size, size=(2, 5))) for size in (9, 3))
    candidates = draw_entities(9, (2, 4), rng)
    for side in ("head", "tail"):
        found = true.among(given, relations, candidates, side)
        for k in range(2):
            for i in range(5):
                for j in range(4):
                    given_end, relation, candidate = (int(n) for n in (given[k, i], relations[k, i], candidates[k, j]))
                    triple = (candidate, relation, given_end) if side == "head" else (given_end, relation, candidate)
                    assert bool(found[k, i, j]) == (triple in known)


def test_fingerprints_that_collide_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two fingerprints for all triples the answers stay right."""
    monkeypatch.setattr("st_biomed.kge.negatives._BITS", 1)
    triples = np.array([[0, 0, 1], [1, 1, 2]])
    true = TrueTriples(triples, 3, 2, torch.device("cpu"))
    found = true.among(torch.tensor([0, 1]), torch.tensor([0, 1]), torch.arange(3), "tail")
    assert found.tolist() == [[False, True, False], [False, False, True]]


def test_a_graph_beyond_63_bits_is_refused() -> None:
    with pytest.raises(InputError, match="are too many to filter negatives"):
        TrueTriples(np.array([[0, 0, 1]]), 1 << 31, 4, torch.device("cpu"))


@pytest.mark.parametrize("reciprocal", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_the_loss_of_a_batch_is_that_of_its_triples_one_by_one(name: str, reciprocal: bool) -> None:
    """Would catch chunks that meet another chunk's negatives, and heads that are corrupted in place of tails."""
    graph = wheel()
    settings = KGESettings(
        model=name,
        dimension=4,
        loss="self_adversarial",
        negatives=3,
        n3=0.0,
        chunk=5,
        batch_size=10,
        reciprocal=reciprocal,
    )
    model = model_for(graph, settings)
    epochs = EpochRunner(model, graph, settings)
    triples = torch.from_numpy(graph.train[:10])
    negatives = draw_entities(12, (2, 2, 3), np.random.default_rng(1))
    known = {tuple(triple) for triple in graph.train.tolist()}
    expected, margin = 0.0, settings.objective(12).margin
    for i, (head, relation, tail) in enumerate(triples.tolist()):
        for side, drawn in (("tail", negatives[0, i // 5]), ("head", negatives[1, i // 5])):
            given, target = (head, tail) if side == "tail" else (tail, head)
            scores = model.score_all(torch.tensor([given]), torch.tensor([relation]), side)[0].tolist()
            others = [(head, relation, n) if side == "tail" else (n, relation, tail) for n in drawn.tolist()]
            fair = [scores[n] for n, other in zip(drawn.tolist(), others) if other not in known]
            of_one = by_hand([scores[target]], [fair], margin, 1.0) if fair else None
            expected += of_one if of_one is not None else -log_sigmoid(margin + scores[target])
    assert epochs._sampled(triples, negatives).item() == pytest.approx(expected / 20, rel=1e-4)


@pytest.mark.parametrize("reciprocal", [False, True])
@pytest.mark.parametrize("cells", [1, 1 << 24])
def test_one_against_all_is_the_cross_entropy_of_both_ends(
    cells: int, reciprocal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one cell the batch is taken triple by triple; would catch parts that are not weighted by their size."""
    monkeypatch.setattr("st_biomed.kge.steps._CELLS", cells)
    graph = wheel()
    settings = KGESettings(
        model="complex", dimension=4, loss="one_vs_all", n3=0.1, batch_size=64, reciprocal=reciprocal
    )
    model = model_for(graph, settings)
    epochs = EpochRunner(model, graph, settings)
    triples = torch.from_numpy(graph.train)
    found = epochs._one_vs_all(triples)
    gradient = model.entities.weight.grad
    assert gradient is not None
    model.entities.weight.grad = None
    heads, relations, tails = triples.T
    of_tails = model.score_all(heads, relations, "tail").log_softmax(1)[torch.arange(len(triples)), tails]
    of_heads = model.score_all(tails, relations, "head").log_softmax(1)[torch.arange(len(triples)), heads]
    entities = (model.entities(heads), model.entities(tails))
    of_predictions = (model.relations(relations), model.relations(relations + 3 if reciprocal else relations))
    cubes = sum(model.cubed_moduli(factor).sum(1).mean() for factor in entities)
    cubes = cubes + sum(model.cubed_moduli(factor).sum(1).mean() / 2 for factor in of_predictions)
    expected = -(of_tails.mean() + of_heads.mean()) / 2 + 0.1 * cubes
    assert found.item() == pytest.approx(float(expected.detach()), rel=1e-5)
    expected.backward()
    torch.testing.assert_close(gradient, model.entities.weight.grad)
