"""MCSM against loops, scikit-learn's DCG and numbers worked out by hand."""

from __future__ import annotations

import importlib
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import dcg_score

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.metrics import largest_mcsm, mcsm_scores, type_gains, without_self
from st_biomed.neighbors import nearest

module = importlib.import_module("st_biomed.metrics.mcsm")


def as_csr(types: list[set[int]]) -> CSR:
    rows = [(i, kind) for i, kinds in enumerate(types) for kind in kinds]
    concept, kind = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    return CSR.from_pairs(concept, kind, len(types))


def others(vectors: np.ndarray, k: int) -> np.ndarray:
    return without_self(nearest(vectors, vectors, k + 1)[1])


def naive(neighbors: np.ndarray, types: list[set[int]]) -> dict[int, list[float]]:
    """The equation by loops: type to the inner sum of each of its concepts."""
    sums: dict[int, list[float]] = {}
    for concept, kinds in enumerate(types):
        for kind in sorted(kinds):
            hits = [1 / log2(i + 1) for i, other in enumerate(neighbors[concept], 1) if kind in types[other]]
            sums.setdefault(kind, []).append(sum(hits))
    return sums


# ---------------------------------------------------------------------- golden numbers


@pytest.mark.parametrize("n", [41, 60])
def test_one_type_has_the_maximum(n: int):
    """Catches a sum over 39 neighbors (10.904420), self counted among them, and a discount of log2(i)."""
    neighbors = others(np.random.default_rng(0).normal(size=(n, 6)), 40)
    types = as_csr([{0}] * n)
    scores = mcsm_scores(type_gains(neighbors, types), types, 1)
    assert scores.macro == pytest.approx(11.091033, abs=5e-7)
    assert scores.micro == pytest.approx(scores.macro) == largest_mcsm(40, n)


def test_with_one_neighbor_it_is_one():
    """Catches a discount that begins at log2(3), or a rank that is shifted by self."""
    types = as_csr([{0}] * 41)
    neighbors = others(np.random.default_rng(1).normal(size=(41, 6)), 1)
    assert neighbors.shape == (41, 1)
    assert mcsm_scores(type_gains(neighbors, types), types, 1).macro == 1.0 == largest_mcsm(1, 41)


def test_a_case_worked_out_by_hand():
    """Catches neighbors without the type counted, a type other than the concept's own, and the two means confused."""
    neighbors = np.array([[1, 2, 3], [0, 2, 3], [3, 1, 0], [2, 1, 0]])
    types = as_csr([{0}, {0, 1}, {0}, {1}])
    second, third = 1 / log2(3), 1 / 2
    gains = type_gains(neighbors, types)
    # Concept 0 (type 0): 1, 2. Concept 1: type 0 has 0, 2; type 1 has 3. Concept 2: 1, 0. Concept 3 (type 1): 1.
    assert gains == pytest.approx([1 + second, 1 + second, third, second + third, second])
    scores = mcsm_scores(gains, types, 2)
    assert scores.of_types == pytest.approx([(2 + 3 * second + third) / 3, (third + second) / 2])
    assert scores.n_of_types.tolist() == [3, 2]
    assert scores.macro == pytest.approx(scores.of_types.mean())
    assert scores.micro == pytest.approx(gains.mean()) != pytest.approx(scores.macro)


# ---------------------------------------------------------------------- oracles


@settings(max_examples=60)
@given(st.integers(2, 25), st.integers(1, 12), st.integers(1, 5), st.integers(0, 2**31), st.integers(1, 60))
def test_it_is_the_equation_of_the_paper(n: int, k: int, n_types: int, seed: int, cells: int):
    """Catches blocks put together wrongly, types of concepts without any, and gains in another order than the types."""
    rng = np.random.default_rng(seed)
    types = [set(np.flatnonzero(rng.random(n_types) < 0.4).tolist()) for _ in range(n)]
    types[0] = set(range(n_types))
    neighbors = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)])
    expected, csr = naive(neighbors, types), as_csr(types)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CELLS", cells)
        gains = type_gains(neighbors, csr)
    assert {kind: gains[csr.indices == kind].tolist() for kind in expected} == {
        kind: pytest.approx(values) for kind, values in expected.items()
    }
    scores = mcsm_scores(gains, csr, n_types)
    assert scores.macro == pytest.approx(np.mean([np.mean(values) for values in expected.values()]))
    assert scores.micro == pytest.approx(np.concatenate(list(expected.values())).mean())


def test_without_ties_a_gain_is_the_dcg_of_scikit_learn():
    """Catches a discount or a cut that is not that of DCG, and neighbors by another similarity than the cosine."""
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(50, 8)) * rng.uniform(0.1, 9, size=(50, 1))
    kind = rng.integers(3, size=50)
    gains = type_gains(others(vectors, 7), as_csr([{int(t)} for t in kind]))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for i in range(50):
        rest = np.delete(np.arange(50), i)
        expected = dcg_score([kind[rest] == kind[i]], [unit[rest] @ unit[i]], k=7)
        assert gains[i] == pytest.approx(expected)


