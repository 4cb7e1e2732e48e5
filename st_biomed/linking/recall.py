"""The recall of an approximate index, and the least effort that reaches a target recall."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from st_biomed.errors import InputError
from st_biomed.linking.catalog import Catalog
from st_biomed.linking.encoding import NameEncoder
from st_biomed.linking.pair_scores import Similarity
from st_biomed.linking.vector_index import Kind, VectorIndex, faiss_threads, kinds_for, rows_for_search

TIED = 1e-5
"""Scores with a smaller difference, relative to :func:`score_scale`, count as equal: names that differ only in case often
have the same vector but for its last bits."""

_QUERIES = 2000
_STEPS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
_EFFORTS = {
    "hnsw": [(step, 0) for step in _STEPS],
    "ivfpq": [*((step, 32 if step < 128 else 64) for step in _STEPS), (1024, 256)],
}
"""Values of ``(effort, depth)`` of :class:`VectorIndex`, in the order of trial."""


class Recall(NamedTuple):
    """A measured recall.

    Attributes:
        recall_at_1: Share of the queries whose best name has the score of the nearest name.
        n_queries: Number of queries.
        times_faster: Queries per second, relative to exact search.
        effort, depth: Settings of the measurement.
    """

    recall_at_1: float
    n_queries: int
    times_faster: float
    effort: int
    depth: int

    def to_dict(self) -> dict[str, Any]:
        return {
            **self._asdict(),
            "recall_at_1": round(self.recall_at_1, 6),
            "times_faster": round(self.times_faster, 2),
        }


def tune_effort(index: VectorIndex, queries: np.ndarray, target: float) -> Recall:
    """Set the index to the least effort that reaches the recall, or to the greatest effort if none does.

    Args:
        index: The index, whose ``effort`` and ``depth`` are set.
        queries: float32 ``[Q, D]``, not from the index, because vectors in the index are easier to find.
        target: recall@1 to exceed by one standard error, because the first of many efforts to reach it may do so by
            chance.
    """
    start = time.perf_counter()
    _, nearest = index.exact(queries, 1)
    exact_seconds = time.perf_counter() - start
    if index.faiss_index is None:
        return Recall(1.0, len(queries), 1.0, index.effort, index.depth)
    least = index.scores(queries, nearest) - TIED * score_scale(index, queries, nearest)
    for effort, depth in _EFFORTS[index.kind]:
        index.effort, index.depth = effort, depth
        start = time.perf_counter()
        _, names = index.search(queries, 1)
        seconds = time.perf_counter() - start
        reached = float((index.scores(queries, names) >= least).mean())
        found = Recall(reached, len(queries), exact_seconds / seconds, index.effort, index.depth)
        if reached - np.sqrt(reached * (1 - reached) / len(queries)) >= target:
            break
    return found


def score_scale(index: VectorIndex, queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """What a score changes by, where the vectors change by their own size, float64 ``[Q, R]``.

    For inner products it is the product of the two lengths, for distances their sum; for cosines it is 1.

    Args:
        index: The index.
        queries: float32 ``[Q, D]``.
        rows: Rows of the matrix for each query, ``[Q, R]``.
    """
    of_queries = np.linalg.norm(queries.astype(np.float64), axis=1, keepdims=True)
    of_rows = np.linalg.norm(index.matrix[rows].astype(np.float64), axis=2)
    return of_queries + of_rows if index.similarity == "euclidean" else of_queries * of_rows


def build_with_recall(
    matrix: np.ndarray, kinds: Sequence[Kind], similarity: Similarity, queries: np.ndarray, target: float
) -> tuple[VectorIndex, Recall]:
    """The first kind that reaches the recall, or the kind with the highest recall.

    Args:
        matrix, similarity: See :class:`VectorIndex`.
        kinds: Kinds in the order of trial.
        queries, target: See :func:`tune_effort`.
    """
    best: tuple[VectorIndex, Recall] | None = None
    for kind in kinds:
        index = VectorIndex.build(matrix, kind, similarity)
        found = tune_effort(index, queries, target)
        if best is None or found.recall_at_1 > best[1].recall_at_1:
            best = index, found
        if found.recall_at_1 >= target:
            break
    if best is None:
        raise InputError("kinds: expected at least one, found none")
    return best


def as_mentions(names: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Names with a typing error: one character is left out, so hardly any of them is a name in the index."""
    places = (rng.random(len(names)) * [max(len(name), 1) for name in names]).astype(int)
    return [name[:at] + name[at + 1 :] if len(name) > 1 else name for name, at in zip(names, places.tolist())]


def build_searchable_index(
    matrix: np.ndarray,
    catalog: Catalog,
    encoder: NameEncoder,
    kind: Kind | Literal["auto"],
    similarity: Similarity,
    recall: float,
) -> tuple[VectorIndex, Recall]:
    """The matrix in the first kind of index that reaches the recall on names with one character left out."""
    with faiss_threads(torch.get_num_threads()):
        rng = np.random.default_rng(0)
        sample = np.sort(rng.choice(len(catalog), min(_QUERIES, len(catalog)), replace=False))
        mentions = encoder.encode(as_mentions(catalog.texts(sample), rng), task="query")
        kinds = kinds_for(*matrix.shape) if kind == "auto" else (kind,)
        return build_with_recall(matrix, kinds, similarity, rows_for_search(mentions, similarity), recall)
