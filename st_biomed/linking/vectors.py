"""A matrix on disk that is written in order, row block after row block, and goes on where a kill stopped it."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from st_biomed.errors import InputError

MATRIX, PROGRESS = "vectors.npy", "encoding.json"

_OTHERS = {"model_sha256": "with another model", "catalogue_sha256": "of another terminology"}
"""What it means where a digest differs."""


class ResumableMatrix:
    """Rows of a ``.npy`` file, committed block by block.

    A block is on the disk before ``encoding.json`` says so, and that file is replaced at once: after a kill, what it
    says is there is there, and what was written beyond it is cut off.

    Args:
        folder: Where the two files lie.
        shape: ``(N, D)`` of the whole matrix.
        dtype: ``float32`` or ``float16``.
        settings: Whatever decides the rows, as JSON has it; an encoding that was begun with others is not resumed.

    Attributes:
        done: Rows that are committed.

    Raises:
        InputError: What is there was begun with other settings, or is shorter than it says.
    """

    def __init__(self, folder: Path, shape: tuple[int, int], dtype: str, settings: Mapping[str, Any]) -> None:
        self.folder, self.shape, self.dtype = folder, shape, np.dtype(dtype).newbyteorder("<")
        self.settings = {**settings, "rows": shape[0], "dimension": shape[1], "dtype": dtype}
        self.done = 0
        begun = read_progress(folder)
        if begun is None:
            self._begin()
            return
        for key, value in self.settings.items():
            if begun["settings"].get(key) != value:
                found = begun["settings"].get(key)
                with_what = f"with {key} {found!r} and does not go on with {value!r}"
                raise InputError(
                    f"{folder}: an encoding was begun {_OTHERS.get(key, with_what)}; overwrite it to begin anew"
                )
        self.done = int(begun["done"])
        size = self._path.stat().st_size if self._path.is_file() else 0
        if size < self._end(self.done):
            raise InputError(
                f"{self._path}: has {size:,} bytes, {self._end(self.done):,} were committed; overwrite it to begin anew"
            )
        with self._path.open("r+b") as file:
            file.truncate(self._end(self.done))

    def append(self, block: np.ndarray) -> None:
        """Write the next rows ``[R, D]`` and commit them.

        Raises:
            InputError: Rows of another width, or more than are missing.
        """
        if block.ndim != 2 or block.shape[1] != self.shape[1] or self.done + len(block) > self.shape[0]:
            raise InputError(
                f"vectors: expected at most [{self.shape[0] - self.done}, {self.shape[1]}], found {list(block.shape)}"
            )
        with self._path.open("ab") as file:
            file.write(np.ascontiguousarray(block, dtype=self.dtype).data)
            file.flush()
            os.fsync(file.fileno())
        self.done += len(block)
        self._commit()

    def _begin(self) -> None:
        with self._path.open("wb") as file:
            file.write(self._header)
            file.flush()
            os.fsync(file.fileno())
        self._commit()

    def _commit(self) -> None:
        write_json(self.folder / PROGRESS, {"settings": self.settings, "done": self.done})

    @property
    def _path(self) -> Path:
        return self.folder / MATRIX

    @property
    def _header(self) -> bytes:
        """Of the whole matrix, from the first commit on."""
        header = io.BytesIO()
        described = {"descr": self.dtype.str, "fortran_order": False, "shape": self.shape}
        np.lib.format.write_array_header_1_0(header, described)
        return header.getvalue()

    def _end(self, rows: int) -> int:
        """Bytes of the file with so many rows."""
        return len(self._header) + rows * self.shape[1] * self.dtype.itemsize


def read_progress(folder: Path) -> dict[str, Any] | None:
    """How far an encoding came, or nothing where none was begun.

    Raises:
        InputError: The file is damaged.
    """
    path = folder / PROGRESS
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text("utf-8"))
        return {"settings": dict(found["settings"]), "done": int(found["done"])}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: damaged ({type(error).__name__}); overwrite it to begin anew") from error


def open_matrix(folder: Path, shape: tuple[int, int]) -> np.ndarray:
    """The whole matrix, memory-mapped for reading.

    Raises:
        InputError: The file is missing or damaged, or has another shape.
    """
    path = folder / MATRIX
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: missing or damaged; build the index again") from error
    if matrix.shape != shape:
        raise InputError(f"{path}: has shape {list(matrix.shape)}, expected {list(shape)}; build the index again")
    return matrix


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Replace a JSON file at once, so that no half of it is ever there."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("w", encoding="utf-8") as file:
        file.write(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
