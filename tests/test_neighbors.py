"""Nearest neighbors against a loop over all pairs in float64: ties, chunks, similarities, and what is held in memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from st_biomed import neighbors
from st_biomed.errors import InputError
from st_biomed.neighbors import SIMILARITIES, RunningNearest, nearest


def by_loop(queries: np.ndarray, vectors: np.ndarray, k: int, similarity: str) -> tuple[np.ndarray, np.ndarray]:
    """Every pair in float64, rounded to float32, sorted by score and then by index."""
    scores = np.zeros((len(queries), len(vectors)), dtype=np.float32)
    for i, q in enumerate(queries.astype(np.float64)):
        for j, v in enumerate(vectors.astype(np.float64)):
            if similarity == "euclidean":
                scores[i, j] = -np.sqrt(((q - v) ** 2).sum())
            else:
                lengths = np.sqrt((q @ q) * (v @ v)) if similarity == "cosine" else 1.0
                scores[i, j] = (q * v).sum() / lengths if lengths > 0 else 0.0
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, 1), order


@pytest.mark.long
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 9), st.integers(1, 13), st.sampled_from(SIMILARITIES)
)
def test_neighbors_are_those_of_a_loop_whatever_the_chunks(seed, n, k, chunk, similarity):
    """Repeated, scaled and zero vectors on a coarse grid, so that ties within and across chunks are the rule.

    Would catch ties in the order of ``topk``, a chunk's offset, a later vector that pushes out an earlier equal one.
    """
    rng = np.random.default_rng(seed)
    queries = rng.integers(-2, 3, size=(6, 3)).astype(np.float32)
    vectors = rng.integers(-1, 2, size=(n, 3)).astype(np.float32)
    scores, indices = nearest(queries, vectors, k, similarity=similarity, query_chunk=4, vector_chunk=chunk)
    wanted, order = by_loop(queries, vectors, k, similarity)
    np.testing.assert_allclose(scores, wanted, atol=1e-6)
    np.testing.assert_array_equal(indices, order)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("vector_chunk", [7, 64, 1000])
def test_repeated_vectors_come_in_their_own_order_wherever_they_stand(similarity, vector_chunk):
    """A float32 product gives equal vectors scores that differ in the last bit; would catch an order made of that noise."""
    rng = np.random.default_rng(0)
    few = rng.normal(size=(30, 77)).astype(np.float32)
    vectors = few[rng.integers(30, size=500)]
    queries = few[:9] + rng.normal(scale=0.1, size=(9, 77)).astype(np.float32)
    scores, indices = nearest(queries, vectors, 60, similarity=similarity, vector_chunk=vector_chunk)
    wanted, order = by_loop(queries, vectors, 60, similarity)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(scores, wanted)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_of_a_collapsed_model_the_first_vectors_are_found(similarity):
    """Every vector ties with every other: would catch a candidate list that overflows, and NaN."""
    vectors = np.tile(np.random.default_rng(1).normal(size=37).astype(np.float32), (300, 1))
    scores, indices = nearest(vectors[:5], vectors, 20, similarity=similarity, vector_chunk=110)
    np.testing.assert_array_equal(indices, np.tile(np.arange(20), (5, 1)))
    assert len(np.unique(scores)) == 1 and np.isfinite(scores).all()


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_vectors_nearer_than_float32_can_order_are_still_ordered(similarity):
    """Differences far below the error of the product: would catch candidates that are cut at the k-th fast score."""
    rng = np.random.default_rng(2)
    center = rng.normal(size=200)
    vectors = (center + 1e-4 * rng.normal(size=(600, 200))).astype(np.float32)
    queries = (center + 1e-2 * rng.normal(size=(4, 200))).astype(np.float32)
    scores, indices = nearest(queries, vectors, 10, similarity=similarity, vector_chunk=256)
    wanted, order = by_loop(queries, vectors, 10, similarity)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(scores, wanted)


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_a_coarser_product_finds_the_same(precision, monkeypatch):
    """TensorFloat-32 and bfloat16 products are off by a thousandth: would catch a bound that trusts the product."""
    rng = np.random.default_rng(3)
    vectors, queries = rng.normal(size=(400, 32)).astype(np.float32), rng.normal(size=(5, 32)).astype(np.float32)
    exact = neighbors._fast_scores

    def coarse(*arguments):
        scores, bound = exact(*arguments)
        return scores + 0.9 * bound[:, None] * torch.empty_like(scores).uniform_(-1, 1), bound

    torch.manual_seed(0)
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: precision)
    monkeypatch.setattr(neighbors, "_fast_scores", coarse)
    for similarity in SIMILARITIES:
        scores, indices = nearest(queries, vectors, 7, similarity=similarity, vector_chunk=90)
        wanted, order = by_loop(queries, vectors, 7, similarity)
        np.testing.assert_array_equal(indices, order)
        np.testing.assert_allclose(scores, wanted, rtol=1e-6)


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize(("precision", "bits"), [("highest", 23), ("high", 10), ("medium", 7)])
@pytest.mark.parametrize("longer", [0.01, 1, 100])
def test_the_bound_holds_for_factors_of_fewer_bits(similarity, precision, bits, longer, monkeypatch):
    """Factors are rounded as a GPU does. Catches a bound that is that of float32, and one of short queries that forgets the
    squares of long vectors."""
    rng = np.random.default_rng(8)
    queries, vectors = rng.normal(size=(9, 32)), longer * rng.normal(size=(200, 32))
    sides = [
        neighbors._side(*neighbors._measured(rows.astype(np.float32), "rows", None), similarity)
        for rows in (queries, vectors)
    ]
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: precision)

    def rounded(factors):
        mantissa, exponent = torch.frexp(factors)
        return torch.ldexp((mantissa * 2.0 ** (bits + 1)).round() / 2.0 ** (bits + 1), exponent)

    scores, bound = neighbors._fast_scores(
        *(side._replace(factors=rounded(side.factors)) for side in sides), similarity
    )
    q, v = (side.rows.double() for side in sides)
    exact = q @ v.T
    if similarity == "cosine":
        exact = exact / q.norm(dim=1, keepdim=True) / v.norm(dim=1)
    elif similarity == "euclidean":
        exact = exact - (v**2).sum(dim=1) / 2
    assert ((scores.double() - exact).abs() <= bound[:, None]).all()


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_search_within_autocast_is_in_full_precision(similarity):
    """Catches candidates of a product in bfloat16, whose errors are larger than the bound."""
    rng = np.random.default_rng(9)
    vectors, queries = rng.normal(size=(400, 64)).astype(np.float32), rng.normal(size=(5, 64)).astype(np.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        _, indices = nearest(queries, vectors, 30, similarity=similarity)
    np.testing.assert_array_equal(indices, by_loop(queries, vectors, 30, similarity)[1])


def test_a_distance_of_zero_has_no_sign():
    """Catches -0.0, which some sorts put behind 0.0."""
    vectors = np.random.default_rng(10).normal(size=(5, 4)).astype(np.float32)
    assert not np.signbit(nearest(vectors, vectors, 1, similarity="euclidean")[0]).any()


def test_no_block_is_larger_than_the_two_chunks(monkeypatch):
    """The whole table of scores would be 500 times 4000: would catch a search that ignores either chunk."""
    shapes = []
    inner = neighbors._fast_scores

    def recorded(*arguments):
        scores, bound = inner(*arguments)
        shapes.append(tuple(scores.shape))
        return scores, bound

    monkeypatch.setattr(neighbors, "_fast_scores", recorded)
    rng = np.random.default_rng(4)
    nearest(rng.normal(size=(500, 4)), rng.normal(size=(4000, 4)), 3, query_chunk=64, vector_chunk=300)
    assert max(rows for rows, _ in shapes) == 64 and max(columns for _, columns in shapes) == 300
    assert sum(rows * columns for rows, columns in shapes) == 500 * 4000


def test_vectors_may_arrive_piece_by_piece():
    rng = np.random.default_rng(5)
    queries, vectors = rng.normal(size=(6, 8)).astype(np.float32), rng.normal(size=(50, 8)).astype(np.float32)
    search = RunningNearest(queries, 4)
    assert search.result()[0].shape == (6, 0)
    for piece in (vectors[:3], vectors[3:3], vectors[3:31], torch.from_numpy(vectors[31:])):
        search.add(piece)
    np.testing.assert_array_equal(search.result()[1], by_loop(queries, vectors, 4, "cosine")[1])


def test_numpy_or_torch_come_back_as_they_went_in_and_half_precision_is_read(tmp_path):
    """Would catch scores in half precision, and a memory-mapped matrix that cannot be read."""
    rng = np.random.default_rng(6)
    vectors = rng.normal(size=(40, 8)).astype(np.float16)
    np.save(tmp_path / "vectors.npy", vectors)
    mapped = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    queries = vectors[:5].astype(np.float32)
    scores, indices = nearest(queries, mapped, 3, vector_chunk=16)
    wanted, order = by_loop(queries, vectors, 3, "cosine")
    assert (scores.dtype, indices.dtype) == (np.float32, np.int64)
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(scores, wanted)
    as_torch = nearest(torch.from_numpy(queries), torch.from_numpy(vectors), 3, vector_chunk=16)
    assert all(isinstance(part, torch.Tensor) for part in as_torch)
    np.testing.assert_array_equal(as_torch[1], indices)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_a_gpu_finds_the_same(similarity):
    rng = np.random.default_rng(7)
    few = rng.normal(size=(300, 48)).astype(np.float32)
    vectors, queries = few[rng.integers(300, size=5000)], few[:50]
    scores, indices = nearest(queries, vectors, 40, similarity=similarity)
    on_gpu = nearest(torch.from_numpy(queries).cuda(), vectors, 40, similarity=similarity, vector_chunk=999)
    np.testing.assert_array_equal(on_gpu[1].cpu(), indices)
    np.testing.assert_array_equal(on_gpu[0].cpu(), scores)


def test_fewer_vectors_than_asked_for_and_no_query():
    assert nearest(np.ones((2, 3)), np.eye(3), 10)[1].tolist() == [[0, 1, 2], [0, 1, 2]]
    assert nearest(np.ones((0, 3)), np.eye(3), 2)[0].shape == (0, 2)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.eye(2), np.eye(2), 0), {}, "k must be at least 1, found 0"),
        ((np.eye(2), np.eye(2), 1), {"query_chunk": 0}, "query_chunk must be at least 1"),
        ((np.eye(2), np.eye(2), 1), {"vector_chunk": 0}, "vector_chunk must be at least 1"),
        ((np.eye(2), np.eye(2), 1), {"similarity": "cosin"}, "unknown similarity 'cosin'.*did you mean 'cosine'"),
        ((np.eye(2), np.eye(3), 1), {}, "vectors: expected 2 dimensions, found 3"),
        ((np.ones(2), np.eye(2), 1), {}, r"queries: expected \[N, D\], found shape \[2\]"),
        ((np.eye(2), np.full((1, 2), np.nan), 1), {}, "vectors: NaN or infinity"),
        ((np.full((1, 2), np.inf), np.eye(2), 1), {}, "queries: NaN or infinity"),
        (
            (np.eye(2), np.full((1, 2), 1e20), 1),
            {"similarity": "dot"},
            r"vectors: a vector of length 1.4e\+20; the largest",
        ),
    ],
)
def test_bad_arguments_are_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        nearest(*arguments, **options)
