"""Search for the nearest names of a vector: exact, by a graph (HNSW), or by cells and codes with re-ranking (IVF-PQ)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import faiss as _faiss
import numpy as np
from tqdm import tqdm

from st_biomed.errors import InputError, unknown_name
from st_biomed.linking.exact_search import blocks, exact_nearest, faiss_metric, longest_row
from st_biomed.linking.pair_scores import Similarity, best_first, pair_scores

faiss: Any = _faiss  # its type stubs know but a part of what it has

Kind = Literal["exact", "hnsw", "ivfpq"]

EXACT_UP_TO = 50_000
"""Number of names that one core compares with about a thousand queries a second, more than an encoder produces."""

HNSW_UP_TO = 4 << 30
"""Bytes of the float32 vectors; the graph holds all of them in memory, with 256 more bytes per name."""

_LINKS = 32
_EXPLORED_AT_BUILD = 80
_VALUES_PER_CODE = 4
_LEARNED_FROM = 39
"""Rows that FAISS requires for each learned centroid."""

FEWEST_FOR_CODES = 16 * _LEARNED_FROM
"""Minimum number of names; a code has 16 centroids."""

_DEEPEST = 2048
"""Number of neighbors above which exact search is used, since it costs little more than an approximate index."""


def kinds_for(n: int, dimension: int) -> tuple[Kind, ...]:
    """The kinds for ``n`` names, in the order of trial until one reaches the recall.

    Codes are tried before the graph: at recall@1 of .99 they were twice as fast on a million vectors of 384 dimensions
    and were built in half the time (benchmarks/results/linking_speed.md); once built, they take a fraction of the
    memory. If vectors are so close together that codes cannot distinguish them, the graph, which compares the
    vectors themselves, still can.
    """
    if n <= EXACT_UP_TO:
        return ("exact",)
    return ("ivfpq", "hnsw") if n * dimension * 4 <= HNSW_UP_TO else ("ivfpq",)


def check_kind(kind: str, n: int) -> None:
    """Reject an unknown kind, or codes with too few names to learn from.

    Raises:
        InputError: In either case.
    """
    if kind not in ("auto", *get_args(Kind)):
        raise unknown_name("kind", kind, ("auto", *get_args(Kind)))
    if kind == "ivfpq" and n < FEWEST_FOR_CODES:
        raise InputError(f"kind 'ivfpq' needs at least {FEWEST_FOR_CODES} names to learn from, found {n}; use 'exact'")


def rows_for_search(vectors: np.ndarray, similarity: Similarity) -> np.ndarray:
    """float32 ``[N, D]``, of unit length for cosines; a zero vector is unchanged."""
    vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    if similarity != "cosine":
        return vectors
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


class VectorIndex:
    """Top-k search in a matrix.

    Args:
        matrix: ``[N, D]`` of float32 or float16, from :func:`rows_for_search`; may be memory-mapped.
        kind: ``exact``, ``hnsw`` or ``ivfpq``.
        similarity: ``cosine``, ``dot`` or ``euclidean``; the score of ``euclidean`` is the negative distance.
        faiss_index: The FAISS index of the rows; ``None`` for ``exact``.
        effort: ``efSearch`` of a graph, or the number of visited cells (``nprobe``).
        depth: Minimum number of names retrieved by codes before they are re-ranked with the matrix.
    """

    def __init__(
        self,
        matrix: np.ndarray,
        kind: Kind,
        similarity: Similarity,
        *,
        faiss_index: Any = None,
        effort: int = 64,
        depth: int = 0,
    ) -> None:
        for name, value, allowed in (("kind", kind, get_args(Kind)), ("similarity", similarity, get_args(Similarity))):
            if value not in allowed:
                raise unknown_name(name, value, allowed)
        self.matrix, self.kind, self.similarity, self.faiss_index = matrix, kind, similarity, faiss_index
        self.effort, self.depth = effort, depth

    # ------------------------------------------------------------------ making one

    @classmethod
    def build(cls, matrix: np.ndarray, kind: Kind, similarity: Similarity, *, seed: int = 0) -> VectorIndex:
        """Index all rows, block by block; deterministic with one OpenMP thread (``OMP_NUM_THREADS=1``).

        Args:
            matrix, kind, similarity: See the class.
            seed: Seed of the rows for learning cells and codes.
        """
        index = cls(matrix, kind, similarity)
        if kind == "exact":
            return index
        n, dimension = matrix.shape
        center = np.zeros(dimension, dtype=np.float32)
        if kind == "hnsw":
            index.faiss_index = faiss.IndexHNSWFlat(dimension, _LINKS, faiss_metric(similarity))
            index.faiss_index.hnsw.efConstruction = _EXPLORED_AT_BUILD
        else:
            index.faiss_index, center = _trained_faiss_index(matrix, similarity, seed)
            index.effort, index.depth = 64, 32
        with tqdm(total=n, desc=f"index ({kind})", unit="name", disable=None, leave=False) as bar:
            for numbers, block in blocks(matrix):
                index.faiss_index.add(block - center)
                bar.update(len(numbers))
        return index

    def save(self, path: Path) -> None:
        """Write the FAISS index; an exact index has none."""
        if self.faiss_index is not None:
            with path.open("wb") as file:  # FAISS itself would not say why a disk refuses it
                faiss.write_index(self.faiss_index, faiss.PyCallbackIOWriter(file.write))

    @staticmethod
    def read_faiss_index(path: Path, shape: tuple[int, int]) -> Any:
        """Read an index written by :meth:`save`.

        Raises:
            InputError: A damaged file, or an index of another number of rows or dimensions.
        """
        try:
            index = faiss.read_index(str(path))
        except RuntimeError as error:
            raise InputError(f"{path}: missing or damaged; build the index again") from error
        if (index.ntotal, index.d) != shape:
            raise InputError(f"{path}: indexes {[index.ntotal, index.d]}, expected {list(shape)}; build it again")
        return index

    # ------------------------------------------------------------------ searching

    def search(self, queries: np.ndarray, k: int, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The nearest rows of each query, best first; for equal scores (six decimals), the lower row first.

        Args:
            queries: float32 ``[Q, D]``, from :func:`rows_for_search`.
            k: Number of rows.
            rows: The rows to search, sorted ``[M]``; all by default.

        Returns:
            ``(scores, rows)``, float32 and int64, ``[Q, min(k, N or M)]``; if an approximate index finds fewer, row -1
            with score ``-inf``.
        """
        n = len(self.matrix) if rows is None else len(rows)
        k = min(k, n)
        if self.faiss_index is None or k > _DEEPEST or (rows is not None and n <= EXACT_UP_TO):
            return self.exact(queries, k, rows)
        found = self._approximate(queries, k, rows)
        return best_first(self.scores(queries, found), found, k)

    def exact(self, queries: np.ndarray, k: int, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`search`, but compared with every row, with one block of the matrix in memory at a time."""
        k = min(k, len(self.matrix) if rows is None else len(rows))
        return exact_nearest(queries, self.matrix, k, self.similarity, longest=self._longest, rows=rows)

    def scores(self, queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Scores of given rows, float64 ``[Q, R]``, see :func:`~st_biomed.linking.pair_scores.pair_scores`."""
        return pair_scores(queries, self.matrix, rows, self.similarity)

    @cached_property
    def _longest(self) -> float:
        return longest_row(self.matrix, self.similarity)

    def _approximate(self, queries: np.ndarray, k: int, rows: np.ndarray | None) -> np.ndarray:
        """Rows that the graph or the codes find, ``[Q, R]``; row -1 where they find fewer."""
        depth = k if self.kind == "hnsw" else min(max(2 * k, self.depth), len(self.matrix))
        _, found = self.faiss_index.search(queries, depth, params=self._parameters(depth, rows))
        return np.asarray(found)

    def _parameters(self, depth: int, rows: np.ndarray | None) -> Any:
        """Search parameters; where few rows may be found, the effort grows in proportion."""
        options: dict[str, Any] = {}
        effort = self.effort
        if rows is not None:
            allowed = np.zeros(len(self.matrix), dtype=bool)
            allowed[rows] = True
            options["sel"] = faiss.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
            effort = effort * len(self.matrix) // max(len(rows), 1)
        if self.kind == "hnsw":
            return faiss.SearchParametersHNSW(efSearch=max(effort, depth), **options)
        return faiss.SearchParametersIVF(nprobe=min(effort, self.faiss_index.nlist), **options)


def _trained_faiss_index(matrix: np.ndarray, similarity: Similarity, seed: int) -> tuple[Any, np.ndarray]:
    """An empty index whose cells and 4-bit codes are learned from some rows, and the vector to subtract from each row, ``[D]``.

    Cosines are searched as distances between unit vectors, which have the same order; nothing is subtracted. For inner
    products the mean of the rows is subtracted, which changes all products of a query by the same number: the codes
    would otherwise mostly encode the mean, because the vectors of a model lie in a narrow cone.
    """
    n, dimension = matrix.shape
    cells = 1 << round(np.log2(4 * np.sqrt(n)))
    while cells * _LEARNED_FROM > n:
        cells //= 2
    codes = max(m for m in range(1, max(1, dimension // _VALUES_PER_CODE) + 1) if dimension % m == 0)
    metric = faiss.METRIC_INNER_PRODUCT if similarity == "dot" else faiss.METRIC_L2
    coarse = faiss.IndexFlat(dimension, metric)
    index = faiss.IndexIVFPQFastScan(coarse, dimension, cells, codes, 4, metric)
    index.own_fields = True
    coarse.this.disown()
    sample = min(n, max(cells * 64, 1 << 14))
    drawn = np.sort(np.random.default_rng(seed).choice(n, sample, replace=False))
    rows = matrix[drawn].astype(np.float32)
    center = rows.mean(axis=0) if similarity == "dot" else np.zeros(dimension, dtype=np.float32)
    index.train(rows - center)
    return index, center


@contextmanager
def faiss_threads(n: int | None) -> Iterator[None]:
    """Limit the threads of FAISS within the context; ``None`` sets no limit."""
    before = faiss.omp_get_max_threads()
    if n is not None:
        faiss.omp_set_num_threads(n)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
