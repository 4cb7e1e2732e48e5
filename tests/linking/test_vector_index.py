"""Nearest rows: exact search is that of numpy; the graph and the codes come near it, filtered or not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from st_biomed.errors import InputError
from st_biomed.linking import exact_search, vector_index
from st_biomed.linking import recall as recall_module
from st_biomed.linking.recall import TIED, as_mentions, build_with_recall, score_scale, tune_effort
from st_biomed.linking.vector_index import VectorIndex, kinds_for, rows_for_search

RNG = np.random.default_rng(0)
CENTERS = RNG.standard_normal((40, 16))
ROWS = (CENTERS[RNG.integers(0, 40, 1500)] + 0.5 * RNG.standard_normal((1500, 16))).astype(np.float32)
QUERIES = (CENTERS[RNG.integers(0, 40, 60)] + 0.5 * RNG.standard_normal((60, 16))).astype(np.float32)


def naive(rows: np.ndarray, queries: np.ndarray, similarity: str) -> np.ndarray:
    if similarity == "euclidean":
        return -np.linalg.norm(queries[:, None] - rows[None], axis=2)
    return queries @ rows.T


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks of 100 rows, the last of them smaller."""
    monkeypatch.setattr(exact_search, "BLOCK_BYTES", 100 * 16 * 4)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_exact_search_is_that_of_all_products(similarity: str, dtype: str) -> None:
    """Catches rows of a block taken for rows of the matrix, and squared distances taken for scores."""
    rows, queries = (rows_for_search(vectors, similarity) for vectors in (ROWS, QUERIES))
    rows = rows.astype(dtype)
    scores, found = VectorIndex(rows, "exact", similarity).search(queries, 7)
    expected = naive(rows.astype(np.float32), queries, similarity)
    np.testing.assert_allclose(scores, -np.sort(-expected, axis=1)[:, :7], atol=2e-5)
    np.testing.assert_allclose(np.take_along_axis(expected, found, 1), scores, atol=2e-5)


def test_of_equal_rows_the_first_comes_first() -> None:
    """Catches an order that depends on blocks: three copies of one row lie in three of them."""
    rows = rows_for_search(ROWS[:500], "cosine")
    rows[[450, 220, 130]] = rows[7]
    for kind in ("exact", "hnsw"):
        _, found = VectorIndex.build(rows, kind, "cosine").search(rows[[7]], 4)
        assert found.tolist() == [[7, 130, 220, 450]]


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
@pytest.mark.parametrize("kind", ["hnsw", "ivfpq"])
def test_an_approximate_index_finds_what_is_near_with_its_true_score(
    kind: str, similarity: str, tmp_path: Path
) -> None:
    """Catches codes that are not re-ranked: their scores are those of the matrix."""
    rows, queries = (rows_for_search(vectors, similarity) for vectors in (ROWS, QUERIES))
    index = VectorIndex.build(rows, kind, similarity)
    recall = tune_effort(index, queries, 0.95)
    assert recall.recall_at_1 >= 0.95
    assert (recall.effort, recall.depth) == (index.effort, index.depth)
    scores, found = index.search(queries, 5)
    expected = np.take_along_axis(naive(rows, queries, similarity), found, 1)
    np.testing.assert_allclose(scores, expected, atol=2e-5)
    assert (np.diff(scores) <= 0).all()

    index.save(tmp_path / "graph")
    faiss_index = VectorIndex.read_faiss_index(tmp_path / "graph", rows.shape)
    again = VectorIndex(rows, kind, similarity, faiss_index=faiss_index, effort=index.effort, depth=index.depth)
    np.testing.assert_array_equal(again.search(queries, 5)[1], found)
    with pytest.raises(InputError, match=r"indexes \[1500, 16\], expected \[1500, 17\]"):
        VectorIndex.read_faiss_index(tmp_path / "graph", (1500, 17))
    (tmp_path / "graph").write_bytes((tmp_path / "graph").read_bytes()[:900])
    with pytest.raises(InputError, match="graph: missing or damaged; build the index again"):
        VectorIndex.read_faiss_index(tmp_path / "graph", rows.shape)


