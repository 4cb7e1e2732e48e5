"""Folders and files that a command writes: locked by one process at a time, and replaced completely or not at all.

All code of this package that writes a folder replaces it in the same steps (:func:`replacing`): the new one is built
in ``.NAME.draft-*`` beside the folder, synchronized to the disk and renamed to ``.NAME.whole-*``; the present one is
renamed to ``.NAME.old-*``, the new one takes its place, and the old one is removed last. A kill between two steps
leaves at least one complete version: the folder, or, between the two renames, both ``whole`` and ``old``, which
:func:`finish_replacement` puts in place. Files beside a folder are only changed under its lock, and only those with its exact
name.

Results of hours are built in ``.NAME.begun`` instead, which stays after a kill or an error: the same command continues
it.
"""

from __future__ import annotations

import os
import re
import stat
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
    remove_folder,
    synchronize_entry,
)
from st_biomed.files.locks import check_writable, lock, real_path

Loaded = TypeVar("Loaded")

_LEFT = re.compile(r"\..+\.(draft-[0-9a-f]{8}|lock(\.json)?)")
"""Remains of a file that a killed process wrote into a folder."""


def check_output(
    folder: str | Path, *, what: str, is_own: Callable[[str], bool], marker: str, overwrite: bool = False
) -> Path:
    """Reject an output folder that cannot be written or has contents that would be lost; commands call this first.

    Args:
        folder: The folder; a new or empty one is always accepted.
        what: The kind of output, for messages, e.g. ``"an index"``.
        is_own: Whether a file, by its path in the folder with ``/``, belongs to the output.
        marker: The file that identifies a folder of that kind.
        overwrite: Whether a folder of that kind may be replaced.

    Returns:
        The folder.

    Raises:
        InputError: A file has the name of the folder, the folder is not writable, is or contains the working directory, has
            other contents, or has contents of that kind that may not be replaced.
    """
    folder = Path(folder)
    check_writable(folder)
    if os.path.ismount(folder):
        raise InputError(f"{folder}: a disk is mounted there, so it cannot be replaced; choose a folder below it")
    if folder.is_dir() and _has_working_directory(folder):
        raise InputError(f"{folder}: is the working directory, so it cannot be replaced; choose a folder below it")
    finish_replacement(folder)
    if not folder.is_dir() or next(folder.iterdir(), None) is None:
        return folder
    if not (folder / marker).is_file():
        held = next(folder.iterdir()).name
        raise InputError(f"{folder}: is not empty and has no {marker} (it has {held}); choose a new or empty folder")
    if not overwrite:
        raise InputError(f"{folder}: already contains {what}; choose another folder, or replace it with --overwrite")
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        foreign = path.is_symlink() or not path.is_dir()  # a link to a folder is lost like a file
        if foreign and not is_own(name) and not _LEFT.fullmatch(path.name):
            raise InputError(
                f"{folder}: contains {name} in addition to {what}, which would be lost; move it elsewhere"
            )
    return folder


def check_new_file(file: str | Path, *, overwrite: bool = False) -> None:
    """Reject an output file that cannot be written, or is there and may not be replaced; commands call this first.

    Raises:
        InputError: As of :func:`check_writable`, or the file is there.
    """
    if check_writable(file, file=True).exists() and not overwrite:
        raise InputError(f"{file}: already exists; --overwrite replaces it")


def _has_working_directory(folder: Path) -> bool:
    """Whether a folder is or contains the working directory; none does where that was deleted."""
    try:
        return Path.cwd().is_relative_to(folder.resolve())
    except FileNotFoundError:
        return False


