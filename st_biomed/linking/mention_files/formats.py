"""Formats of files of mentions and of linked files, by suffix or by name."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from st_biomed.errors import InputError, unknown_name
from st_biomed.files.gzipped import SUFFIX, plain_name

Format = Literal["text", "csv", "tsv", "jsonl", "parquet"]

_SUFFIXES: dict[str, Format] = {
    ".txt": "text",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def format_of(path: Path | None, given: str | None, option: str = "--format") -> Format:
    """The format that is given, or that of the suffix without ``.gz``; without a suffix or a path, text.

    Args:
        path: The file; ``None`` for a stream.
        given: The value of the option, if it is given.
        option: Name of the option, for errors.

    Raises:
        InputError: An unknown format or suffix, or a gzipped parquet file.
    """
    form = _named(given) if given is not None else "text" if path is None else _of_suffix(path, option)
    if form == "parquet" and path is not None and path.suffix.lower() == SUFFIX:
        raise InputError(f"{path}: a parquet file is compressed within itself; expected one without {SUFFIX}")
    return form


def output_format(path: Path | None, given: str | None, form: Format) -> Format:
    """The format of the output: as :func:`format_of`, but without a suffix that of the input.

    Args:
        path: The file; ``None`` for a stream.
        given: The value of ``--output-format``, if it is given.
        form: Format of the input.

    Raises:
        InputError: As in :func:`format_of`.
    """
    if given is None and (path is None or not Path(plain_name(path)).suffix):
        given = form
    return format_of(path, given, "--output-format")


def table_format(path: Path) -> Format | None:
    """The format of a table by its suffix without ``.gz``; ``None`` for plain text and for a suffix of no format.

    Args:
        path: The file.

    Raises:
        InputError: A gzipped parquet file.
    """
    form = _SUFFIXES.get(Path(plain_name(path)).suffix.lower(), "text")
    return None if form == "text" else format_of(path, form)


def _named(given: str) -> Format:
    for known in get_args(Format):
        if given == known:
            return known
    raise unknown_name("format", given, get_args(Format))


def _of_suffix(path: Path, option: str) -> Format:
    suffix = Path(plain_name(path)).suffix.lower()
    if suffix and suffix not in _SUFFIXES:
        raise InputError(
            f"{path}: suffix {suffix!r} has no known format; known are {', '.join(sorted(_SUFFIXES))}, all but parquet "
            f"also with {SUFFIX}; or name the format with {option} ({', '.join(get_args(Format))})"
        )
    return _SUFFIXES.get(suffix, "text")
