"""Kinships of two concepts of a hierarchy, by the steps to a shared ancestor."""

from __future__ import annotations

from collections.abc import Sequence

from st_biomed.errors import InputError, check_name

KINSHIPS: dict[str, tuple[int, int]] = {
    "sibling": (1, 1),
    "parent_child": (0, 1),
    "grandparent_child": (0, 2),
    "uncle_nephew": (1, 2),
    "cousin": (2, 2),
    "great_grandparent_child": (0, 3),
}
"""Kinship to (i, j): an ancestor i steps above one concept is an ancestor j steps above the other, in either order."""


def ancestor_steps(level: str | Sequence[str]) -> list[tuple[int, int]]:
    """The (i, j) of the kinships that share a level.

    Raises:
        InputError: An unknown kinship.
    """
    names = [level] if isinstance(level, str) else list(level)
    for name in names:
        check_name("kinship", name, KINSHIPS)
    return [KINSHIPS[name] for name in names]


def check_order(levels: list[list[tuple[int, int]]]) -> None:
    """Check that a narrower kinship is nearer: concepts that share a parent also share a grandparent.

    Raises:
        InputError: A kinship whose narrower kinship is not at a nearer level.
    """
    names = {steps: name for name, steps in KINSHIPS.items()}
    nearer: set[tuple[int, int]] = {(0, 0)}
    for level in levels:
        for i, j in level:
            core = (i - 1, j - 1)
            if i and core not in nearer:
                raise InputError(f"levels: {names[i, j]!r} contains {names[core]!r}, which must be at a nearer level")
        nearer.update(level)