def test_a_neighbor_counts_if_it_has_the_type_among_others():
    """Catches the last type of a neighbor compared, as with one type per concept."""
    types = as_csr([{0}, {0, 1, 2}, {2}])
    assert type_gains(np.array([[1], [2], [1]]), types) == pytest.approx([1, 0, 0, 1, 1])


# ---------------------------------------------------------------------- self and duplicates


def test_self_goes_by_index_wherever_it_stands():
    """Catches the first column dropped for self."""
    found = np.array([[0, 1, 2], [2, 1, 0], [1, 0, 2]])
    assert without_self(found).tolist() == [[1, 2], [2, 0], [1, 0]]


def test_where_self_is_not_found_the_last_goes():
    """Catches a list that keeps k + 1 neighbors, or loses its first, where more than k equal vectors stand before."""
    found = nearest(np.ones((9, 3)), np.ones((9, 3)), 4)[1]
    assert 8 not in found[8]
    assert without_self(found)[8].tolist() == [0, 1, 2] and without_self(found)[1].tolist() == [0, 2, 3]


@settings(max_examples=60)
@given(st.integers(2, 14), st.integers(1, 8), st.integers(1, 3), st.integers(0, 2**31))
def test_the_nearest_others_are_those_of_a_stable_sort(n: int, k: int, n_different: int, seed: int):
    """Catches any mistake with duplicates: few different vectors, each of them many times."""
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-2, 3, size=(n_different, 3))[rng.integers(n_different, size=n)].astype(np.float64)
    norms = np.linalg.norm(vectors, axis=1)
    cosines = (vectors @ vectors.T / np.maximum(norms[:, None] * norms, 1e-9)).astype(np.float32)
    expected = []
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        expected.append(rest[np.argsort(-cosines[i, rest], kind="stable")][:k].tolist())
    assert others(vectors, k).tolist() == expected


# ---------------------------------------------------------------------- edges and errors


def test_of_fewer_than_k_others_the_sum_is_over_those_there_are():
    """Catches a padding that counts, and a maximum that nobody can reach."""
    types = as_csr([{0}] * 4)
    neighbors = others(np.eye(4), 40)
    assert neighbors.shape == (4, 3)
    scores = mcsm_scores(type_gains(neighbors, types), types, 1)
    assert scores.macro == pytest.approx(1 + 1 / log2(3) + 1 / 2) == largest_mcsm(40, 4)


def test_one_concept_alone_has_nothing():
    """Catches an empty list of neighbors that breaks the division by k."""
    types = as_csr([{0}])
    assert type_gains(np.empty((1, 0), dtype=np.int64), types).tolist() == [0.0]
    assert largest_mcsm(40, 1) == 0.0


def test_concepts_without_a_type_have_no_gain_and_give_none():
    """Catches a row of the next concept taken for one without types."""
    types = as_csr([set(), {1}, set(), {0, 1}, set()])
    neighbors = np.array([[1, 3], [0, 3], [4, 0], [1, 2], [3, 1]])
    assert type_gains(neighbors, types) == pytest.approx([1 / log2(3), 0, 1])


@pytest.mark.parametrize(
    ("neighbors", "message"),
    [
        (np.zeros((2, 1), dtype=int), r"expected \[3, k\], found shape \[2, 1\]"),
        (np.zeros(3, dtype=int), r"found shape \[3\]"),
        (np.array([[1], [0], [3]]), r"expected concepts 0..2, found 0..3"),
        (np.array([[1], [0], [-1]]), r"found -1..1"),
        (np.array([[1], [0], [2]]), r"concept 2 is among its own, without_self\(\) leaves it out"),
    ],
)
def test_neighbors_that_are_none_are_refused(neighbors: np.ndarray, message: str):
    """Catches -1 that stands for the last concept, and a concept counted for itself."""
    with pytest.raises(InputError, match=message):
        type_gains(neighbors, as_csr([{0}] * 3))


def test_a_type_without_a_concept_is_refused():
    """Catches 0 / 0 that makes the mean over types NaN."""
    types = as_csr([{0}, {2}])
    with pytest.raises(InputError, match="1 of 3 have no concept"):
        mcsm_scores(np.ones(2), types, 3)
    with pytest.raises(InputError, match="expected numbers below 2, found 2"):
        mcsm_scores(np.ones(2), types, 2)
    with pytest.raises(InputError, match="one for each of 2 types of concepts, found 3"):
        mcsm_scores(np.ones(3), types, 3)
    with pytest.raises(InputError, match="0 of 0 have no concept"):
        mcsm_scores(np.ones(0), as_csr([set()]), 0)


@pytest.mark.parametrize(("k", "n", "message"), [(0, 5, "k must be"), (3, 0, "n_concepts must be")])
def test_a_maximum_of_nothing_is_refused(k: int, n: int, message: str):
    """Catches a sum over no rank that is taken for a maximum of 0."""
    with pytest.raises(InputError, match=f"{message} at least 1, found 0"):
        largest_mcsm(k, n)


@pytest.mark.parametrize("found", [np.zeros(3, dtype=int), np.zeros((3, 0), dtype=int)])
def test_no_list_of_neighbors_is_refused(found: np.ndarray):
    """Catches a bare IndexError."""
    with pytest.raises(InputError, match=r"expected \[N, k \+ 1\]"):
        without_self(found)
