"""The nearest rows of every prototype for one state of a model, with a record of that state."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from st_biomed.errors import InputError
from st_biomed.files import replacing_file
from st_biomed.files.sealed import Seal
from st_biomed.neighbors import nearest

ROWS, ABOUT = "neighbors.npy", "neighbors.json"
_SEAL = Seal(ABOUT, 3, "NeighborTable.save", "remove the folder, and the neighbors are found anew")

_QUERIES = 65_536  # prototypes compared at once: the vectors are read once for each such part


@dataclass(frozen=True)
class NeighborTable:
    """Nearest rows, and their origin.

    Attributes:
        rows: Rows of the dataset, nearest first, without the prototype itself, int32 ``[P, W]``; may be memory-mapped.
        rows_digest: Identifier of the dataset and the prototypes.
        model_digest: :func:`~st_biomed.encoder.digest.model_digest` of the model whose vectors were compared.
        step: Training steps of that model.
        epoch: Epoch of that model.
    """

    rows: np.ndarray
    rows_digest: str
    model_digest: str
    step: int = 0
    epoch: int = 0

    def save(self, folder: Path, **more: str) -> Path:
        """Write ``neighbors.npy`` and ``neighbors.json`` into a folder, which is created; an existing table is
        replaced.

        Args:
            folder: The folder; nothing else may write to it.
            **more: Further entries of the second file.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with replacing_file(folder / ROWS) as draft, draft.open("wb") as file:
            np.save(file, self.rows)  # a process that has mapped the old file keeps it
        about = {
            "rows_digest": self.rows_digest,
            "model_digest": self.model_digest,
            "step": self.step,
            "epoch": self.epoch,
            **more,
        }
        _SEAL.write(folder, about, [ROWS])
        return folder

    @classmethod
    def load(cls, folder: Path) -> NeighborTable:
        """Load a table from :meth:`save`, memory-mapped.

        Raises:
            InputError: No table, or a damaged one.
        """
        about = read_about(folder)
        _SEAL.check(folder, about, [ROWS])
        try:
            rows = np.load(folder / ROWS, mmap_mode="r", allow_pickle=False)
            return cls(rows, about["rows_digest"], about["model_digest"], about["step"], about["epoch"])
        except (OSError, ValueError, KeyError) as error:
            raise InputError(f"{folder}: cannot be read as a table of neighbors ({error})") from error


def read_about(folder: Path) -> dict[str, Any]:
    """The content of ``neighbors.json``.

    Raises:
        InputError: No such file, or a damaged one.
    """
    return _SEAL.read(folder)


def nearest_rows(
    vectors: np.ndarray,
    prototypes: np.ndarray,
    width: int,
    *,
    candidates: np.ndarray | None = None,
    device: torch.device | str = "cpu",
) -> np.ndarray:
    """The rows with the largest inner products, exact, with ties in the order of the rows.

    Args:
        vectors: float32 ``[N, D]``, of length one; may be memory-mapped.
        prototypes: Rows to find neighbors of, ``[P]``.
        width: Number of neighbors, W.
        candidates: Rows that may be neighbors, sorted, ``[M]``; ``None`` for all.
        device: Device of the comparison.

    Returns:
        int32 ``[P, min(W, N - 1)]`` (M - 1 with candidates), nearest first, no row its own neighbor.

    Raises:
        InputError: NaN or infinity among the vectors.
    """
    searched = vectors if candidates is None else vectors[candidates]
    width = min(width, len(searched) - 1)
    out = np.empty((len(prototypes), width), dtype=np.int32)
    for start in range(0, len(prototypes), _QUERIES):
        rows = prototypes[start : start + _QUERIES]
        queries = torch.from_numpy(np.ascontiguousarray(vectors[rows])).to(device)
        found = nearest(queries, searched, width + 1, similarity="dot")[1].cpu().numpy()
        found = found if candidates is None else candidates[found]
        others = found != rows[:, None]
        others[others.all(axis=1), -1] = False  # where equal vectors come first, the row itself is not among them
        out[start : start + len(rows)] = found[others].reshape(len(rows), width)
    return out
