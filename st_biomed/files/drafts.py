"""Files that are written beside those they replace, and the names of such neighbors of a file or folder."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def synchronize_entry(path: Path) -> None:
    """Synchronize a file, or the names in a folder, to the disk."""
    if path.is_dir() and os.name == "nt":  # Windows cannot open a folder
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
