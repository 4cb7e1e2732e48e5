"""One process at a time writes to a folder or file, and the next one is told the name of the first."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from st_biomed.errors import InputError

_SOMEBODY = "another process is writing to it"
_SILENT = 1.0
"""Seconds that a process waits for another before it prints a message."""


class FolderInUse(InputError):
    """Another process writes to the folder or file."""


@contextmanager
def lock(path: str | Path, *, wait: bool = False) -> Iterator[None]:
    """Lock a folder or file for writing. A process that has the lock may take it again.

    The operating system releases the lock of any process that ends. ``.NAME.lock`` beside the folder, and
    ``.NAME.lock.json``, which names the holder, exist as long as the lock is held. A kill leaves the files, which do
    not block other processes.

    Args:
        path: The folder or file; it need not exist.
        wait: Whether to wait for another process; after a second, a line on stderr names it.

    Raises:
        FolderInUse: Another process has the lock, and ``wait`` is false; the message has the process and its start
            time.
        InputError: Its parent folder is not writable.
    """
    path = real_path(path)
    check_writable(path.parent)
    made = [above for above in path.parents if not above.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.with_name(f".{path.name}.lock")
    held = FileLock(file, is_singleton=True)
    again = held.is_locked
    try:
        held.acquire(timeout=_SILENT if wait else 0)
    except Timeout:
        if not wait:
            _acquire_or_say(held, path)
        else:
            print(f"{path}: {_holder(path) or _SOMEBODY}; waiting until it is done there", file=sys.stderr, flush=True)
            held.acquire()
    try:
        if not again:
            _say_holder(path)
        yield
    finally:
        if not again:
            _holder_file(path).unlink(missing_ok=True)
            with suppress(OSError):  # Windows cannot remove open files
                file.unlink()  # while it is held: other processes with the open file see that it was removed
        held.release()
        with suppress(OSError):  # it is no longer empty
            for above in made:
                above.rmdir()


def _holder_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock.json")


def _say_holder(path: Path) -> None:
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:2]]) if sys.argv and sys.argv[0] else "python"
    record = {"command": command, "pid": os.getpid(), "host": socket.gethostname()}
    record["since"] = datetime.now().astimezone().isoformat(" ", "seconds")
    note = _holder_file(path)
    note.unlink(missing_ok=True)  # of a dead process, or a link
    with note.open("x", encoding="utf-8") as file:  # O_CREAT and O_EXCL follow no link, on any system
        file.write(json.dumps(record) + "\n")


def _acquire_or_say(held: FileLock, path: Path) -> None:
    """Name the holder of the lock; without a record, the holder has just taken it or has ended already."""
    for _ in range(10):
        if (holder := _holder(path)) is not None:
            break
        with suppress(Timeout):
            held.acquire(timeout=0.05)
            return
    raise FolderInUse(f"{path}: {holder or _SOMEBODY}; wait for it to end, or write elsewhere") from None


def _holder(path: Path) -> str | None:
    """A description of the holder; nothing if there is no record."""
    try:
        record = json.loads(_holder_file(path).read_text("utf-8"))
        writer = f"{record['command']} (process {record['pid']} on {record['host']})"
        return f"{writer} has been writing to it since {record['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return None


def check_writable(path: str | Path, *, file: bool = False) -> Path:
    """Reject a folder or a file that could not be written.

    Raises:
        InputError: A file in place of a folder, a folder in place of a file, or a missing permission.
    """
    path = Path(path)
    if file and path.is_dir():
        raise InputError(f"{path}: is a folder, expected a file to write")
    folders = real_path(path).parents if file else [real_path(path), *real_path(path).parents]
    for above in folders:
        if above.is_dir():
            if not os.access(above, os.W_OK | os.X_OK):
                raise InputError(f"{above}: no permission to write there; choose another folder")
            break
        if above.exists() or above.is_symlink():
            raise InputError(f"{above}: is a file, expected a folder")
    return path


def real_path(path: str | Path) -> Path:
    """The absolute path without links, so that one folder has one lock."""
    return Path(os.path.realpath(path))
