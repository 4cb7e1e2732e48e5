"""Search for the nearest names of a vector: exact, by a graph (HNSW), or by cells and codes with re-ranking (IVF-PQ)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

import faiss as _faiss
import numpy as np
from tqdm import trange

from st_biomed.errors import InputError, unknown_name

faiss: Any = _faiss  # its type stubs know but a part of what it has

Kind = Literal["exact", "hnsw", "ivfpq"]
Similarity = Literal["cosine", "dot", "euclidean"]

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

_BLOCK_BYTES = 64 << 20
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
            index.faiss_index = faiss.IndexHNSWFlat(dimension, _LINKS, index._metric)
            index.faiss_index.hnsw.efConstruction = _EXPLORED_AT_BUILD
        else:
            index.faiss_index, center = _trained_faiss_index(matrix, similarity, seed)
            index.effort, index.depth = 64, 32
        rows = _rows_per_block(dimension)
        for start in trange(0, n, rows, desc=f"index ({kind})", unit="block", disable=None, leave=False):
            index.faiss_index.add(_float32(matrix[start : start + rows]) - center)
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
            scores, found = self.exact(queries, k, rows)
        else:
            scores, found = self._approximate(queries, k, rows)
        scores = np.where(found < 0, -np.inf, np.round(scores, 6)).astype(np.float32)
        order = np.lexsort((found, -scores), axis=1)
        return np.take_along_axis(scores, order, 1), np.take_along_axis(found, order, 1)

    def exact(self, queries: np.ndarray, k: int, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Compare with every row, with one block of the matrix in memory at a time."""
        n = len(self.matrix) if rows is None else len(rows)
        scores, found = [], []
        step = _rows_per_block(self.matrix.shape[1])
        for start in range(0, n, step):
            block = self.matrix[start : start + step] if rows is None else self.matrix[rows[start : start + step]]
            values, at = faiss.knn(queries, _float32(block), min(k, len(block)), self._metric)
            scores.append(self._scores(values))
            found.append(at + start)
        best, where = np.concatenate(scores, axis=1), np.concatenate(found, axis=1)
        order = np.argsort(-best, axis=1, kind="stable")[:, :k]
        where = np.take_along_axis(where, order, 1)
        return np.take_along_axis(best, order, 1), where if rows is None else rows[where]

    def _approximate(self, queries: np.ndarray, k: int, rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        depth = k if self.kind == "hnsw" else min(max(2 * k, self.depth), len(self.matrix))
        values, found = self.faiss_index.search(queries, depth, params=self._parameters(depth, rows))
        if self.kind == "hnsw":
            return self._scores(values), found
        return self._reranked(queries, found, k)

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

    def _reranked(self, queries: np.ndarray, found: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The best k of the rows found by their codes, by the vectors of the matrix."""
        scores = np.full(found.shape, -np.inf, dtype=np.float32)
        step = max(1, _BLOCK_BYTES // (4 * found.shape[1] * self.matrix.shape[1]))
        for start in range(0, len(queries), step):
            part = found[start : start + step]
            vectors = _float32(self.matrix[np.maximum(part, 0)])
            query = queries[start : start + step, None]
            values = (
                ((vectors - query) ** 2).sum(2)
                if self._is_distance
                else np.matmul(vectors, query.transpose(0, 2, 1))[..., 0]
            )
            scores[start : start + step] = np.where(part < 0, -np.inf, self._scores(values))
        order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(scores, order, 1), np.take_along_axis(found, order, 1)

    def _scores(self, values: np.ndarray) -> np.ndarray:
        """What FAISS gives, higher for nearer: products as they are, squared distances as negative distances."""
        return -np.sqrt(np.maximum(values, 0)) if self._is_distance else values

    @property
    def _is_distance(self) -> bool:
        return self.similarity == "euclidean"

    @property
    def _metric(self) -> int:
        return faiss.METRIC_L2 if self._is_distance else faiss.METRIC_INNER_PRODUCT


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
    rows = _float32(matrix[np.sort(np.random.default_rng(seed).choice(n, sample, replace=False))])
    center = rows.mean(axis=0) if similarity == "dot" else np.zeros(dimension, dtype=np.float32)
    index.train(rows - center)
    return index, center


def _float32(block: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(block, dtype=np.float32)


def _rows_per_block(dimension: int) -> int:
    return max(1, _BLOCK_BYTES // (4 * dimension))


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
