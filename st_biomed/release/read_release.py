"""Read a release folder that a recipe may replace in the same moment."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files import settle


class Replaced(InputError):
    """A folder is another one than it was."""


def identity(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from the one that takes its place; nothing where there is none."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def check_unreplaced(folder: Path, was: tuple[int, int] | None) -> None:
    """Refuse a folder that another one has taken the place of.

    Raises:
        Replaced: It is not what it was.
    """
    if identity(folder) != was:
        raise Replaced(f"{folder}: was replaced while it was read; repeat the command")


@contextmanager
def unreplaced(folder: Path) -> Iterator[None]:
    """Inside, a folder is read that stays the same: what is read of two versions is refused.

    Args:
        folder: A release folder; where its replacement was interrupted, a whole version is put in place first.

    Raises:
        Replaced: Another folder took its place.
    """
    settle(folder)
    was = identity(folder)
    try:
        yield
    except Exception:
        check_unreplaced(folder, was)
        raise
    check_unreplaced(folder, was)