def test_the_least_effort_that_reaches_the_recall_is_taken() -> None:
    """Catches a tuning that always ends at the most effort, or at the first."""
    rows, queries = (rows_for_search(vectors, "cosine") for vectors in (ROWS, QUERIES))
    index = VectorIndex.build(rows, "ivfpq", "cosine")
    easy, hard = tune_effort(index, queries, 0.01), tune_effort(index, queries, 1.0)
    assert easy.effort < hard.effort
    assert VectorIndex(rows, "exact", "cosine").faiss_index is None
    assert tune_effort(VectorIndex(rows, "exact", "cosine"), queries, 1.0).recall_at_1 == 1.0


@pytest.mark.parametrize(("found", "efforts", "recall"), [([96, 100], 2, 1.0), ([99, 100], 1, 0.99)])
def test_an_effort_is_enough_by_a_standard_error_and_a_tie_is_found(
    found: list[int], efforts: int, recall: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100 queries each effort finds some; the target is .95 and the standard error of .96 is .02. Row 1 has the score of
    row 0, the nearest, but for its last bits; row 2 is another. Catches an effort that reaches the target by chance, and a
    tie that counts as a miss."""
    asked = iter(found)

    def search(queries: np.ndarray, k: int) -> tuple[None, np.ndarray]:
        n = next(asked)
        return None, np.repeat([1, 2], [n, 100 - n])[:, None]

    index = SimpleNamespace(
        kind="hnsw", similarity="dot", matrix=np.ones((3, 1)), faiss_index="a graph", search=search
    )
    index.exact = lambda queries, k: (None, np.zeros((100, 1), dtype=int))
    index.scores = lambda queries, rows: np.array([1.0, 1 - 5e-6, 0.9])[rows]
    monkeypatch.setattr(recall_module, "_EFFORTS", {"hnsw": [(1, 0), (2, 0)]})
    measured = tune_effort(index, np.ones((100, 1), np.float32), 0.95)  # type: ignore[arg-type]
    assert (index.effort, measured.effort, measured.recall_at_1) == (efforts, efforts, recall)


@pytest.mark.parametrize("similarity", ["dot", "euclidean"])
def test_the_recall_of_long_vectors_is_the_share_of_their_nearest_rows(similarity: str) -> None:
    """Catches a tolerance that is smaller than what two ways to add up a score of long vectors differ by."""
    rng = np.random.default_rng(0)
    rows = 5 * rng.standard_normal((1000, 64)).astype(np.float32)
    queries = rows[rng.integers(0, 1000, 300)] + rng.standard_normal((300, 64)).astype(np.float32)
    index = VectorIndex.build(rows, "hnsw", similarity)
    recall = tune_effort(index, queries, 0.99)
    same = index.search(queries, 1)[1] == index.exact(queries, 1)[1]
    assert recall.recall_at_1 == same.mean() >= 0.99


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
def test_rows_that_differ_in_their_last_bits_are_as_good_for_the_recall(similarity: str) -> None:
    """Catches a recall that counts the other spelling of a name as a miss: here every nearest row has a copy."""
    rng = np.random.default_rng(0)
    rows = 5 * rng.standard_normal((500, 64)).astype(np.float32)
    rows = rows_for_search(np.concatenate([rows, rows * np.float32(1 + 3e-7)]), similarity)
    index = VectorIndex.build(rows, "hnsw", similarity)
    nearest = np.arange(500)[:, None]
    least = index.scores(rows[:500], nearest) - TIED * score_scale(index, rows[:500], nearest)
    assert (index.scores(rows[:500], nearest + 500) >= least).all()
    assert (index.scores(rows[:500], (nearest + 1) % 500) < least).mean() > 0.99


@pytest.mark.parametrize("kind", ["exact", "hnsw", "ivfpq"])
@pytest.mark.parametrize("exact_up_to", [0, 10_000])
def test_only_the_rows_that_may_be_found_are(kind: str, exact_up_to: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a filter that is applied behind the search: one row in fifteen may be found, and all five are."""
    monkeypatch.setattr(vector_index, "EXACT_UP_TO", exact_up_to)
    rows, queries = (rows_for_search(vectors, "cosine") for vectors in (ROWS, QUERIES))
    allowed = np.arange(3, len(rows), 15)
    index = VectorIndex.build(rows, kind, "cosine")
    scores, found = index.search(queries, 5, allowed)
    expected = -np.sort(-naive(rows[allowed], queries, "cosine"), axis=1)[:, :5]
    assert np.isin(found, allowed).all()
    assert (scores[:, 0] >= expected[:, 0] - 2e-5).mean() >= 0.95
    if kind == "exact" or exact_up_to:
        np.testing.assert_allclose(scores, expected, atol=2e-5)


def test_more_rows_than_there_are_or_than_a_graph_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_index, "_DEEPEST", 50)
    rows, queries = (rows_for_search(vectors, "cosine") for vectors in (ROWS[:120], QUERIES))
    for kind in ("exact", "hnsw"):
        _, found = VectorIndex.build(rows, kind, "cosine").search(queries, 500)
        assert found.shape == (60, 120)
        assert (np.sort(found, axis=1) == np.arange(120)).all()


