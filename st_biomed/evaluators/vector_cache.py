"""Vectors on disk under the digest of what they depend on: written once, checked whenever they are read."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from st_biomed.errors import InputError, unknown_name

logger = logging.getLogger(__name__)

DTYPES = ("float32", "float16")
_HASHED = 1 << 24  # bytes read at once


class VectorCache:
    """One matrix ``[N, D]`` in a ``.npy`` file beside a ``.json`` that says what it is; no text is stored.

    Args:
        folder: Where the files are; made when it is not there.
        key: What the vectors depend on, e.g. the digests of the model and of the texts; all of it is compared.
        n_rows: N.
        dtype: ``"float32"``, or ``"float16"`` for half the size: the rounded vectors are then what is measured, in the
            run that writes them, too.

    Raises:
        InputError: Another dtype, or a folder that is a file.
    """

    def __init__(self, folder: str | Path, key: Mapping[str, object], n_rows: int, dtype: str = "float32") -> None:
        if dtype not in DTYPES:
            raise unknown_name("cache_dtype", dtype, DTYPES)
        folder = Path(folder)
        if folder.exists() and not folder.is_dir():
            raise InputError(f"cache_dir: {folder} is a file, a folder is needed")
        self.key = {**key, "n_rows": n_rows, "dtype": dtype}
        self.n_rows, self.dtype = n_rows, np.dtype(dtype)
        name = hashlib.sha256(json.dumps(self.key, sort_keys=True).encode()).hexdigest()[:24]
        self.matrix_file, self.key_file = folder / f"{name}.npy", folder / f"{name}.json"

    def read(self) -> np.ndarray | None:
        """The vectors, memory-mapped; ``None`` where there are none, or none that can be trusted (which is logged)."""
        if not self.matrix_file.exists() and not self.key_file.exists():
            return None
        try:
            return self._read()
        except (OSError, ValueError, KeyError, TypeError) as error:
            logger.warning("%s: %s; the dictionary is embedded anew", self.matrix_file, str(error).replace("\n", " "))
            return None

    def _read(self) -> np.ndarray:
        found = json.loads(self.key_file.read_text("utf-8"))
        if not isinstance(found, dict) or found.get("key") != self.key:
            raise ValueError("belongs to other vectors")
        size = self.matrix_file.stat().st_size
        if size != found["bytes"]:
            raise ValueError(f"has {size:,} bytes, {found['bytes']:,} were written")
        with self.matrix_file.open("rb") as file:
            digest = hashlib.sha256()
            while block := file.read(_HASHED):
                digest.update(block)
        if digest.hexdigest() != found["sha256"]:
            raise ValueError("is not what was written (sha256 differs)")
        matrix = np.load(self.matrix_file, mmap_mode="r", allow_pickle=False)
        if matrix.shape != (self.n_rows, found["dimensions"]) or matrix.dtype != self.dtype:
            raise ValueError(f"holds {matrix.dtype} {matrix.shape}")
        return matrix

    def write(self, chunks: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """Store chunks ``[C, D]`` while they pass, and hand them on as they are stored.

        The files appear once the last chunk has passed; a run that is cut short leaves none.

        Raises:
            InputError: Numbers beyond what the dtype can hold, or chunks that do not add up to N rows.
        """
        self.matrix_file.parent.mkdir(parents=True, exist_ok=True)
        partial = self.matrix_file.with_suffix(f".{os.getpid()}.partial")
        digest, rows, dimensions, size = hashlib.sha256(), 0, 0, 0
        try:
            with partial.open("w+b") as file:
                for chunk in chunks:
                    with np.errstate(over="ignore"):
                        stored = np.ascontiguousarray(chunk, dtype=self.dtype)
                    if not np.isfinite(stored).all():
                        raise InputError(f"cache_dtype: {self.dtype} cannot hold these vectors, use 'float32'")
                    if rows == 0:
                        dimensions = stored.shape[1]
                        header = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.n_rows, dimensions)}
                        np.lib.format.write_array_header_1_0(file, header)
                        file.seek(0)
                        digest.update(file.read())
                    rows += len(stored)
                    written_bytes = stored.view(np.uint8).data
                    file.write(written_bytes)
                    digest.update(written_bytes)
                    yield stored
                size = file.tell()
            if rows != self.n_rows:
                raise InputError(f"{self.matrix_file}: expected {self.n_rows:,} vectors, found {rows:,}")
            self.key_file.unlink(missing_ok=True)
            partial.replace(self.matrix_file)
        finally:
            partial.unlink(missing_ok=True)
        written = {"key": self.key, "dimensions": dimensions, "bytes": size, "sha256": digest.hexdigest()}
        beside = partial.with_suffix(".partial_json")
        beside.write_text(json.dumps(written, indent=1, sort_keys=True) + "\n", "utf-8")
        beside.replace(self.key_file)
