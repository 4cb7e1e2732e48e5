"""Vectors of a model on disk, by the digest of their text; each text is embedded once for all benchmarks and runs."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from st_biomed.errors import InputError, check_name
from st_biomed.evaluators.embedders import Embed, EmbedByTask, check_finite
from st_biomed.files import lock, replace_text
from st_biomed.files.sealed import read_sealed, sealed

logger = logging.getLogger(__name__)

DTYPES = ("float32", "float16")
_FORMAT = 2
_DIGEST_BYTES = 16
_ENTRY = np.dtype([("text", f"V{_DIGEST_BYTES}"), ("checksum", "<u4")])
_ROWS, _ENTRIES, _KEY = "vectors.bin", "entries.bin", "key.json"


class VectorStore:
    """An :data:`~st_biomed.evaluators.embedders.Embed` that stores vectors on disk; no text is stored.

    Vectors are appended piece by piece. Each piece is committed before the next is embedded, so an interrupted run
    continues where it stopped. Only one process at a time embeds a piece of a model; others wait, report after a
    second which process they wait for, and then read the piece. A damaged vector is embedded again, which is logged.

    Args:
        folder: Folder for the stores of any number of models; created if it does not exist.
        key: Identifies what the vectors depend on besides their text, e.g. the digest of the model.
        embed: Maps N texts to ``[N, D]``, for texts that are not stored.
        dtype: ``"float32"``, or ``"float16"`` for half the size; the rounded vectors are then measured, also in the
            run that writes them.
        piece: Number of texts embedded before a commit.

    Raises:
        InputError: Another dtype, or a folder that is a file.
    """

    def __init__(
        self,
        folder: str | Path,
        key: Mapping[str, object],
        embed: Embed,
        *,
        dtype: str = "float32",
        piece: int = 16_384,
    ) -> None:
        check_name("cache_dtype", dtype, DTYPES)
        if Path(folder).exists() and not Path(folder).is_dir():
            raise InputError(f"cache_dir: {folder} is a file; expected a folder")
        self.key = {**key, "dtype": dtype, "format": _FORMAT}
        self.dtype, self.piece = np.dtype(dtype).newbyteorder("<"), piece
        self._embed = embed
        text = json.dumps(self.key, sort_keys=True).encode()
        self._seed = zlib.crc32(text)  # so that vectors of another model are not those that were written here
        self.folder = Path(folder) / hashlib.sha256(text).hexdigest()[:24]
        self._row: dict[bytes, int] = {}
        self._checksums = np.zeros(0, dtype=np.uint32)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors ``[N, D]`` of N texts.

        Raises:
            InputError: NaN or infinity, numbers beyond what the dtype can hold, or vectors of another dimension than those
                that are there.
        """
        if not texts:
            return np.empty((0, self._dimension if (self.folder / _KEY).is_file() else 0), self.dtype)
        digests = [hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest() for text in texts]
        self._refresh()
        if all(digest in self._row for digest in digests) and (found := self._read(digests)) is not None:
            return found
        found = None
        while found is None:  # damaged vectors are forgotten when they are read
            new = {digest: text for digest, text in zip(digests, texts) if digest not in self._row}
            missing = list(new)
            for start in range(0, len(missing), self.piece):
                self._embed_piece({digest: new[digest] for digest in missing[start : start + self.piece]})
            with lock(self.folder, wait=True):
                found = self._read(digests)
        return found

    def _embed_piece(self, texts: Mapping[bytes, str]) -> None:
        """Embed and commit texts by digest, except those that another process has committed meanwhile."""
        with lock(self.folder, wait=True):  # a process that has waited finds them embedded
            self._refresh()
            piece = [digest for digest in texts if digest not in self._row]
            if piece:
                pending = [texts[digest] for digest in piece]
                vectors = self._embed(pending)
                check_finite(pending, vectors)  # otherwise the folder would hold them for all later runs
                self._append(piece, vectors)

    # ------------------------------------------------------------------ files

    @property
    def _dimension(self) -> int:
        remedy = f"remove {self.folder}, and its vectors are embedded anew"
        record = read_sealed(self.folder / _KEY, remedy)
        if record["key"] != self.key:
            raise InputError(f"{self.folder / _KEY}: belongs to another store; {remedy}")
        return int(record["dimension"])

    def _refresh(self) -> None:
        """Take in what was committed, by this process or another."""
        path = self.folder / _ENTRIES
        size = path.stat().st_size // _ENTRY.itemsize if path.is_file() else 0
        known = len(self._checksums)
        if size > known:
            entries = np.fromfile(path, _ENTRY, size - known, offset=known * _ENTRY.itemsize)
            self._row.update((text.tobytes(), known + i) for i, text in enumerate(entries["text"]))
            self._checksums = np.concatenate([self._checksums, entries["checksum"]])

    def _read(self, digests: Sequence[bytes]) -> np.ndarray | None:
        """Vectors of known texts; ``None`` where some are damaged, which are then unknown."""
        rows = np.array([self._row[digest] for digest in digests], dtype=np.int64)
        width = self._dimension * self.dtype.itemsize
        n_written = (self.folder / _ROWS).stat().st_size // width if (self.folder / _ROWS).is_file() else 0
        found = np.zeros((len(rows), self._dimension), dtype=self.dtype)
        whole = rows < n_written
        if n_written:
            matrix = np.memmap(self.folder / _ROWS, self.dtype, "r", shape=(n_written, self._dimension))
            found[whole] = matrix[rows[whole]]
        sound = self._checksums_of(found) == self._checksums[rows]
        if sound.all():
            return found
        logger.warning("%s: %d vectors are not what was written and are embedded anew", self.folder, (~sound).sum())
        for digest, good in zip(digests, sound):
            if not good:
                self._row.pop(digest, None)
        return None

    def _append(self, digests: list[bytes], vectors: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            stored = np.ascontiguousarray(vectors, dtype=self.dtype)
        if not np.isfinite(stored).all():
            raise InputError(f"cache_dtype: {self.dtype.name} cannot hold these vectors, use 'float32'")
        if not (self.folder / _KEY).is_file():
            self.folder.mkdir(exist_ok=True)
            replace_text(self.folder / _KEY, sealed({"key": self.key, "dimension": stored.shape[1]}))
        if stored.shape[1] != self._dimension:
            raise InputError(f"{self.folder}: holds vectors of {self._dimension} dimensions, found {stored.shape[1]}")
        entries = np.zeros(len(stored), dtype=_ENTRY)
        entries["text"] = np.frombuffer(b"".join(digests), dtype=f"V{_DIGEST_BYTES}")
        entries["checksum"] = self._checksums_of(stored)
        width = stored.shape[1] * self.dtype.itemsize
        _write_at(self.folder / _ROWS, len(self._checksums) * width, stored.tobytes())
        _write_at(self.folder / _ENTRIES, len(self._checksums) * _ENTRY.itemsize, entries.tobytes())
        self._refresh()

    def _checksums_of(self, vectors: np.ndarray) -> np.ndarray:
        """uint32 ``[N]``."""
        return np.array([zlib.crc32(vector.data, self._seed) for vector in vectors], dtype=np.uint32)


def stored(embed: Embed, folder: str | Path, key: Mapping[str, object], *, dtype: str = "float32") -> Embed:
    """The same vectors, stored on disk.

    Vectors of mentions and names with a prompt or route of their own have a key of their own, which includes it.

    Args:
        embed, folder, key, dtype: As in :class:`VectorStore`.
    """
    plain = VectorStore(folder, key, embed, dtype=dtype)
    if not isinstance(embed, EmbedByTask):
        return plain
    own = {
        task: VectorStore(folder, {**key, **embed.inputs[task]._asdict()}, of_task, dtype=dtype)
        for task, of_task in embed.tasks.items()
    }
    return EmbedByTask(plain, own, embed.inputs)


def _write_at(path: Path, offset: int, content: bytes) -> None:
    """Write and commit; what an interrupted run left behind the offset is overwritten."""
    with path.open("r+b" if path.exists() else "wb") as file:
        file.seek(offset)
        file.write(content)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
