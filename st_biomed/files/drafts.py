"""Files that are written beside those they replace, and the names of such neighbors of a file or folder."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.locks import lock, real_path


@contextmanager
def writing(file: str | Path) -> Iterator[Path]:
    """Write a file beside the one that it replaces at the end of the body, under a lock.

    Yields:
        The path to write to.

    Raises:
        FolderInUse: Another process writes the file.
    """
    file = real_path(file)
    with lock(file), replacing_file(file) as draft:
        yield draft


def write_text(file: str | Path, text: str) -> None:
    """Write a text file completely or not at all; its folder is created if it does not exist.

    Raises:
        FolderInUse: Another process writes the file.
    """
    with writing(file) as draft:
        draft.write_text(text, "utf-8")


def replace_text(file: str | Path, text: str) -> None:
    """Replace a text file atomically, so that it is never incomplete; for files of a locked folder."""
    with replacing_file(file) as draft:
        draft.write_text(text, "utf-8")


@contextmanager
def replacing_file(file: str | Path) -> Iterator[Path]:
    """Write a file beside the one that it replaces at the end of the body; for files of a locked folder.

    Yields:
        The path to write to.
    """
    file = Path(file)
    remove_all(beside(file, "draft"))  # of dead processes: this one has the lock
    draft = new_name(file, "draft")
    try:
        yield draft
        synchronize_entry(draft)
        draft.replace(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    synchronize_entry(file.parent)


def copy_file(source: str | Path, target: str | Path) -> None:
    """A second name for a file, or a copy if the disk has no hard links; for files that are replaced, not changed."""
    try:
        os.link(source, target)
    except OSError:
        with replacing_file(target) as draft:
            shutil.copyfile(source, draft)


def copy_folder(source: Path, target: Path, *, linked: bool = False) -> None:
    """Copy the contents of a folder into an empty one, which its owner may change even if the first is read-only.

    Args:
        linked: Whether files are copied by :func:`copy_file`; their modes then stay.

    Raises:
        InputError: A link or a special file, whose contents are not of this folder; nothing is copied.
    """
    found = list(_contents(source))
    _keep_mode(source, target)
    for path in found:
        copied = target / path.relative_to(source)
        if path.is_dir():
            copied.mkdir()
            _keep_mode(path, copied)
        elif linked:
            copy_file(path, copied)
        else:
            shutil.copyfile(path, copied)
            _keep_mode(path, copied)


def _contents(folder: Path) -> Iterator[Path]:
    """Folders and files at any depth, each folder before its contents."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise InputError(f"{path}: is a link or a special file; only files and folders are copied")
        yield path
        if path.is_dir():
            yield from _contents(path)


def _keep_mode(source: Path, target: Path) -> None:
    """Permissions as they are, with those that its owner needs."""
    own = stat.S_IRWXU if target.is_dir() else stat.S_IRUSR | stat.S_IWUSR
    target.chmod(stat.S_IMODE(source.stat().st_mode) | own)


# ---------------------------------------------------------------------- names and the disk


def new_name(path: Path, stage: str) -> Path:
    """An unused hidden name beside a path; the stage is ``draft``, ``whole`` or ``old``."""
    return path.with_name(f".{path.name}.{stage}-{secrets.token_hex(4)}")


def beside(path: Path, stage: str) -> list[Path]:
    """The files with this name and stage: of ``hp``, never of ``hp.it``."""
    if not path.parent.is_dir():
        return []
    named = re.compile(rf"\.{re.escape(path.name)}\.{stage}-[0-9a-f]{{8}}")
    return sorted(entry for entry in path.parent.iterdir() if named.fullmatch(entry.name))


def remove_all(paths: list[Path]) -> None:
    """Remove files, links and folders with all their contents."""
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            remove_folder(path)
        else:
            path.unlink(missing_ok=True)


def remove_folder(folder: Path, *, ignore_errors: bool = False) -> None:
    """Remove a folder with all its contents, also one that its owner has made read-only."""
    if not folder.is_symlink():  # what it points to is not of this folder
        _make_writable(folder)
    try:
        shutil.rmtree(folder, ignore_errors=ignore_errors)
    except OSError as error:
        error.filename = str(folder)  # in place of a name without its folder
        raise


def _make_writable(folder: Path) -> None:
    """As far as this user may; an error of the removal tells the rest."""
    with suppress(OSError):
        if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            folder.chmod(stat.S_IRWXU)
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                _make_writable(path)


def synchronize_entry(path: Path) -> None:
    """Synchronize a file, or the names in a folder, to the disk."""
    if path.is_dir() and os.name == "nt":  # Windows cannot open a folder
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
