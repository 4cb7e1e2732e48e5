"""Tables of word vectors: a text file of words and numbers, or a matrix with a vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from st_biomed.errors import InputError


@dataclass(frozen=True)
class WordTable:
    """Words and their vectors.

    Attributes:
        vectors: float32 ``[n, D]`` in the order of ``words``, finite.
        entries: Number of entries in the source.
        undecodable: Number of entries that are not UTF-8; they are left out, because no name can contain them.
    """

    words: list[str]
    vectors: np.ndarray
    entries: int
    undecodable: int = 0


def read_text_vectors(path: str | Path, keep: Callable[[str], bool]) -> WordTable:
    """Read the text format of word2vec, which fastText writes as ``.vec``.

    The first line has the numbers of words and dimensions; every other line has a word and its numbers, separated by
    single spaces.

    Args:
        keep: Selects words; the numbers of other words are counted but not parsed.

    Raises:
        InputError: With file and line: numbers of words or dimensions that differ from the first line, a repeated
            word, or a value that is not a finite number.
    """
    path = Path(path)
    words: list[str] = []
    lines: dict[str, int] = {}
    undecodable = 0
    with path.open("rb") as file:
        count, width = _size(path, file.readline())
        if count * (2 * width + 1) > path.stat().st_size:  # a word and its numbers, each of a character and a space
            raise InputError(f"{path}:1: the file is too short for {count:,} words of {width} numbers, truncated?")
        vectors = np.empty((count, width), np.float32)
        line = 1
        for line, raw in enumerate(file, 2):
            if line > count + 1:
                raise InputError(f"{path}:{line}: the first line announces {count:,} words, but there are more")
            start, *numbers = raw.rstrip(b"\r\n ").split(b" ")
            if len(numbers) != width or not start:
                raise InputError(f"{path}:{line}: expected a word and {width} numbers, found {len(numbers)} of them")
            try:
                word = start.decode()
            except UnicodeDecodeError:
                undecodable += 1
                continue
            if lines.setdefault(word, line) != line:
                raise InputError(f"{path}:{line}: {word!r} occurs twice, first in line {lines[word]}")
            if keep(word):
                vectors[len(words)] = _numbers(path, line, numbers)
                words.append(word)
    if line != count + 1:
        raise InputError(
            f"{path}:{line}: the file ends after {line - 1:,} words, but the first line announces {count:,}"
        )
    return WordTable(words, vectors[: len(words)], count, undecodable)


def _size(path: Path, first: bytes) -> tuple[int, int]:
    parts = first.split()
    if len(parts) == 2 and all(part.isdigit() for part in parts) and int(parts[0]) and int(parts[1]):
        return int(parts[0]), int(parts[1])
    found = first[:40].decode(errors="replace").strip()
    raise InputError(f"{path}:1: expected the number of words and of dimensions, as in '20000 300', found {found!r}")


def _numbers(path: Path, line: int, numbers: list[bytes]) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):
            vector = np.array([float(number) for number in numbers]).astype(np.float32)
    except ValueError as error:
        raise InputError(f"{path}:{line}: expected {len(numbers)} numbers after the word, {error}") from error
    if not np.isfinite(vector).all():
        raise InputError(f"{path}:{line}: the vector has NaN or infinity")
    return vector


def read_matrix(
    vectors: str | Path | np.ndarray, vocabulary: str | Path | Sequence[str], keep: Callable[[str], bool]
) -> WordTable:
    """Read a matrix whose rows belong to the entries of a vocabulary.

    Args:
        vectors: ``[n, D]`` of real numbers, or a file in numpy's ``.npy`` format.
        vocabulary: n distinct words or names, or a text file with one per line.
        keep: Selects entries.

    Raises:
        InputError: With the file and line of the vocabulary, or the number of the entry: different sizes, an empty or
            repeated entry, NaN or infinity.
    """
    matrix = _open_matrix(vectors) if isinstance(vectors, (str, Path)) else np.asarray(vectors)
    what = f"{vectors}" if isinstance(vectors, (str, Path)) else "vectors"
    if matrix.ndim != 2 or not matrix.size or matrix.dtype.kind not in "fiu":
        raise InputError(f"{what}: expected real numbers [n, D], found {matrix.dtype} of shape {list(matrix.shape)}")
    words: list[str] = []
    kept: list[int] = []
    rows: dict[str, int] = {}
    places: list[str] = []
    for row, (place, word) in enumerate(_entries(vocabulary)):
        if not isinstance(word, str) or not word.strip():
            raise InputError(f"{place}: expected a word or a name, found {word!r}")
        if rows.setdefault(word, row) != row:
            raise InputError(f"{place}: {word!r} occurs twice, first as row {rows[word] + 1}")
        if keep(word):
            words.append(word)
            kept.append(row)
            places.append(place)
    if len(rows) != len(matrix):
        raise InputError(
            f"{what}: expected a row for each of {len(rows):,} entries of the vocabulary, found {len(matrix):,}"
        )
    table = np.asarray(matrix[kept], dtype=np.float32)
    finite = np.isfinite(table).all(axis=1)
    if not finite.all():
        first = int(finite.argmin())
        raise InputError(f"{places[first]}: the vector of {words[first]!r} has NaN or infinity")
    return WordTable(words, table, len(rows))


def _open_matrix(path: str | Path) -> np.ndarray:
    try:
        matrix: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
        return matrix
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path}: cannot be read as a matrix of numpy ({error})") from error


def _entries(vocabulary: str | Path | Sequence[str]) -> Iterator[tuple[str, str]]:
    """Where an entry stands, and the entry."""
    if not isinstance(vocabulary, (str, Path)):
        yield from ((f"vocabulary, entry {i}", word) for i, word in enumerate(vocabulary, 1))
        return
    with Path(vocabulary).open("rb") as file:
        for line, raw in enumerate(file, 1):
            try:
                yield f"{vocabulary}:{line}", raw.decode("utf-8-sig" if line == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise InputError(f"{vocabulary}:{line}: is not UTF-8 ({error.reason})") from error
