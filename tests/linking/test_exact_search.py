"""Exact search is that of all pairs in float64, and does not depend on how many queries are searched at once."""

from __future__ import annotations

import numpy as np
import pytest

from st_biomed.linking import exact_search
from st_biomed.linking.pair_scores import Similarity, best_first, pair_scores, rounded
from st_biomed.linking.vector_index import VectorIndex, rows_for_search

SIMILARITIES = ["cosine", "dot", "euclidean"]


def of_all_pairs(rows: np.ndarray, queries: np.ndarray, k: int, similarity: str) -> tuple[np.ndarray, np.ndarray]:
    """The result by a loop over all pairs."""
    scores = np.array(
        [[score(query, row, similarity) for row in rows.astype(float)] for query in queries.astype(float)]
    )
    shown = (np.round(scores, 6) + 0.0).astype(np.float32)
    order = np.argsort(-shown, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(shown, order, 1), order


def score(query: np.ndarray, row: np.ndarray, similarity: str) -> float:
    return -float(np.linalg.norm(query - row)) if similarity == "euclidean" else float(query @ row)


def twins(n: int, copies: int, dimension: int, similarity: str, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which each is there several times, in random order, and 64 queries near some of them."""
    rng = np.random.default_rng(seed)
    rows = np.tile(3 * rng.standard_normal((n, dimension)), (copies, 1))[rng.permutation(n * copies)]
    queries = rows[:64] + rng.standard_normal((64, dimension))
    return rows_for_search(rows, similarity), rows_for_search(queries, similarity)  # type: ignore[arg-type]


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("k", [1, 7, 16])
def test_one_query_alone_finds_what_it_finds_among_many(similarity: Similarity, k: int) -> None:
    """Catches scores whose last bits, and with them the order of equal rows, depend on the number of queries."""
    rows, queries = twins(401, 2, 96, similarity)
    index = VectorIndex(rows, "exact", similarity)
    together = index.search(queries, k)
    for i in range(len(queries)):
        for alone, among in zip(index.search(queries[i : i + 1], k), together):
            np.testing.assert_array_equal(alone[0], among[i])


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize(
    ("n", "copies", "block"), [(60, 3, 1 << 26), (9, 50, 1 << 26), (9, 50, 40 * 4 * 24), (2, 700, 9600)]
)
@pytest.mark.parametrize("k", [1, 20, 64])
def test_of_equal_rows_the_first_are_in_the_list(
    similarity: Similarity, n: int, copies: int, block: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a list whose end is any of the rows that are equally near, in one block and over several."""
    monkeypatch.setattr(exact_search, "BLOCK_BYTES", block)
    rows, queries = twins(n, copies, 24, similarity)
    scores, found = VectorIndex(rows, "exact", similarity).search(queries, k)
    expected_scores, expected = of_all_pairs(rows, queries, k, similarity)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(scores, expected_scores)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_of_equal_rows_that_may_be_found_the_first_are(similarity: Similarity) -> None:
    """Catches places among the allowed rows that are taken for rows of the matrix when all rows are compared."""
    rows, queries = twins(5, 40, 24, similarity)
    allowed = np.arange(3, len(rows), 2)
    _, found = VectorIndex(rows, "exact", similarity).search(queries, 10, allowed)
    np.testing.assert_array_equal(found, allowed[of_all_pairs(rows[allowed], queries, 10, similarity)[1]])


def test_rows_that_score_the_same_to_six_decimals_tie() -> None:
    """The last of 100 rows is the nearest by a billionth. Catches the first of the candidates for the first of all rows."""
    rows = np.zeros((100, 2), np.float32)
    rows[:, 0] = 0.1 + 1e-8 * np.arange(100)
    scores, found = VectorIndex(rows, "exact", "dot").search(np.array([[0.1, 0]], np.float32), 1)
    assert (scores.tolist(), found.tolist()) == ([[np.float32(0.01)]], [[0]])


def test_no_row_is_longer_than_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches the length of the first or the last block, and that of the shortest row."""
    monkeypatch.setattr(exact_search, "BLOCK_BYTES", 2 * 4 * 2)  # two rows
    rows = np.array([[1, 0], [0, 1], [3, 4], [1, 1], [0, 2]], np.float32)
    assert 5 <= exact_search.longest_row(rows, "dot") < 5.1
    assert 1 < exact_search.longest_row(rows[:2].astype(np.float16), "cosine") < 1.01


def test_a_small_distance_between_long_vectors_is_that_of_the_pair() -> None:
    """Catches distances by |q|^2 + |v|^2 - 2qv in float32: they were wrong in the second decimal here."""
    rng = np.random.default_rng(0)
    rows = 20 * rng.standard_normal((300, 128)).astype(np.float32)
    queries = rows[:64] + np.float32(1e-3) * rng.standard_normal((64, 128)).astype(np.float32)
    scores, found = VectorIndex(rows, "exact", "euclidean").search(queries, 1)
    np.testing.assert_array_equal(found[:, 0], np.arange(64))
    expected = -np.linalg.norm(queries.astype(float) - rows[:64].astype(float), axis=1)
    np.testing.assert_allclose(scores[:, 0], expected, atol=1e-6)


def test_the_score_of_an_equal_vector_is_zero_without_a_sign() -> None:
    """Catches the score -0.0, which JSON Lines would show."""
    rows = np.eye(3, 8, dtype=np.float32)
    scores, _ = VectorIndex(rows, "exact", "euclidean").search(rows, 1)
    assert not np.signbit(scores).any()
    assert not np.signbit(rounded(np.array([-1e-9, -0.0]))).any()


def test_rows_that_a_graph_did_not_find_come_last() -> None:
    """Catches row -1 scored as the last row of the matrix."""
    rows = np.eye(4, dtype=np.float32)
    scores = pair_scores(rows[3:], rows, np.array([[-1, 2, 3]]), "dot")
    found = best_first(scores, np.array([[-1, 2, 3]]), 3)
    assert found[0].tolist() == [[1.0, 0.0, -np.inf]]
    assert found[1].tolist() == [[3, 2, -1]]
