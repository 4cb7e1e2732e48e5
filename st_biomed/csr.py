"""Ragged integer rows in two flat arrays (compressed sparse rows), in numpy and, for a batch, in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class CSR(NamedTuple):
    """Row ``i`` holds ``indices[indptr[i]:indptr[i + 1]]``, sorted and without repeats.

    Attributes:
        indptr: Row starts, int64 ``[N + 1]``.
        indices: Row contents one after another, int32 or int64 ``[nnz]``.
    """

    indptr: np.ndarray
    indices: np.ndarray

    @classmethod
    def from_pairs(cls, rows: np.ndarray, columns: np.ndarray, n_rows: int) -> CSR:
        """Group ``columns`` by ``rows`` (both ``[nnz]``); repeated pairs are kept once."""
        width = int(columns.max(initial=0)) + 1
        key = rows.astype(np.int64) * width + columns  # one sort of one array: several times faster than a lexsort
        key.sort()
        if len(key):
            key = key[np.append(True, key[1:] != key[:-1])]
        rows, indices = np.divmod(key, width)
        indptr = np.zeros(n_rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
        return cls(indptr, indices.astype(columns.dtype))

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    @property
    def counts(self) -> np.ndarray:
        """Row lengths, int64 ``[N]``."""
        return np.diff(self.indptr)

    def row(self, i: int) -> np.ndarray:
        """The contents of row ``i``."""
        return self.indices[self.indptr[i] : self.indptr[i + 1]]

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The contents of several rows at once.

        Returns:
            ``(position, value)``, both ``[M]``: ``value[m]`` lies in row ``rows[position[m]]``.
        """
        counts = self.indptr[rows + 1] - self.indptr[rows]
        position = np.repeat(np.arange(len(rows)), counts)
        ends = np.cumsum(counts)
        offset = np.arange(len(position)) - np.repeat(ends - counts, counts)
        return position, self.indices[np.repeat(self.indptr[rows], counts) + offset]

    def reach(self, rows: np.ndarray) -> np.ndarray:
        """Everything that some rows lead to, in any number of steps, as a mask ``[n_rows]``.

        The rows themselves are among it only where steps lead to them; columns are rows here.
        """
        reached = np.zeros(self.n_rows, dtype=bool)
        while len(rows):
            _, next_rows = self.take(rows)
            rows = np.unique(next_rows[~reached[next_rows]])
            reached[rows] = True
        return reached

    def compose(self, other: CSR) -> CSR:
        """Rows of ``self`` with every value replaced by the row of ``other`` it names, e.g. parents of parents."""
        position, value = other.take(self.indices.astype(np.int64))
        rows = np.repeat(np.arange(self.n_rows), self.counts)[position]
        return CSR.from_pairs(rows, value, self.n_rows)


def position_in_row(rows: np.ndarray) -> np.ndarray:
    """The position of each entry within its row, from 0: how many entries of the same row precede it, ``[nnz]``.

    Args:
        rows: The row of each entry, sorted, ``[nnz]``.
    """
    return np.arange(len(rows)) - np.searchsorted(rows, rows)


class DeviceTables:
    """Named numpy arrays with one torch copy per device, made when first asked for and never pickled."""

    def __init__(self, **arrays: np.ndarray) -> None:
        self.arrays = arrays
        self._copies: dict[torch.device, dict[str, Tensor]] = {}

    def on(self, device: torch.device) -> dict[str, Tensor]:
        """The arrays as int64 tensors on ``device``."""
        import torch

        if device not in self._copies:
            self._copies[device] = {
                name: torch.from_numpy(np.ascontiguousarray(array).astype(np.int64, copy=False)).to(device)
                for name, array in self.arrays.items()
            }
        return self._copies[device]

    def __getstate__(self) -> dict[str, np.ndarray]:
        return self.arrays

    def __setstate__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays = arrays
        self._copies = {}


def expand(indptr: Tensor, indices: Tensor, rows: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Replace each key by the CSR row it names.

    Args:
        indptr: Row starts, int64 ``[N + 1]``.
        indices: Row contents, int64 ``[nnz]``.
        rows: The batch row each key belongs to, ``[M]``.
        keys: CSR rows to look up, ``[M]``.

    Returns:
        ``(rows, values)``, both ``[M']``.
    """
    import torch

    start = indptr[keys]
    counts = indptr[keys + 1] - start
    ends = counts.cumsum(0)
    total = int(ends[-1]) if len(ends) else 0
    owner = torch.repeat_interleave(torch.arange(len(keys), device=keys.device), counts, output_size=total)
    offset = torch.arange(total, device=keys.device) - (ends - counts)[owner]
    return rows[owner], indices[start[owner] + offset]


def shares_key(rows_a: Tensor, keys_a: Tensor, rows_b: Tensor, keys_b: Tensor, shape: tuple[int, int]) -> Tensor:
    """Which pairs of batch rows have a key in common, without a loop over pairs.

    A sort-merge join lists exactly the matching pairs; where keys are so common that the list would be longer than
    the matrix, one product of two indicator matrices takes its place.

    Args:
        rows_a, keys_a: Batch row and key of each entry on the left, ``[M_a]``.
        rows_b, keys_b: The same on the right, ``[M_b]``.
        shape: ``(A, B)``.

    Returns:
        Boolean ``[A, B]``.
    """
    import torch

    out = torch.zeros(shape, dtype=torch.bool, device=keys_a.device)
    sorted_b, order = keys_b.sort()
    low = torch.searchsorted(sorted_b, keys_a)
    counts = torch.searchsorted(sorted_b, keys_a, right=True) - low
    total = int(counts.sum())
    if total == 0:
        return out
    if total > shape[0] * shape[1]:
        hit = counts > 0
        shared, column_a = keys_a[hit].unique(return_inverse=True)
        column_b = torch.searchsorted(shared, keys_b).clamp_(max=len(shared) - 1)
        known = shared[column_b] == keys_b
        left = torch.zeros(shape[0], len(shared), device=out.device)
        right = torch.zeros(shape[1], len(shared), device=out.device)
        left[rows_a[hit], column_a] = 1.0
        right[rows_b[known], column_b[known]] = 1.0
        return left @ right.T > 0
    owner = torch.repeat_interleave(torch.arange(len(keys_a), device=out.device), counts, output_size=total)
    offset = torch.arange(total, device=out.device) - (counts.cumsum(0) - counts)[owner]
    out[rows_a[owner], rows_b[order[low[owner] + offset]]] = True
    return out
