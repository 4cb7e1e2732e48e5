"""SNOMED CT identifiers: numbers whose last digit checks the others, and the UUIDs of members of reference sets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FULLY_SPECIFIED, SYNONYM, DEFINITION = 900000000000003001, 900000000000013009, 900000000000550004
"""Types of descriptions."""

PREFERRED = 900000000000548007
"""Acceptability of a description; the other one is 900000000000549004, acceptable."""

US_ENGLISH, GB_ENGLISH = 900000000000509007, 900000000000508004
"""Language reference sets."""

IS_A = 116680003
DEFINING = {"inferred": 900000000000011006, "stated": 900000000000010007}
"""View to the characteristic type of the relationships that define a concept in it."""

CONCEPTS, DESCRIPTIONS, RELATIONSHIPS = 0, 1, 2
"""Last digit of the partition: what an identifier stands for."""


def _multiplied(first: int, second: int) -> int:
    """The product in the dihedral group of order 10, of rotations 0 to 4 and reflections 5 to 9."""
    turned = first + second if first < 5 else first - second
    return turned % 5 + 5 * ((first < 5) != (second < 5))


# The tables of Verhoeff's check digit: the group, and a permutation of digits that is applied as often as a digit stands
# left of the last one.
_TIMES = np.array([[_multiplied(first, second) for second in range(10)] for first in range(10)], dtype=np.int8)
_FLAT = _TIMES.ravel()
_PERMUTED = [list(range(10))]
for _ in range(7):
    _PERMUTED.append([(1, 5, 7, 6, 2, 8, 3, 0, 9, 4)[digit] for digit in _PERMUTED[-1]])


def _products(start: int, *, padded: bool) -> np.ndarray:
    """The product of the three digits of 0 to 999 that begin at a place, int8 ``[1000]``.

    Args:
        start: The place of the last of the three, counted from the right.
        padded: Whether zeros to the left of the first digit are digits too.
    """
    products = np.zeros(1000, dtype=np.int8)
    for number in range(1000):
        for place, digit in enumerate(reversed(f"{number:03d}" if padded else str(number) if number else "")):
            products[number] = _TIMES[products[number], _PERMUTED[(start + place) % 8][int(digit)]]
    return products


_WITHIN = [_products(start, padded=True) for start in range(0, 18, 3)]
_FIRST = [_products(start, padded=False) for start in range(0, 18, 3)]


def are_identifiers(numbers: np.ndarray, component: int) -> np.ndarray:
    """Whether numbers are identifiers of some component, boolean ``[N]``.

    They have 6 to 18 digits: items, for extensions a namespace, the partition (two digits, the first 0 or 1) and
    Verhoeff's check digit (SNOMED CT Release File Specification, "SNOMED CT identifiers").

    Args:
        numbers: int64 ``[N]``, at least 0.
        component: ``CONCEPTS``, ``DESCRIPTIONS`` or ``RELATIONSHIPS``.
    """
    tens, thousands = numbers // 10, numbers // 1000
    partition = (tens - thousands * 100).astype(np.int8)
    right = (numbers >= 10**5) & (numbers < 10**18) & ((partition == component) | (partition == 10 + component))
    product, rest = np.zeros(len(numbers), dtype=np.int8), numbers
    for within, first in zip(_WITHIN, _FIRST):
        left = rest // 1000  # many times faster than divmod
        digits, rest = (rest - left * 1000).astype(np.int16), left
        more = np.where(rest > 0, within.take(digits), first.take(digits))
        product = _FLAT.take(product * np.int8(10) + more)
    return right & (product == 0)


def distinct(numbers: np.ndarray) -> np.ndarray:
    """The distinct values of integers ``[N]``, sorted; millions take a fraction of the time of ``np.unique``."""
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), dtype=bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


_NIBBLES = np.full(256, 255, dtype=np.uint8)
for _letters in ("0123456789abcdef", "0123456789ABCDEF"):
    _NIBBLES[list(_letters.encode())] = np.arange(16)
_HYPHENS = [8, 13, 18, 23]
_DIGITS = [place for place in range(36) if place not in _HYPHENS]


def member_numbers(members: pa.StringArray) -> tuple[np.ndarray, np.ndarray]:
    """The two halves of UUIDs, uint64 ``[N, 2]``, and whether each is a UUID, boolean ``[N]``."""
    are_long = pc.equal(pc.binary_length(members), 36)
    if not pc.all(are_long).as_py():
        members = pc.if_else(are_long, members, "-" * 36)
    offsets = np.frombuffer(members.buffers()[1], np.int32)[members.offset : members.offset + len(members) + 1]
    text = np.frombuffer(members.buffers()[2], np.uint8)[offsets[0] : offsets[-1]].reshape(-1, 36)
    nibbles = _NIBBLES[text[:, _DIGITS]]
    right = (text[:, _HYPHENS] == ord("-")).all(1) & (nibbles < 16).all(1)
    return np.ascontiguousarray(nibbles[:, ::2] << 4 | nibbles[:, 1::2]).view(np.uint64), right
