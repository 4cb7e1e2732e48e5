"""A matrix on disk that is written block by block, and continues after an interruption."""

from __future__ import annotations

import io
import logging
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from st_biomed.errors import InputError
from st_biomed.files import replace_text
from st_biomed.files.sealed import checksum, read_sealed, sealed

MATRIX, PROGRESS = "vectors.npy", "encoding.json"

_OTHERS = {"model_sha256": "with another model", "catalog_sha256": "of another terminology"}
"""The meaning of a differing digest."""

_ANEW = "say --overwrite (in Python overwrite=True) to begin anew"

logger = logging.getLogger(__name__)


class EncodingProgress(NamedTuple):
    """The progress of an encoding.

    Attributes:
        settings: The settings that determine the rows.
        blocks: Rows and checksum of each committed block.
    """

    settings: Mapping[str, Any]
    blocks: list[tuple[int, str]]

    @property
    def done(self) -> int:
        """Number of committed rows."""
        return sum(rows for rows, _ in self.blocks)


class ResumableMatrix:
    """Rows of a ``.npy`` file, committed block by block.

    A block is written to disk before it is recorded in ``encoding.json``, and that file is replaced atomically. After
    an interruption, all recorded blocks exist, and further data is truncated. Damaged blocks are also truncated.

    Args:
        folder: The folder of the two files, which contains only files of this encoding.
        shape: ``(N, D)`` of the whole matrix.
        dtype: ``float32`` or ``float16``.
        settings: The settings that determine the rows, as JSON; an encoding with other settings is not resumed.
        anew: Whether to remove an encoding with other settings.

    Attributes:
        done: Number of committed rows.

    Raises:
        InputError: An existing encoding has other settings.
    """

    def __init__(
        self, folder: Path, shape: tuple[int, int], dtype: str, settings: Mapping[str, Any], *, anew: bool = False
    ) -> None:
        self.folder, self.shape, self.dtype = folder, shape, np.dtype(dtype).newbyteorder("<")
        self.settings = {**settings, "rows": shape[0], "dimension": shape[1], "dtype": dtype}
        self._blocks: list[tuple[int, str]] = []
        begun = read_progress(folder, anew=anew)
        if begun is None:
            self._begin()
        elif (other := self._differs(begun)) is None:
            self._resume(begun)  # also without a block: parts of other processes may be finished
        elif anew or not begun.blocks:
            self._begin()
        else:
            raise InputError(f"{folder}: holds an interrupted encoding {other}; {_ANEW}")

    @property
    def done(self) -> int:
        return sum(rows for rows, _ in self._blocks)

    def append(self, block: np.ndarray) -> None:
        """Write the next rows ``[R, D]`` and commit them.

        Raises:
            InputError: Rows of another width, or more than are missing.
        """
        if block.ndim != 2 or block.shape[1] != self.shape[1] or self.done + len(block) > self.shape[0]:
            raise InputError(
                f"vectors: expected at most [{self.shape[0] - self.done}, {self.shape[1]}], found {list(block.shape)}"
            )
        content = np.ascontiguousarray(block, dtype=self.dtype).tobytes()
        with self._path.open("r+b") as file:
            file.truncate(self._end(self.done))
            file.seek(0, os.SEEK_END)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self._blocks.append((len(block), checksum(content)))
        self._commit()

    def _differs(self, begun: EncodingProgress) -> str | None:
        """The first setting in which the interrupted encoding differs, in words."""
        for key, value in self.settings.items():
            if (found := begun.settings.get(key)) != value:
                return _OTHERS.get(key, f"with {key} {found!r} and does not go on with {value!r}")
        return None

    def _begin(self) -> None:
        for other in self.folder.iterdir():
            shutil.rmtree(other) if other.is_dir() else other.unlink()
        self._path.write_bytes(self._header)
        self._commit()

    def _resume(self, begun: EncodingProgress) -> None:
        """Take the blocks that are what was written, up to the first that is not."""
        if not self._path.is_file():
            self._path.write_bytes(b"")
        with self._path.open("r+b") as file:
            if file.read(len(self._header)) == self._header:
                for rows, expected in begun.blocks:
                    if checksum(file.read(self._end(rows) - self._end(0))) != expected:
                        break
                    self._blocks.append((rows, expected))
            else:
                file.seek(0)
                file.write(self._header)
            file.truncate(self._end(self.done))
        if self.done < begun.done:
            logger.warning("%s: damaged; %s of %s names are kept", self._path, f"{self.done:,}", f"{begun.done:,}")
            self._commit()

    def _commit(self) -> None:
        replace_text(self.folder / PROGRESS, sealed({"settings": self.settings, "blocks": self._blocks}))

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


def read_progress(folder: Path, *, anew: bool = False) -> EncodingProgress | None:
    """The progress of an encoding, or ``None`` if there is none.

    Args:
        folder: The folder of the encoding.
        anew: Whether to ignore a damaged file.

    Raises:
        InputError: A damaged file.
    """
    path = folder / PROGRESS
    if not path.is_file():
        return None
    try:
        record = read_sealed(path, _ANEW)
    except InputError:
        if anew:
            return None
        raise
    return EncodingProgress(record["settings"], [(rows, expected) for rows, expected in record["blocks"]])


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