@contextmanager
def replacing(folder: str | Path, *, resumable: bool = False) -> Iterator[Path]:
    """Build a folder beside the one that it replaces.

    The body writes and checks a new folder, which replaces the present one if the body ends without an error.
    Otherwise the present one stays unchanged.

    Args:
        folder: The folder to replace or create; for a link, its target is replaced.
        resumable: Whether the draft is :func:`begun_in`, which stays if the body fails, and contains everything that
            an earlier body wrote.

    Yields:
        The draft on the same disk, an empty folder unless it is resumed.

    Raises:
        FolderInUse: Another process writes to the folder.
    """
    folder = real_path(folder)
    with lock(folder):
        finish_replacement(folder)
        remove_all(beside(folder, "draft"))  # of dead processes: this one has the lock
        draft = begun_in(folder) if resumable else new_name(folder, "draft")
        try:
            draft.mkdir(exist_ok=resumable)
            yield draft
            share_weights(draft)
            synchronize(draft)
            whole = draft.rename(new_name(folder, "whole"))
        except BaseException as error:
            error.add_note(str(folder))  # the message of a full disk does not name it
            if not resumable:
                remove_folder(draft, ignore_errors=True)
            with suppress(OSError):
                draft.rmdir()  # if nothing was written
            raise
        _swap(whole, folder)
        remove_all([*beside(folder, "old"), *beside(folder, "whole")])


def begun_in(folder: str | Path) -> Path:
    """The place where a slow folder is built until it is complete: ``.NAME.begun`` beside it."""
    folder = real_path(folder)
    return folder.with_name(f".{folder.name}.begun")


def begin_anew(folder: str | Path) -> None:
    """Remove the unfinished draft of a folder.

    Raises:
        FolderInUse: Another process writes to the folder.
    """
    with lock(folder):
        remove_all([path for path in [begun_in(folder)] if path.exists()])


def finish_replacement(folder: str | Path) -> None:
    """Put a complete version in place if a process was killed between the two renames; otherwise do nothing.

    Loaders call this, so that they find the folder; they wait if another process is about to put it in place.
    """
    folder = real_path(folder)
    if os.path.lexists(folder) or not beside(folder, "whole"):
        return  # an old version alone is what a kill left behind a folder that was removed since
    with lock(folder, wait=True):
        left = beside(folder, "whole")
        if left and not os.path.lexists(folder):
            newest = max(left, key=lambda path: path.stat().st_mtime_ns)
            newest.rename(folder)
            print(f"{folder}: a replacement was interrupted and is now completed", file=sys.stderr)


def read_one_version(folder: str | Path, load: Callable[[Path], Loaded]) -> Loaded:
    """Read a folder that another process may replace meanwhile, so that all contents are of one version.

    Args:
        folder: The folder; see :func:`finish_replacement`.
        load: Reads the folder, and raises an :class:`InputError` for invalid files or an :class:`OSError` for those that
            are gone.
    """
    folder = Path(folder)
    while True:
        finish_replacement(folder)
        before = _version(folder)
        try:
            content = load(folder)
        except (InputError, OSError):
            if _version(folder) == before:
                raise
        else:
            if _version(folder) == before:
                return content


def _version(folder: Path) -> tuple[int, int] | None:
    """The identity of a folder, which differs from that of its replacement."""
    try:
        state = folder.stat()
    except OSError:
        return None
    return state.st_ino, state.st_ctime_ns


def remove(folder: str | Path) -> None:
    """Remove a folder of this package, so that an incomplete folder never has its name.

    Raises:
        FolderInUse: Another process writes to the folder.
    """
    folder = real_path(folder)
    with lock(folder):
        remove_all(beside(folder, "draft"))
        present = [folder] if os.path.lexists(folder) else []
        # The folder last: without it, finish_replacement would put an older version in its place.
        for path in [*beside(folder, "whole"), *beside(folder, "old"), *present]:
            remove_folder(path.rename(new_name(folder, "draft")))


def share_weights(folder: Path) -> None:
    """Give weights the permissions that this user's new files have; safetensors writes them for their owner alone."""
    usual = stat.S_IMODE(folder.stat().st_mode) & 0o666
    for file in folder.rglob("*.safetensors"):
        state = file.lstat()
        if stat.S_ISREG(state.st_mode) and stat.S_IMODE(state.st_mode) == 0o600 and state.st_nlink == 1:
            file.chmod(usual | 0o600)


def synchronize(folder: Path) -> None:
    """Synchronize every file of a folder, and their names, to the disk."""
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
