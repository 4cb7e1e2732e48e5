"""The data folder of benchmarks, and terminologies that several of them share."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from st_biomed.terminology import Terminology

DATA_VARIABLE = "ST_BIOMED_DATA"
"""Environment variable of the data folder, where relative paths of a benchmark are also looked up."""


def data_path(path: str | Path) -> Path:
    """A path as given, or below the folder in ``ST_BIOMED_DATA``."""
    folder = os.environ.get(DATA_VARIABLE)
    return Path(path) if os.path.exists(path) or not folder else Path(folder, path)


def resolved(source: str) -> str:
    """``path``, ``reader:path`` or ``reader:path?options`` with the paths that were found; anything else is unchanged.

    The value of an option is a path if the data folder has it.
    """
    place, asked, options = source.partition("?")
    head, colon, path = place.rpartition(":")
    values = [option.partition("=") for option in options.split("&")]
    stated = "&".join(f"{name}{equals}{_found(value)}" for name, equals, value in values)
    return f"{head}{colon}{_found(path)}{asked}{stated}"


def _found(value: str) -> str:
    return str(path) if value and os.path.exists(path := data_path(value)) else value


def open_terminology(sources: Sequence[str]) -> Terminology:
    """Open sources as in :meth:`Terminology.open`, with paths also looked up in the data folder; several are merged.

    The last few terminologies stay in memory until their files change, because several benchmarks may share one.

    Raises:
        InputError: As :meth:`Terminology.open` and :meth:`Terminology.merge`.
    """
    found = tuple(map(resolved, sources))
    return _opened(found, tuple(map(_version, found)))


def source_names(sources: Sequence[str]) -> list[str]:
    """Names of the sources of a terminology, see :func:`open_terminology`; none where none is read.

    The names stay known after the terminology has left memory.
    """
    found = tuple(map(resolved, sources))
    opened = found, tuple(map(_version, found))
    if sources and opened not in _NAMES:
        open_terminology(sources)
    return _NAMES.get(opened, [])


def _version(source: str) -> tuple[tuple[str, int, int, int], ...]:
    """What tells the files of a source, and of its options, from others of the same name, here or in another folder.

    A folder is all files below it.
    """
    place, _, options = source.partition("?")
    named = [place.rpartition(":")[2], *(option.partition("=")[2] for option in options.split("&"))]
    paths = [Path(name) for name in named if name and os.path.exists(name)]
    inside = [file for path in paths if path.is_dir() for file in sorted(path.rglob("*")) if file.is_file()]
    return tuple(
        (str(path.resolve()), (found := path.stat()).st_ino, found.st_mtime_ns, found.st_size)
        for path in [*paths, *inside]
    )


_NAMES: dict[tuple[tuple[str, ...], tuple[object, ...]], list[str]] = {}
"""Sources and their versions to the names of what :func:`_opened` has opened of them."""


@lru_cache(maxsize=2)
def _opened(sources: tuple[str, ...], versions: tuple[object, ...]) -> Terminology:
    opened = [Terminology.open(source) for source in sources]
    terminology = opened[0] if len(opened) == 1 else Terminology.merge(*opened)
    _NAMES[sources, versions] = list(terminology.sources)
    return terminology
