"""Exact nearest neighbors among many vectors, in chunks, with ties in the order of the vectors.

A float32 product of matrices finds the candidates. Its last bits depend on where in a chunk a vector stands, so that two
equal vectors may score differently; every candidate that the error bound of the product leaves open is therefore scored
once more, pair by pair in float64 and rounded to float32. What is found does not depend on the chunks.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from st_biomed.errors import InputError, check_name

SIMILARITIES = ("cosine", "dot", "euclidean")
"""Cosine, inner product, and minus the Euclidean distance."""

VECTOR_CHUNK = 16_384
_QUERY_CHUNK = {"cpu": 256}  # measured on one core: the block of scores stays near its cache
_QUERY_CHUNK_ELSEWHERE = 4096  # a GPU wants few, large products: 268 MB of scores
_SPARE = 16  # candidates beyond k that may lie within the error bound before a row is scored whole
_PAIRS = 512  # pairs scored at once in float64, so that they stay in the cache: 3 MB at 384 dimensions
_EXACT_CELLS = 1 << 22  # cells of the float64 block of rows that are scored whole: 32 MB
_INPUT_ROUNDING = {"highest": 0.0, "high": 2.0**-10}  # of both factors, by torch's float32 matmul precision
_SUM_ROUNDING = 2.0**-24
_LONGEST = 2.0**62  # of a vector: float32 has room for the square of the sum of two such lengths

Rows = TypeVar("Rows", np.ndarray, Tensor)


def search_device(device: str | None) -> str:
    """The device of a search: the given one; ``None`` for a GPU if there is one."""
    return device or ("cuda" if torch.cuda.is_available() else "cpu")


def nearest(
    queries: Rows,
    vectors: np.ndarray | Tensor,
    k: int,
    *,
    similarity: str = "cosine",
    query_chunk: int | None = None,
    vector_chunk: int = VECTOR_CHUNK,
) -> tuple[Rows, Rows]:
    """The k most similar vectors of each query; among equal scores the earlier vector comes first.

    Args:
        queries: ``[Q, D]``, in numpy or in torch; the work is done on their device.
        vectors: ``[N, D]``, in numpy (may be memory-mapped, may be half precision) or in torch.
        similarity: ``"cosine"`` (of a zero vector: 0), ``"dot"`` or ``"euclidean"``.
        query_chunk, vector_chunk: At most this many rows of each are compared at once; by default 256 queries on a CPU
            and 4096 elsewhere.

    Returns:
        ``(scores, indices)``, float32 and int64 ``[Q, min(k, N)]``, best first, as numpy or torch like ``queries``.

    Raises:
        InputError: An unknown similarity, a number below 1, other shapes, NaN or infinity among the vectors, or a vector
            longer than 2^62.
    """
    search = RunningNearest(queries, k, similarity=similarity, query_chunk=query_chunk, vector_chunk=vector_chunk)
    search.add(vectors)
    scores, indices = search.result()
    if isinstance(queries, np.ndarray):
        return scores.cpu().numpy(), indices.cpu().numpy()
    return scores, indices


class RunningNearest:
    """:func:`nearest` for vectors that arrive piece by piece and need not stay.

    Args:
        queries, k, similarity, query_chunk, vector_chunk: As in :func:`nearest`.
        device: Where to compare; ``None`` for where the queries are.

    Raises:
        InputError: As :func:`nearest` does.
    """

    def __init__(
        self,
        queries: np.ndarray | Tensor,
        k: int,
        *,
        similarity: str = "cosine",
        query_chunk: int | None = None,
        vector_chunk: int = VECTOR_CHUNK,
        device: torch.device | str | None = None,
    ) -> None:
        for name, value in {"k": k, "query_chunk": query_chunk, "vector_chunk": vector_chunk}.items():
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, found {value}")
        check_name("similarity", similarity, SIMILARITIES)
        self.k, self.similarity, self.vector_chunk = k, similarity, vector_chunk
        self._rows, self._lengths = _measured(queries, "queries", device)
        where = self._rows.device.type
        self.query_chunk = _QUERY_CHUNK.get(where, _QUERY_CHUNK_ELSEWHERE) if query_chunk is None else query_chunk
        self._scores = self._rows.new_full((len(queries), k), -torch.inf)
        self._indices = torch.full_like(self._scores, -1, dtype=torch.int64)
        self.seen = 0

    def add(self, vectors: np.ndarray | Tensor) -> None:
        """Compare with the next vectors, ``[C, D]``.

        Raises:
            InputError: Another dimension than the queries', NaN or infinity.
        """
        queries = self._rows
        for start in range(0, len(vectors), self.vector_chunk):
            piece = vectors[start : start + self.vector_chunk]
            block = _side(*_measured(piece, "vectors", queries.device), self.similarity)
            if block.rows.shape[1] != queries.shape[1]:
                raise InputError(f"vectors: expected {queries.shape[1]} dimensions, found {block.rows.shape[1]}")
            with torch.autocast(queries.device.type, enabled=False):
                for first in range(0, len(queries), self.query_chunk):
                    self._merge(slice(first, first + self.query_chunk), block)
            self.seen += len(piece)

    def result(self) -> tuple[Tensor, Tensor]:
        """Scores float32 and indices int64 in the order of arrival, ``[Q, min(k, seen)]`` both."""
        return self._scores[:, : self.seen], self._indices[:, : self.seen]

    def _merge(self, part: slice, block: _Side) -> None:
        """Let the vectors of a block into the lists of some queries."""
        queries = _side(self._rows[part], self._lengths[part], self.similarity)
        size = len(block.rows)
        k = min(self.k, size)
        fast, bound = _fast_scores(queries, block, self.similarity)
        found, column = fast.topk(min(k + _SPARE, size), dim=1)
        worst = _as_fast(self._scores[part, -1], queries, self.similarity)
        floor = torch.maximum(found[:, k - 1] - 2 * bound, worst - bound)
        wanted = found >= floor[:, None]
        if found.shape[1] < size and wanted[:, -1].any():
            crowded = wanted[:, -1].nonzero().squeeze(1)
            column[crowded, :k] = _whole_rows(queries.rows[crowded], block.rows, k, self.similarity)
            wanted[crowded] = torch.arange(found.shape[1], device=found.device) < k
        column, order = torch.where(wanted, column, size).sort(dim=1)  # ties: in the order of the vectors
        wanted = wanted.gather(1, order)
        row, place = wanted.nonzero(as_tuple=True)
        scores = torch.full_like(found, -torch.inf)
        scores[row, place] = _pair_scores(queries, block, row, column[row, place], self.similarity)
        # What was found before stands first, so that a stable sort keeps it ahead of later vectors that score the same.
        scores, order = torch.cat([self._scores[part], scores], dim=1).sort(dim=1, descending=True, stable=True)
        indices = torch.cat([self._indices[part], column + self.seen], dim=1).gather(1, order)
        self._scores[part], self._indices[part] = scores[:, : self.k], indices[:, : self.k]


class _Side(NamedTuple):
    """Queries or vectors: the rows, what is multiplied (unit rows for the cosine), float32 ``[N, D]``, and lengths."""

    rows: Tensor
    factors: Tensor
    lengths: Tensor


def _side(rows: Tensor, lengths: Tensor, similarity: str) -> _Side:
    """Rows, and the factors of the matrix product: for cosines the rows divided by their lengths."""
    return _Side(rows, rows / _no_zero(lengths)[:, None].float() if similarity == "cosine" else rows, lengths)


def _measured(matrix: np.ndarray | Tensor, name: str, device: torch.device | str | None) -> tuple[Tensor, Tensor]:
    """A matrix on a device, checked, and the lengths of its rows."""
    if isinstance(matrix, np.ndarray):
        matrix = torch.from_numpy(np.require(matrix, np.float32, ["C", "W"]))
    if matrix.ndim != 2:
        raise InputError(f"{name}: expected [N, D], found shape {list(matrix.shape)}")
    rows = matrix.detach().to(device=device, dtype=torch.float32)
    lengths = _lengths(rows)
    if not torch.isfinite(lengths).all():
        raise InputError(f"{name}: NaN or infinity among the numbers")
    if (lengths > _LONGEST).any():
        raise InputError(
            f"{name}: a vector of length {float(lengths.max()):.2g}; the largest allowed is {_LONGEST:.2g}"
        )
    return rows, lengths


def _lengths(rows: Tensor) -> Tensor:
    """Euclidean lengths in float64, ``[N]``."""
    return torch.linalg.vector_norm(rows, dim=1, dtype=torch.float64)


def _no_zero(lengths: Tensor) -> Tensor:
    return lengths.where(lengths > 0, 1.0)


def _fast_scores(queries: _Side, block: _Side, similarity: str) -> tuple[Tensor, Tensor]:
    """Scores whose order is that of the similarity, ``[Q, C]``, and how far off they may be, ``[Q]``.

    The bound is the usual one of an inner product, D roundings of the sum of absolute products, and what the hardware
    may do to the factors. The Euclidean order is that of ``q v - |v|^2 / 2``, half of ``|q|^2 - |q - v|^2``.
    """
    try:
        precision = torch.get_float32_matmul_precision()
    except RuntimeError:  # set for each backend by torch's newer switches, which this function does not read
        precision = "unknown"
    rounding = _INPUT_ROUNDING.get(precision, 2.0**-7) + (queries.rows.shape[1] + 8) * _SUM_ROUNDING
    scores, longest = queries.factors @ block.factors.T, block.lengths.max()
    if similarity == "cosine":
        return scores, scores.new_full((len(scores),), rounding)
    if similarity == "dot":
        return scores, (rounding * queries.lengths * longest).float()
    return scores - (block.lengths**2 / 2).float(), (rounding * (queries.lengths + longest) ** 2).float()


def _as_fast(scores: Tensor, queries: _Side, similarity: str) -> Tensor:
    """Scores ``[Q]`` on the scale of :func:`_fast_scores`."""
    return (queries.lengths**2 - scores.double() ** 2).float() / 2 if similarity == "euclidean" else scores


def _pair_scores(queries: _Side, block: _Side, row: Tensor, column: Tensor, similarity: str) -> Tensor:
    """Score of each pair, worked out in float64 from this pair alone, float32 ``[M]``."""
    parts = [queries.rows.new_empty(0)]
    for rows, columns in zip(row.split(_PAIRS), column.split(_PAIRS)):
        q, v = queries.rows[rows].double(), block.rows[columns]
        if similarity == "euclidean":
            score = -torch.linalg.vector_norm(q.sub_(v), dim=1)
        else:
            score = q.mul_(v).sum(dim=1)
            if similarity == "cosine":
                score = score / _no_zero(queries.lengths[rows] * block.lengths[columns])
        parts.append(score.float() + 0.0)  # -0.0 becomes 0.0: a radix sort may tell the two apart
    return torch.cat(parts)


def _whole_rows(queries: Tensor, block: Tensor, k: int, similarity: str) -> Tensor:
    """Columns of the k best vectors of each query, where too many are as good as tied for a candidate list, ``[Q, k]``.

    Every score of the row is worked out in float64; of those equal to the k-th best in float32 the first are taken.
    """
    best = []
    vectors = block.double()
    for part in queries.double().split(max(1, _EXACT_CELLS // len(block))):
        if similarity == "euclidean":
            scores = -torch.cdist(part, vectors, compute_mode="donot_use_mm_for_euclid_dist")
        else:
            scores = part @ vectors.T
            if similarity == "cosine":
                scores = scores / _no_zero(_lengths(part)[:, None] * _lengths(vectors))
        rounded = scores.float()
        last = rounded.topk(k, dim=1).values[:, -1:]
        above, level = rounded > last, rounded == last
        room = k - above.sum(dim=1, keepdim=True)
        best.append((above | (level & (level.cumsum(dim=1) <= room))).nonzero()[:, 1].view(-1, k))
    return torch.cat(best)
