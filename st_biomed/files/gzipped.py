"""Files that may be gzipped: every reader and every format of linking data accepts ``x.csv`` and ``x.csv.gz``."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from zipfile import is_zipfile

from st_biomed.errors import InputError

SUFFIX = ".gz"
_MAGIC = b"\x1f\x8b"  # the first bytes of every gzip file


def plain_or_gzipped(path: Path) -> Path | None:
    """The file with this name, plain or with ``.gz``, in this order; nothing if neither exists."""
    return next((file for file in (path, path.with_name(f"{path.name}{SUFFIX}")) if file.is_file()), None)


def plain_name(path: Path) -> str:
    """The name of a file without ``.gz``, in upper or lower case."""
    return path.stem if path.suffix.lower() == SUFFIX else path.name


def plain_stem(path: Path) -> str:
    """The name of a file without ``.gz`` and without the suffix before it: ``a.b`` of ``a.b.txt.gz``."""
    return Path(plain_name(path)).stem


def matching(folder: Path, pattern: str) -> list[Path]:
    """Files and folders that match a glob pattern, plain or gzipped, sorted; the plain one if both exist."""
    by_plain_name = {path.with_name(plain_name(path)): path for path in folder.glob(f"{pattern}{SUFFIX}")}
    for path in folder.glob(pattern):
        plain = path.with_name(plain_name(path))
        if path == plain or plain not in by_plain_name:
            by_plain_name[plain] = path
    return [by_plain_name[plain] for plain in sorted(by_plain_name)]


def is_zip_archive(path: Path) -> bool:
    """Whether a file is a zip archive, which is not unpacked, by its name or its content."""
    return path.suffix.lower() == ".zip" or is_zipfile(path)


@contextmanager
def open_decompressed(path: Path) -> Iterator[tuple[BufferedReader | gzip.GzipFile, BufferedReader]]:
    """The bytes of a file, decompressed if its name or its content is that of a gzip file, and the raw file for the progress.

    Raises:
        InputError: A file in ``.gz`` is not a complete gzip file; this may be detected during reading.
    """
    with path.open("rb") as raw:
        try:
            if path.suffix == SUFFIX or raw.peek(2)[:2] == _MAGIC:
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield unpacked, raw
            else:
                yield raw, raw
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{path}: is not a complete gzip file ({error})") from error
