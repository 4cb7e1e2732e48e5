"""Scores against numpy with complex numbers, one triple at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.kge.distances import summed_moduli
from st_biomed.kge.model import KGEModel
from st_biomed.kge.scoring import MODELS, ComplEx, DistMult, RotatE, SimplE, TransE

E, R, D = 7, 3, 6
TRIPLES = torch.tensor([[h, r, t] for h in range(E) for r in range(R) for t in range(E)])


def of(name: str, **options: object) -> KGEModel:
    """A model with values of order one."""
    model = MODELS[name](E, R, D, margin=4.0, seed=1, **options).double()  # type: ignore[arg-type]
    assert 0.9 < model.entities.weight.abs().max() <= 1.0
    return model


def halves(vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return vector[: len(vector) // 2], vector[len(vector) // 2 :]


def joined(vector: np.ndarray) -> np.ndarray:
    real, imaginary = halves(vector)
    return real + 1j * imaginary


def by_hand(name: str, head: np.ndarray, relation: np.ndarray, tail: np.ndarray) -> float:
    """The papers' formulas, for one triple."""
    if name == "transe":
        return -np.abs(head + relation - tail).sum()
    if name == "distmult":
        return (head * relation * tail).sum()
    if name == "complex":
        return (joined(head) * joined(relation) * joined(tail).conj()).sum().real
    if name == "rotate":
        return -np.abs(joined(head) * np.exp(1j * relation) - joined(tail)).sum()
    (head_as_head, head_as_tail), (tail_as_head, tail_as_tail) = halves(head), halves(tail)
    forward, inverse = halves(relation)
    return ((head_as_head * forward * tail_as_tail).sum() + (tail_as_head * inverse * head_as_tail).sum()) / 2


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_those_of_the_formulas(name: str) -> None:
    """Would catch a conjugate on the wrong side, halves that are exchanged, and L2 in place of moduli."""
    model = of(name)
    entities, relations = (table.weight.detach().numpy() for table in (model.entities, model.relations))
    found = model.score(*TRIPLES.T).detach().numpy()
    expected = [by_hand(name, entities[h], relations[r], entities[t]) for h, r, t in TRIPLES.tolist()]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_transe_has_the_euclidean_norm_as_an_option() -> None:
    model = of("transe", norm=2)
    heads, relations, tails = TRIPLES.T
    difference = model.entities(heads) + model.relations(relations) - model.entities(tails)
    torch.testing.assert_close(model.score(heads, relations, tails), -difference.square().sum(1).sqrt())


