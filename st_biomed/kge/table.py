"""Vectors of concepts, by code: the result of training a knowledge-graph embedding."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from st_biomed.errors import InputError
from st_biomed.files import check_output, read_one_version, replacing
from st_biomed.files.sealed import Seal

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology

TABLE, SETTINGS = "table.json", "settings.json"
SEAL = Seal(
    TABLE, 2, "KGETable.save or `st-biomed train kge`", "train it again (`st-biomed train kge --overwrite true`)"
)
"""The headers of a single table, and of a complete training, which ties its files to the vectors."""

_FILES = ("codes.parquet", "vectors.safetensors")


class KGETable:
    """Codes and their real vectors; for a complex model, the real parts, then the imaginary parts.

    The cosine of two rows is then the natural inner product of complex vectors over their norms,
    ``Re<a, conj(b)> / (|a| |b|)``.

    Args:
        codes: Distinct CURIEs of the concepts; stored in sorted order.
        vectors: float ``[N, D]``, in the order of ``codes``; stored as float32.
        model: Name of the model, e.g. ``"complex"``.
        terminology: Digest of the terminology of the graph; empty if there is none.

    Attributes:
        codes: The codes, sorted.
        vectors: float32 ``[N, D]``, read-only, in that order.

    Raises:
        InputError: No vector, different numbers of vectors and codes, a repeated code, or numbers that are not finite.

    Example:
        >>> table = KGETable(["X:2", "X:1"], np.array([[0.0, 1.0], [1.0, 0.0]]), model="mine")
        >>> table.codes, table.rows(["X:2", "X:9"])
        (('X:1', 'X:2'), array([ 1, -1]))
    """

    def __init__(self, codes: Sequence[str], vectors: np.ndarray, *, model: str, terminology: str = "") -> None:
        vectors = np.asarray(vectors, dtype=np.float32)
        if vectors.ndim != 2 or not vectors.size or len(vectors) != len(codes):
            raise InputError(
                f"vectors: expected [{len(codes)}, D] for as many codes, found shape {list(vectors.shape)}"
            )
        order = sorted(range(len(codes)), key=codes.__getitem__)
        self.codes = tuple(codes[i] for i in order)
        for code, following in zip(self.codes, self.codes[1:]):
            if code == following:
                raise InputError(f"codes: {code} occurs twice")
        self.vectors = vectors[order]
        finite = np.isfinite(self.vectors).all(axis=1)
        if not finite.all():
            first = self.codes[int(finite.argmin())]
            raise InputError(
                f"vectors: {int((~finite).sum()):,} of {len(finite):,} have NaN or infinity, the first of {first}"
            )
        self.vectors.setflags(write=False)
        self.model, self.terminology = model, terminology

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"KGETable({len(self):,} concepts, {self.dimension} dimensions, {self.model})"

    @property
    def dimension(self) -> int:
        """D; twice the complex dimension for a complex model."""
        return self.vectors.shape[1]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the codes and the vectors."""
        sha = hashlib.sha256("\0".join(self.codes).encode())
        sha.update(self.vectors.tobytes())
        return sha.hexdigest()

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {code: row for row, code in enumerate(self.codes)}

    def rows(self, codes: Sequence[str]) -> np.ndarray:
        """Row of each code, int64 ``[C]``; -1 for a code without a vector."""
        row_of = self._row_of
        return np.fromiter((row_of.get(code, -1) for code in codes), dtype=np.int64, count=len(codes))

    def rows_of_texts(self, terminology: Terminology) -> np.ndarray:
        """Row of the concept of each text id, int64 ``[T]``; -100 for none or several concepts.

        Raises:
            InputError: No text of the terminology has a row.
        """
        if not terminology.n_concepts:
            raise InputError("no concept of the terminology has a vector: it has no concept")
        concepts = terminology.text_concepts
        of_concept = self.rows(terminology.codes)
        alone = concepts.counts == 1
        rows = np.full(concepts.n_rows, -100, dtype=np.int64)
        rows[alone] = of_concept[concepts.indices[concepts.indptr[:-1][alone]]]
        rows[rows < 0] = -100
        if not (rows >= 0).any():
            raise InputError(
                f"no concept of the terminology has a vector: its codes look like {terminology.codes[0]!r}, the table's "
                f"like {self.codes[0]!r}"
            )
        return rows

    def save(self, folder: str | Path) -> Path:
        """Write ``table.json``, ``codes.parquet`` and ``vectors.safetensors``; an existing table is replaced.

        Raises:
            InputError: The folder contains something else, or another process writes to it.
        """
        own = {TABLE, *_FILES}
        folder = check_output(folder, what="a table", is_own=own.__contains__, marker=TABLE, overwrite=True)
        with replacing(folder) as draft:
            self.write(draft)
        return folder

    def write(self, folder: Path, beside: Sequence[str] = ()) -> None:
        """Write the files into an existing folder, the header last.

        Args:
            folder: A folder that nothing else writes to.
            beside: Existing files that belong to the table, by their paths in the folder.
        """
        pq.write_table(pa.table({"code": pa.array(self.codes, pa.string())}), folder / "codes.parquet")
        save_file({"vectors": np.ascontiguousarray(self.vectors)}, folder / "vectors.safetensors")
        about = {"model": self.model, "terminology": self.terminology, "digest": self.digest}
        SEAL.write(folder, about, [*_FILES, *beside])

    @classmethod
    def load(cls, folder: str | Path) -> KGETable:
        """Load a table written by :meth:`save`.

        Raises:
            InputError: No such table, a damaged table, or vectors next to the settings of another training.
        """
        return read_one_version(folder, cls._read)

    @classmethod
    def _read(cls, folder: Path) -> KGETable:
        about = SEAL.read(folder)
        SEAL.check(folder, about, [*_FILES, *([SETTINGS] if (folder / SETTINGS).exists() else [])])
        try:
            codes = pq.read_table(folder / "codes.parquet", columns=["code"])["code"].to_pylist()
            vectors = load_file(folder / "vectors.safetensors")["vectors"]
            table = cls(codes, vectors, model=about["model"], terminology=about["terminology"])
            table.__dict__["digest"] = about["digest"]
        except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
            raise InputError(f"{folder}: cannot be read as a table of graph embeddings ({error})") from error
        return table
