"""The folder of a release, which publishers pack into a zip archive."""

from __future__ import annotations

from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.gzipped import is_zip_archive


def unpacked(path: Path, expected: str) -> Path:
    """A folder to read.

    Args:
        path: The folder.
        expected: What it is, for errors, e.g. ``"folder with CONCEPT.csv"``.

    Raises:
        InputError: No such folder, or a zip archive in place of it.
    """
    if path.is_dir():
        return path
    if path.is_file() and is_zip_archive(path):
        raise InputError(f"{path}: is a zip archive; unpack it and give the {expected}")
    raise InputError(f"{path}: no such folder; expected the {expected}")
