"""fastText's binary model file, which has subword vectors and therefore a vector for any word."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from st_biomed.errors import InputError
from st_biomed.modules.vector_tables import WordTable

_MAGIC, _VERSIONS = 793712314, (11, 12)
_SUPERVISED = 3
_LINE_END = b"</s>"


class FastTextBinary:
    """The words of a model and the rows of their vectors.

    The vector of a word in the dictionary is the mean of its own row and the rows of its character n-grams (Bojanowski
    et al. 2017, Enriching word vectors with subword information, section 3.2). The vector of another word is the mean
    over its n-grams. The rows are read from the file on demand.

    Args:
        path: A ``.bin`` file of version 11 or 12, which fastText has written since 2017.

    Attributes:
        words: Words of the dictionary, most frequent first, without words that are not UTF-8.
        undecodable: Number of words that are not UTF-8.
        dimension: D.

    Raises:
        InputError: With the file (and the byte if it is truncated): another format, a quantized or pruned model, or
            inconsistent sizes.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._at = 0
        with self.path.open("rb") as file:
            self._bytes: Any = (
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self.path.stat().st_size else b""
            )
        magic, version = self._take("ii", "header")
        if magic != _MAGIC or version not in _VERSIONS:
            raise InputError(
                f"{self.path}: is not a fastText model of version 11 or 12; binary vectors of word2vec must be "
                "converted to text first"
            )
        arguments = self._take("12i", "arguments")
        self.dimension, model, self._buckets = arguments[0], arguments[7], arguments[8]
        self._shortest, self._longest = arguments[9:11]
        if version == 11 and model == _SUPERVISED:
            self._longest = 0  # such models were trained without n-grams, whatever is written
        self._take("d", "arguments")
        self._rows = self._dictionary()
        self.words = []
        for word in self._rows:
            try:
                self.words.append(word.decode())
            except UnicodeDecodeError:
                continue
        self.undecodable = len(self._rows) - len(self.words)
        self._matrix = self._input_matrix()

    def vector(self, word: str) -> np.ndarray | None:
        """The vector of a word.

        Returns:
            float32 ``[D]``, or ``None`` for a word that is not in the dictionary and has no n-grams.

        Raises:
            InputError: NaN or infinity in it.
        """
        rows = self.rows(word)
        if not rows:
            return None
        vector = self._matrix[rows].mean(axis=0, dtype=np.float64).astype(np.float32)
        if not np.isfinite(vector).all():
            raise InputError(f"{self.path}: the vector of {word!r} has NaN or infinity")
        return vector

    def table(self, words: Sequence[str]) -> WordTable:
        """The vectors of distinct words, without words that have none."""
        vectors = np.empty((len(words), self.dimension), np.float32)
        found: list[str] = []
        for word in words:
            if (vector := self.vector(word)) is not None:
                vectors[len(found)] = vector
                found.append(word)
        return WordTable(found, vectors[: len(found)], len(self._rows), self.undecodable)

    def rows(self, word: str) -> list[int]:
        """Rows of the matrix whose mean is the vector of a word: its own row, then those of its n-grams."""
        text = word.encode()
        own = self._rows.get(text)
        rows = [] if own is None else [own]
        if text != _LINE_END:
            hashes = ngram_hashes(word, self._shortest, self._longest)
            rows += [len(self._rows) + value % self._buckets for value in hashes]
        return rows

    def _dictionary(self) -> dict[bytes, int]:
        """Row by word. Labels of a supervised model come after the words and have no row."""
        entries, words, labels = self._take("3i", "dictionary")
        _, pruned = self._take("2q", "dictionary")
        if pruned >= 0:
            raise InputError(f"{self.path}: a pruned model (.ftz) has lost n-grams; use the whole .bin")
        if words < 1 or labels < 0 or entries != words + labels:
            raise InputError(
                f"{self.path}: a dictionary of {entries:,} entries with {words:,} words, {labels:,} labels"
            )
        rows: dict[bytes, int] = {}
        for entry in range(entries):
            end = self._bytes.find(b"\0", self._at)
            if end < 0:
                raise InputError(f"{self.path}: ends within the dictionary, at byte {len(self._bytes):,}")
            word = self._bytes[self._at : end]
            self._at = end + 1
            self._take("qb", "dictionary")
            if entry < words and rows.setdefault(word, entry) != entry:
                raise InputError(f"{self.path}: the dictionary has {word.decode(errors='replace')!r} twice")
        return rows

    def _input_matrix(self) -> np.ndarray:
        (quantized,) = self._take("?", "matrix")
        if quantized:
            raise InputError(f"{self.path}: a quantized model (.ftz) has no vectors of its own; use the .bin")
        shape = self._take("2q", "matrix")
        if shape != (len(self._rows) + self._buckets, self.dimension) or self.dimension < 1 or self._buckets < 0:
            raise InputError(
                f"{self.path}: a matrix of shape {list(shape)}, expected [{len(self._rows)} words + {self._buckets} "
                f"n-grams, {self.dimension}]"
            )
        if not self._buckets and self._longest > 0:
            raise InputError(f"{self.path}: n-grams of up to {self._longest} characters, and no row for any")
        numbers = shape[0] * shape[1]
        if self._at + 4 * numbers > len(self._bytes):
            raise InputError(f"{self.path}: ends within the matrix, at byte {len(self._bytes):,}")
        return np.frombuffer(self._bytes, "<f4", numbers, self._at).reshape(shape)

    def _take(self, layout: str, part: str) -> tuple[Any, ...]:
        layout = f"<{layout}"
        if self._at + struct.calcsize(layout) > len(self._bytes):
            raise InputError(f"{self.path}: ends within the {part}, at byte {len(self._bytes):,}")
        values = struct.unpack_from(layout, self._bytes, self._at)
        self._at += struct.calcsize(layout)
        return values


def ngram_hashes(word: str, shortest: int, longest: int) -> list[int]:
    """Hashes of the character n-grams of ``<word>``, in the order of their start, then of their length.

    The hash is 32-bit FNV-1a over the UTF-8 bytes, read as signed numbers as in fastText. The two brackets alone are
    not n-grams.

    Args:
        word: The word without brackets.
        shortest: Characters of the shortest n-gram, including brackets.
        longest: Characters of the longest n-gram; 0 for none.

    Returns:
        Numbers below 2**32; repeated n-grams are repeated.
    """
    characters = [character.encode() for character in f"<{word}>"]
    hashes = []
    for start in range(len(characters)):
        value = 2166136261
        for length, character in enumerate(characters[start : start + max(longest, 0)], 1):
            for byte in character:
                value = (value ^ (byte | 0xFFFFFF00 if byte > 127 else byte)) * 16777619 & 0xFFFFFFFF
            alone = length == 1 and start in (0, len(characters) - 1)
            if length >= shortest and not alone:
                hashes.append(value)
    return hashes
