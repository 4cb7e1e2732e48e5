"""Words of a text and their hashes, for a whole block of text at once.

A token is a run of letters, digits, underscores and combining marks, or any other single character that is not a
space.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

Accents = Literal["keep", "fold"]

SEPARATOR = "\0"
"""Separates two texts of a block; no term contains it."""

_TABLE = 0x20000  # characters above are ideographs: word characters without case
_SPACE, _WORD, _OTHER = 0, 1, 2
_ALIKE = {"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'", "‐": "-", "‑": "-", "–": "-", "—": "-", "−": "-"}
_BASE = np.uint64(0x9E3779B97F4A7C15)
_NEXT = np.uint64(0xD1342543DE82EF95)


class Tokens(NamedTuple):
    """Tokens of a block of text, in order.

    Attributes:
        starts: First character of each, int64 ``[N]``.
        ends: Character after the last, int64 ``[N]``.
        hashes: Equal for tokens that are equal after folding, uint64 ``[N]``; different tokens are equal with
            probability 2^-64.
    """

    starts: np.ndarray
    ends: np.ndarray
    hashes: np.ndarray


def code_points(text: str) -> np.ndarray:
    """The characters of a text as numbers, uint32 ``[len(text)]``."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def tokenize(points: np.ndarray, accents: Accents) -> Tokens:
    """The tokens of a block.

    Args:
        points: The characters of the block, see :func:`code_points`.
        accents: Whether letters with accents equal those without (``"fold"``). Case, the kind of apostrophe and the
            kind of dash are always ignored.
    """
    kinds = character_kinds(points)
    padded = np.zeros(len(kinds) + 2, dtype=np.uint8)
    padded[1:-1] = kinds
    word = padded == _WORD
    single = padded[1:-1] == _OTHER
    starts = np.flatnonzero(single | (word[1:-1] & ~word[:-2]))
    ends = np.flatnonzero(single | (word[1:-1] & ~word[2:])) + 1
    forward, backward = _powers(1 << max(10, len(points).bit_length()))
    sums = np.zeros(len(points) + 1, dtype=np.uint64)
    np.cumsum(_character_hashes(points, accents) * forward[: len(points)], out=sums[1:])
    return Tokens(starts, ends, splitmix64((sums[ends] - sums[starts]) * backward[starts]))


def words(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First character, and character after the last, of each run without spaces or separators, int64 ``[N]`` each."""
    inside = np.zeros(len(points) + 2, dtype=bool)
    inside[1:-1] = (character_kinds(points) != _SPACE) & (points != ord(SEPARATOR))
    return np.flatnonzero(inside[1:-1] & ~inside[:-2]), np.flatnonzero(inside[1:-1] & ~inside[2:]) + 1


def followed_by(path: np.ndarray, token: np.ndarray) -> np.ndarray:
    """The hash of a sequence of tokens from the hash of all but the last, uint64 ``[N]`` each."""
    return path * _NEXT + token


def character_kinds(points: np.ndarray) -> np.ndarray:
    """Whether each character is a space, part of a word, or a separate token, uint8 ``[N]``."""
    kinds = _tables("keep")[0]
    if len(points) and points.max() >= _TABLE:
        return np.where(points < _TABLE, kinds[np.minimum(points, _TABLE - 1)], np.uint8(_WORD))
    return kinds[points]


def _character_hashes(points: np.ndarray, accents: Accents) -> np.ndarray:
    hashes = _tables(accents)[1]
    if len(points) and points.max() >= _TABLE:
        return np.where(points < _TABLE, hashes[np.minimum(points, _TABLE - 1)], splitmix64(points.astype(np.uint64)))
    return hashes[points]


def splitmix64(values: np.ndarray) -> np.ndarray:
    """Each number, uint64 ``[N]``, spread over 64 bits (the finalizer of SplitMix64)."""
    spread = values + _BASE
    spread = (spread ^ (spread >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    spread = (spread ^ (spread >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return spread ^ (spread >> np.uint64(31))


@cache
def _powers(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Powers of an odd number and of its inverse modulo 2^64, from exponent 0 on, uint64 ``[n]`` each."""
    inverse = np.uint64(pow(int(_BASE), -1, 1 << 64))
    both = []
    for factor in (_BASE, inverse):
        powers = np.full(n, factor, dtype=np.uint64)
        powers[0] = 1
        both.append(np.cumprod(powers))
    return both[0], both[1]


@cache
def _tables(accents: Accents) -> tuple[np.ndarray, np.ndarray]:
    """Kind, uint8, and hash after folding, uint64, of each character below ``_TABLE``."""
    kinds = np.full(_TABLE, _OTHER, dtype=np.uint8)
    folded = np.arange(_TABLE, dtype=np.uint64)
    for point in range(_TABLE):
        character = chr(point)
        if character.isspace():
            kinds[point] = _SPACE
        elif character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M":
            kinds[point] = _WORD
        folded[point] = ord(fold(character, accents))
    return kinds, splitmix64(folded)


def fold(character: str, accents: Accents) -> str:
    """The folded form of a character: without case, and without its accent if accents are folded.

    Case folding also makes one letter of the two small sigmas and of the two micro signs. Where it gives several
    letters (ß), the lower case is taken.
    """
    character = _ALIKE.get(character, character)
    lower = folded if len(folded := character.casefold()) == 1 else character.lower()
    if accents == "fold":
        first, *marks = list(unicodedata.normalize("NFD", lower))
        if all(unicodedata.category(mark) == "Mn" for mark in marks):
            lower = first
    return lower if len(lower) == 1 else character