@pytest.mark.parametrize(("name", "options"), [*((name, {}) for name in MODELS), ("transe", {"norm": 2})])
def test_all_entities_at_once_score_as_each_one(name: str, options: dict[str, int]) -> None:
    """Would catch a query that is built for the wrong side."""
    model = of(name, **options)
    heads, relations, tails = TRIPLES.T
    single = model.score(heads, relations, tails)
    of_tails = model.score_all(heads, relations, "tail").to(single)
    of_heads = model.score_all(tails, relations, "head").to(single)
    rows = torch.arange(len(TRIPLES))
    torch.testing.assert_close(of_tails[rows, tails], single, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(of_heads[rows, heads], single, rtol=1e-5, atol=1e-6)
    assert of_heads.shape == of_tails.shape == (len(TRIPLES), E)


@pytest.mark.parametrize("name", MODELS)
def test_the_score_depends_on_direction_but_for_distmult(name: str) -> None:
    """Would catch SimplE as the mean of two DistMults, which cannot tell a child from its parent."""
    heads, relations, tails = TRIPLES[TRIPLES[:, 0] != TRIPLES[:, 2]].T
    model = of(name)
    gap = (model.score(heads, relations, tails) - model.score(tails, relations, heads)).abs()
    assert (gap.max() < 1e-9) if name == "distmult" else (gap.median() > 1e-2)


@pytest.mark.parametrize("name", MODELS)
def test_reciprocal_relations_ask_for_heads_as_tails(name: str) -> None:
    model = of(name, reciprocal=True)
    heads, relations, tails = TRIPLES.T
    assert len(model.relations.weight) == 2 * R
    torch.testing.assert_close(
        model.score_all(tails, relations, "head"), model.score_all(tails, relations + R, "tail")
    )
    rows = torch.arange(len(TRIPLES))
    single = model.score(heads, relations, tails)
    torch.testing.assert_close(
        model.score_all(heads, relations, "tail")[rows, tails].to(single), single, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("name", ["complex", "rotate"])
def test_cosines_of_vectors_are_those_of_complex_numbers(name: str) -> None:
    """``Re <e, conj(e')>`` over the norms, the similarity that MS v3 takes."""
    vectors = of(name).vectors().double().numpy()
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    numbers = np.stack([joined(vector) for vector in vectors])
    norms = np.linalg.norm(numbers, axis=1)
    expected = (numbers @ numbers.conj().T).real / np.outer(norms, norms)
    np.testing.assert_allclose(units @ units.T, expected, atol=1e-12)
    assert vectors.shape == (E, D)


def test_cubes_are_of_complex_moduli() -> None:
    vectors = of("complex").entities.weight
    expected = [np.abs(joined(vector)) ** 3 for vector in vectors.detach().numpy()]
    np.testing.assert_allclose(of("complex").cubed_moduli(vectors).detach().numpy(), expected)
    np.testing.assert_allclose(of("simple").cubed_moduli(vectors).detach().numpy(), vectors.detach().abs() ** 3)


# ---------------------------------------------------------------------- distances in blocks


@pytest.mark.parametrize("shape", [((5, 6), (4, 6)), ((2, 5, 6), (2, 4, 6)), ((40, 200), (300, 200))])
def test_summed_moduli_and_gradients_are_those_of_autograd(shape: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """The last shape takes several blocks of rows; would catch one that overwrites another's gradient."""
    generator = torch.Generator().manual_seed(0)
    left, right = (torch.randn(size, generator=generator).requires_grad_() for size in shape)
    difference = left.unsqueeze(-2) - right.unsqueeze(-3)
    real, imaginary = difference.chunk(2, dim=-1)
    expected = (real**2 + imaginary**2).sqrt().sum(dim=-1)
    weights = torch.randn(expected.shape, generator=generator)
    wanted = torch.autograd.grad((expected * weights).sum(), (left, right))
    found = summed_moduli(left, right)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)
    gradients = torch.autograd.grad((found * weights).sum(), (left, right))
    torch.testing.assert_close(gradients, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["transe", "rotate"])
def test_equal_vectors_have_a_finite_gradient(name: str) -> None:
    """Would catch the root's infinite slope at zero."""
    model = of(name)
    with torch.no_grad():
        model.entities.weight.zero_()
        model.relations.weight.zero_()
    zeros = torch.zeros(2, dtype=torch.long)
    (model.score(zeros, zeros, zeros).sum() + model.score_all(zeros, zeros, "head").sum()).backward()
    assert model.entities.weight.grad is not None and model.entities.weight.grad.isfinite().all()
    assert model.relations.weight.grad is not None and model.relations.weight.grad.isfinite().all()


@pytest.mark.parametrize("name", MODELS)
def test_scores_under_autocast_stay_close(name: str) -> None:
    model = MODELS[name](E, R, D, seed=1)
    heads, relations, _ = TRIPLES.T
    plain = model.score_all(heads, relations, "tail")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = model.score_all(heads, relations, "tail")
        rounded.float().sum().backward()
    torch.testing.assert_close(rounded.float(), plain, rtol=0.05, atol=0.1)
    assert model.entities.weight.grad is not None and model.entities.weight.grad.isfinite().all()


# ---------------------------------------------------------------------- initial values and bad input


def test_initial_values_are_those_of_the_papers() -> None:
    products, distances = ComplEx(200, 3, 100), TransE(200, 3, 100, margin=9)
    assert 0.0199 < products.entities.weight.abs().max() <= 2 / 100
    assert 0.109 < distances.entities.weight.abs().max() <= 11 / 100
    assert 3.0 < RotatE(3, 200, 100).relations.weight.abs().max() <= math.pi
    assert RotatE(3, 4, 100).relations.weight.shape == (4, 50)
    same, other = SimplE(5, 2, 4, seed=3), SimplE(5, 2, 4, seed=3)
    assert torch.equal(same.entities.weight, other.entities.weight)
    assert not torch.equal(same.entities.weight, SimplE(5, 2, 4, seed=4).entities.weight)


def test_bad_input_is_named() -> None:
    for make, message in (
        (lambda: ComplEx(3, 2, 5), "dimension must be even, ComplEx has two halves; found 5"),
        (lambda: RotatE(0, 2, 4), "n_entities must be at least 1, found 0"),
        (lambda: TransE(3, 2, 4, norm=3), "norm must be 1 or 2, found 3"),
        (
            lambda: of("complex").score_all(torch.tensor([0]), torch.tensor([0]), "tails"),
            "unknown side 'tails'.*'tail'",
        ),
    ):
        with pytest.raises(InputError, match=message):
            make()
    assert DistMult(3, 2, 5).dimension == 5


def test_an_entity_beyond_the_table_is_refused() -> None:
    with pytest.raises(IndexError):
        of("transe").score(torch.tensor([E]), torch.tensor([0]), torch.tensor([0]))