def test_kinds_by_size() -> None:
    """30 MB of vectors are compared, of 1.5 GB a graph may be held, of 52 GB not."""
    found = [kinds_for(n, d) for n, d in ((20_000, 384), (1_000_000, 384), (17_000_000, 768))]
    assert found == [("exact",), ("ivfpq", "hnsw"), ("ivfpq",)]


def test_the_next_kind_is_taken_where_the_first_misses_the_recall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches an index that is kept although it finds too little, and a worse one that is kept as the last."""
    rows, queries = (rows_for_search(vectors, "cosine") for vectors in (ROWS, QUERIES))
    assert build_with_recall(rows, ("ivfpq", "hnsw"), "cosine", queries, 0.5)[0].kind == "ivfpq"
    rng = np.random.default_rng(1)
    rows, queries = (rows_for_search(rng.standard_normal((n, 64)), "cosine") for n in (1500, 200))
    index, recall = build_with_recall(rows, ("ivfpq", "hnsw"), "cosine", queries, 1.0)
    assert (index.kind, recall.effort) == ("hnsw", index.effort)
    monkeypatch.setattr(recall_module, "_EFFORTS", {"hnsw": [(4, 0)], "ivfpq": [(1, 1)]})
    index, recall = build_with_recall(rows, ("hnsw", "ivfpq"), "cosine", queries, 1.0)
    assert (index.kind, recall.recall_at_1 < 1) == ("hnsw", True)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean"])
def test_vectors_in_a_narrow_cone_are_found_by_their_codes(similarity: str) -> None:
    """Catches codes that tell how far a row reaches along what all rows share: they found 5 of 100 here."""
    rng = np.random.default_rng(1)
    rows, queries = (rows_for_search(1 + 0.05 * rng.standard_normal((n, 16)), similarity) for n in (1500, 100))
    assert tune_effort(VectorIndex.build(rows, "ivfpq", similarity), queries, 0.95).recall_at_1 >= 0.9


@pytest.mark.parametrize("kind", ["hnsw", "ivfpq"])
def test_the_fewer_rows_may_be_found_the_greater_the_effort(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a filtered search that looks into as many cells, or at as many nodes, as one of all rows."""
    monkeypatch.setattr(vector_index, "EXACT_UP_TO", 0)
    rows, queries = (rows_for_search(vectors, "cosine") for vectors in (ROWS, QUERIES))
    allowed = np.arange(3, len(rows), 15)
    index = VectorIndex.build(rows, kind, "cosine")
    index.effort = 2
    _, found = index.search(queries, 5, allowed)
    assert (found >= 0).mean() > 0.95


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InputError, match="unknown kind 'hsnw': .*did you mean 'hnsw'"):
        VectorIndex(ROWS, "hsnw", "cosine")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown similarity 'manhattan'"):
        VectorIndex(ROWS, "exact", "manhattan")  # type: ignore[arg-type]


def test_unit_rows_leave_a_vector_of_zeros() -> None:
    rows = rows_for_search(np.array([[3.0, 4.0], [0.0, 0.0]]), "cosine")
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.0, 0.0]], atol=1e-7)
    np.testing.assert_array_equal(rows_for_search(np.array([[3.0, 4.0]]), "dot"), [[3.0, 4.0]])


def test_mistyped_names_lack_one_character_and_are_always_the_same() -> None:
    names = ["flumpa", "x", "", "mimpic gradtha"]
    mistyped = as_mentions(names, np.random.default_rng(0))
    assert [len(name) for name in mistyped] == [5, 1, 0, 13]
    assert as_mentions(names, np.random.default_rng(0)) == mistyped
