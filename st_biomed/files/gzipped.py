"""Files that may be gzipped: every reader and every format of linking data takes ``x.csv`` and ``x.csv.gz`` alike."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from st_biomed.errors import InputError

SUFFIX = ".gz"


def plain_or_gzipped(path: Path) -> Path | None:
    """The file of this name, as it is or with ``.gz`` behind, the plain one first; nothing where there is neither."""
    return next((file for file in (path, path.with_name(f"{path.name}{SUFFIX}")) if file.is_file()), None)


def plain_name(path: Path) -> str:
    """The name of a file without ``.gz``."""
    return path.name.removesuffix(SUFFIX)


def plain_stem(path: Path) -> str:
    """The name of a file without ``.gz`` and without the suffix before it: ``a.b`` of ``a.b.txt.gz``."""
    return Path(plain_name(path)).stem


def matching(folder: Path, pattern: str) -> list[Path]:
    """Files and folders that match a glob pattern, plain or gzipped, sorted; the plain one where a file is there twice."""
    found = {path.with_name(plain_name(path)): path for path in folder.glob(f"{pattern}{SUFFIX}")}
    for path in folder.glob(pattern):
        plain = path.with_name(plain_name(path))
        if path == plain or plain not in found:
            found[plain] = path
    return [found[plain] for plain in sorted(found)]


@contextmanager
def opened(path: Path) -> Iterator[tuple[BufferedReader | gzip.GzipFile, BufferedReader]]:
    """The bytes of a file, decompressed where its name ends with ``.gz``, and the raw file, to tell how far reading is.

    Raises:
        InputError: What ends with ``.gz`` is no whole gzip file, also where this is noticed while it is read.
    """
    with path.open("rb") as raw:
        try:
            if path.suffix == SUFFIX:
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield unpacked, raw
            else:
                yield raw, raw
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{path}: is not a complete gzip file ({error})") from error
