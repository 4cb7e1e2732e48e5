"""Reads a release folder that a recipe may replace at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files import finish_replacement


class Replaced(InputError):
    """A folder was replaced."""


def identity(folder: Path) -> tuple[int, int] | None:
    """The identity of a folder, which differs from that of its replacement; nothing if it does not exist."""
    try:
        state = folder.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


def check_unreplaced(folder: Path, was: tuple[int, int] | None) -> None:
    """Reject a folder that was replaced.

    Raises:
        Replaced: It was replaced.
    """
    if identity(folder) != was:
        raise Replaced(f"{folder}: was replaced while it was read; repeat the command")


@contextmanager
def unreplaced(folder: Path) -> Iterator[None]:
    """Read a folder that does not change inside; a replacement during reading is an error.

    Args:
        folder: A release folder; if its replacement was interrupted, a complete version is put in place first.

    Raises:
        Replaced: The folder was replaced.
    """
    finish_replacement(folder)
    was = identity(folder)
    try:
        yield
    except Exception:
        check_unreplaced(folder, was)
        raise
    check_unreplaced(folder, was)
