"""Folders and files that a command writes: held by one process at a time, and replaced whole or not at all.

Everything of this package that writes a folder replaces it in the same steps (:func:`replacing`): the new one is built in
``.NAME.draft-*`` beside the folder, synchronized to the disk and renamed to ``.NAME.whole-*``; the present one is set aside as
``.NAME.old-*``, the new one takes its place, and the old one is removed last. A kill between two steps leaves one whole
version at least: the folder, or, in the moment between the two renames, both ``whole`` and ``old``, which :func:`settle`
puts in place. Nothing beside a folder is touched but under its lock, and nothing but what bears its exact name.

What takes hours is built in ``.NAME.begun`` instead, which a kill or an error leaves: the same command goes on in it.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from st_biomed.errors import InputError
from st_biomed.files.drafts import (
    beside,
    new_name,
    remove_all,
    synchronize_entry,
)
from st_biomed.files.locks import check_writable, lock, real_path

Loaded = TypeVar("Loaded")

_LEFT = re.compile(r"\..+\.(draft-[0-9a-f]{8}|lock(\.json)?)")
"""What a killed process may leave of a file that it wrote into a folder."""


def check_output(
    folder: str | Path, *, what: str, is_own: Callable[[str], bool], marker: str, overwrite: bool = False
) -> Path:
    """Refuse an output folder that cannot be written, or in which something would be lost; commands call it first.

    Args:
        folder: The folder; a new or empty one is always accepted.
        what: What is written, for messages, e.g. ``"an index"``.
        is_own: Whether a file, by its path in the folder with ``/``, belongs to what is written.
        marker: The file by which a folder of that kind is told.
        overwrite: Whether a folder of that kind may be replaced.

    Returns:
        The folder.

    Raises:
        InputError: A file is in the way, the folder is not to be written to, it holds something else, or something of
            that kind that is not to be replaced.
    """
    folder = Path(folder)
    check_writable(folder)
    if os.path.ismount(folder):
        raise InputError(f"{folder}: a disk is mounted there, so it cannot be replaced; choose a folder below it")
    settle(folder)
    if not folder.is_dir() or next(folder.iterdir(), None) is None:
        return folder
    if not (folder / marker).is_file():
        held = next(folder.iterdir()).name
        raise InputError(
            f"{folder}: is not empty and holds no {marker} (it holds {held}); choose a new or empty folder"
        )
    if not overwrite:
        raise InputError(f"{folder}: holds {what} already; choose another folder, or replace it with --overwrite")
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_dir() and not is_own(name) and not _LEFT.fullmatch(path.name):
            raise InputError(f"{folder}: holds {name} besides {what}, which would be lost; move it elsewhere")
    return folder


@contextmanager
def replacing(folder: str | Path, *, resumable: bool = False) -> Iterator[Path]:
    """Build a folder beside the one it replaces.

    The body writes and checks a new folder, which takes the place of the present one where the body ends without an
    error. Otherwise the present one stays as it is.

    Args:
        folder: What is replaced, or made; a link to a folder has its target replaced.
        resumable: Whether the draft is :func:`begun_in`, which stays where the body does not end, and which the body
            finds with all that an earlier one left in it.

    Yields:
        The draft on the same disk, an empty folder unless it is resumed.

    Raises:
        FolderInUse: Another process writes to the folder.
    """
    folder = real_path(folder)
    with lock(folder):
        settle(folder)
        remove_all(beside(folder, "draft"))  # of processes that are dead: this one has the lock
        draft = begun_in(folder) if resumable else new_name(folder, "draft")
        try:
            draft.mkdir(exist_ok=resumable)
            yield draft
            synchronize(draft)
            whole = draft.rename(new_name(folder, "whole"))
        except BaseException as error:
            error.add_note(str(folder))  # which the message of a full disk lacks
            if not resumable:
                shutil.rmtree(draft, ignore_errors=True)
            with suppress(OSError):
                draft.rmdir()  # where nothing was begun
            raise
        _swap(whole, folder)
        remove_all([*beside(folder, "old"), *beside(folder, "whole")])


def begun_in(folder: str | Path) -> Path:
    """Where a folder that takes long to build is begun: ``.NAME.begun`` beside it, until it is whole."""
    folder = real_path(folder)
    return folder.with_name(f".{folder.name}.begun")


def begin_anew(folder: str | Path) -> None:
    """Remove what was begun of a folder.

    Raises:
        FolderInUse: Another process writes to the folder.
    """
    with lock(folder):
        remove_all([path for path in [begun_in(folder)] if path.exists()])


def settle(folder: str | Path) -> None:
    """Put a whole version in place where a process was killed between the two renames; otherwise do nothing.

    Loaders call it, so that what is there is found; where another process is about to put it in place, they wait.
    """
    folder = real_path(folder)
    if os.path.lexists(folder) or not (beside(folder, "whole") or beside(folder, "old")):
        return
    with lock(folder, wait=True):
        left = beside(folder, "whole") or beside(folder, "old")
        if left and not os.path.lexists(folder):
            newest = max(left, key=lambda path: path.stat().st_mtime_ns)
            newest.rename(folder)
            print(f"{folder}: a replacement was interrupted; put in place what it left", file=sys.stderr)


def read_whole(folder: str | Path, load: Callable[[Path], Loaded]) -> Loaded:
    """Read a folder that another process may replace meanwhile: all of it is of one version.

    Args:
        folder: What is read; see :func:`settle`.
        load: Reads it, and raises an :class:`InputError` where its files are not what they should be.
    """
    folder = Path(folder)
    while True:
        settle(folder)
        before = _version(folder)
        try:
            found = load(folder)
        except InputError:
            if _version(folder) == before:
                raise
        else:
            if _version(folder) == before:
                return found


def _version(folder: Path) -> tuple[int, int] | None:
    """What tells a folder from the one that replaces it."""
    try:
        found = folder.stat()
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns


def remove(folder: str | Path) -> None:
    """Remove a folder of this package, so that no part of it ever stands where the whole one stood.

    Raises:
        FolderInUse: Another process writes to the folder.
    """
    folder = real_path(folder)
    with lock(folder):
        remove_all(beside(folder, "draft"))
        if os.path.lexists(folder):
            shutil.rmtree(folder.rename(new_name(folder, "draft")))


def synchronize(folder: Path) -> None:
    """Have the disk hold every file of a folder, and their names."""
    for above, _, files in os.walk(folder):
        for name in files:
            synchronize_entry(Path(above, name))
        synchronize_entry(Path(above))
    synchronize_entry(folder.parent)


def _swap(whole: Path, folder: Path) -> None:
    old = None
    if os.path.lexists(folder):
        old = folder.rename(new_name(folder, "old"))
    try:
        whole.rename(folder)
    except BaseException:
        if old is not None:
            old.rename(folder)
        raise
    synchronize_entry(folder.parent)
