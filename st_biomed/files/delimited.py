"""The one streaming reader of delimited tables: stated dialects, columns by name, errors as ``file:line``.

Every cell is the string the file holds: "NA" stays "NA" and "008.50" stays "008.50".
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import IO, NamedTuple

from tqdm import tqdm

from st_biomed.errors import InputError, check_name
from st_biomed.files.encodings import UTF_8, undecodable
from st_biomed.files.gzipped import is_zip_archive, open_decompressed, plain_name

LONGEST_CELL = 1 << 20
"""Characters of a quoted cell. A document may be that long; a stray quote takes no more of the file."""


def csv_reason(error: csv.Error) -> str:
    """Why the ``csv`` module stopped, with the limit of this package in place of its own."""
    return f"a cell has more than {LONGEST_CELL:,} characters" if "field limit" in str(error) else str(error)


class Dialect(NamedTuple):
    """The rules that split a line into cells.

    Attributes:
        separator: The text between two cells.
        name: The separator in words.
        quoted: Whether a cell may be wrapped in double quotes (doubled inside) and may then contain separators and
            newlines. If not, a double quote is an ordinary character.
        closed: Whether a separator also ends every line.
    """

    separator: str
    name: str
    quoted: bool = False
    closed: bool = False


DIALECTS = {
    "csv": Dialect(",", "comma", quoted=True),
    "semicolon": Dialect(";", "semicolon", quoted=True),
    "tsv": Dialect("\t", "tab"),
    "tsv_quoted": Dialect("\t", "tab", quoted=True),
    "double_pipe": Dialect("||", "double pipe"),
    "rrf": Dialect("|", "pipe", closed=True),
}

_DIALECT_OF_SUFFIX = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".rrf": "rrf", ".txt": "double_pipe"}
_ROWS_PER_PROGRESS_UPDATE = 1 << 16


def check_file(path: str | Path) -> Path:
    """``path`` as a :class:`~pathlib.Path`.

    Raises:
        InputError: There is no such file, or it is a folder or a zip archive.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder, expected a file")
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    if is_zip_archive(path):
        raise InputError(f"{path}: is a zip archive; unpack it and give the file in it")
    return path


def dialect_name(path: str | Path) -> str:
    """The dialect of a file's suffix, without ``.gz``.

    Raises:
        InputError: The suffix has no dialect.
    """
    path = Path(path)
    suffix = Path(plain_name(path)).suffix.lower()
    if suffix not in _DIALECT_OF_SUFFIX:
        raise InputError(
            f"{path}: suffix {suffix!r} is none of a table; known are {', '.join(sorted(_DIALECT_OF_SUFFIX))}; a reader with "
            f"the option dialect reads others, as one of {', '.join(sorted(DIALECTS))}"
        )
    return _DIALECT_OF_SUFFIX[suffix]


def read_header(
    path: str | Path, *, dialect: str | None = None, comment: str | None = None, encoding: str = UTF_8
) -> list[str]:
    """The column names on the first line of a table; for arguments and errors see :func:`read_table`."""
    path, form = check_file(path), _dialect(path, dialect)
    with _open(path, form.quoted, encoding) as (stream, _):
        for _, row in _split(path, stream, form, comment):
            return _names(row, form)
    raise InputError(f"{path}: is empty, expected a header line")


def read_table(
    path: str | Path,
    columns: Sequence[str | tuple[str, ...]] | None = None,
    *,
    dialect: str | None = None,
    header: Sequence[str] | None = None,
    comment: str | None = None,
    encoding: str = UTF_8,
    ended: bool = False,
) -> Iterator[tuple[int, Sequence[str]]]:
    """Stream a table, row by row. Blank lines are not rows. A file named ``*.gz`` is decompressed.

    Args:
        path: The file; a byte order mark is skipped.
        columns: The columns to yield, in this order; all of them by default. Several names for one column are
            tried in turn, ignoring the header's case and with underscores for its spaces.
        dialect: A key of ``DIALECTS``; by default that of the suffix.
        header: The names of all columns if the file has no header line; by default its first line has them.
        comment: The beginning of the lines above the table, which are skipped.
        encoding: Encoding of the file, see :func:`~st_biomed.files.encodings.resolve_encoding`; UTF-8 by default.
        ended: Whether the last line must end with a line break, as in files of a source that always writes one.

    Yields:
        ``(line, cells)``: the number of the row's last line, counted from 1, and one string per column.

    Raises:
        InputError: No such file, a missing column, a row of the wrong length, a stray quote, bytes of
            another encoding, a truncated last line if ``ended``; each with file and line.
    """
    path, form = check_file(path), _dialect(path, dialect)
    with _open(path, form.quoted, encoding) as (stream, raw), _progress(path) as bar:
        rows = _split(path, stream, form, comment, ended)
        names, top = list(header or ()), 1
        if not header:
            top, first = next(rows, (0, []))
            if not first:
                raise InputError(f"{path}: is empty, expected a header line")
            names = _names(first, form)
        wanted = names if columns is None else columns
        pick = _picker([_place(column, names, f"{path}:{top}", form) for column in wanted])
        width = len(names) + form.closed
        for line, row in rows:
            if len(row) != width or (form.closed and row[-1]):
                raise InputError(_ragged(f"{path}:{line}", row, len(names), form))
            if line % _ROWS_PER_PROGRESS_UPDATE == 0:
                bar.update(raw.tell() - bar.n)
            yield line, pick(row)


def read_lines(path: str | Path, *, encoding: str = UTF_8) -> Iterator[tuple[int, str]]:
    """Stream the numbered lines of a text file, for formats without separators; for errors see :func:`read_table`."""
    path = check_file(path)
    with _open(path, quoted=False, encoding=encoding) as (stream, _):
        for line, text in enumerate(stream, 1):
            refuse_nul(path, line, text)
            yield line, text.rstrip("\r\n")


def _dialect(path: Path, dialect: str | None) -> Dialect:
    name = dialect_name(path) if dialect is None else dialect
    check_name("dialect", name, DIALECTS)
    return DIALECTS[name]


@contextmanager
def _open(path: Path, quoted: bool, encoding: str) -> Iterator[tuple[IO[str], IO[bytes]]]:
    """The decoded text, and the file's raw bytes for the progress of reading."""
    with open_decompressed(path) as (unpacked, raw):
        # The csv module wants line ends untranslated; otherwise a lone carriage return must not end a line.
        known = "utf-8-sig" if encoding == UTF_8 else encoding
        stream = io.TextIOWrapper(unpacked, encoding=known, newline="" if quoted else "\n")
        try:
            yield stream, raw
        except UnicodeError as error:
            raise undecodable(path, encoding) from error


def _progress(path: Path) -> tqdm:
    """A progress bar over the file's bytes, shown on a terminal after two seconds."""
    return tqdm(
        total=path.stat().st_size, desc=path.name, unit="B", unit_scale=True, delay=2, disable=None, leave=False
    )


def _split(
    path: Path, stream: IO[str], form: Dialect, comment: str | None = None, ended: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row."""
    separator, skipped, lines = form.separator, 0, iter(stream)
    if comment:
        for text in stream:
            if not text.startswith(comment):
                lines = chain([text], stream)
                break
            skipped += 1
    if ended:
        lines = _ended(path, lines, skipped)
    if form.quoted:
        reader = csv.reader(lines, delimiter=separator, strict=True)
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
        line = skipped
        try:
            for row in reader:
                line = skipped + reader.line_num
                if row:
                    refuse_nul(path, line, "".join(row))
                    yield line, row
        except csv.Error as error:
            # An unclosed quote is detected at the end of the file: name the line at which its row begins.
            raise InputError(f"{path}:{line + 1}: {csv_reason(error)} (a stray double quote?)") from error
    else:
        for line, text in enumerate(lines, skipped + 1):
            text = text.rstrip("\r\n")
            if text:
                refuse_nul(path, line, text)
                yield line, text.split(separator)


def refuse_nul(path: str | Path, line: int, text: str) -> None:
    """Reject a NUL character, which no valid table has: the file is damaged or has another encoding."""
    if "\0" in text:
        raise InputError(f"{path}:{line}: contains a NUL character; the file is damaged or has another encoding")


def refuse_open_end(path: str | Path, line: int, text: str) -> None:
    """Reject a line without a line break, in files whose source ends every line with one: its last cell may be cut."""
    if not text.endswith(("\n", "\r")):
        raise InputError(
            f"{path}:{line}: the file is truncated: its last line has no line break and ends with {text[-20:]!r}"
        )


def _ended(path: Path, lines: Iterator[str], skipped: int) -> Iterator[str]:
    for line, text in enumerate(lines, skipped + 1):
        refuse_open_end(path, line, text)
        yield text


def _names(first: list[str], form: Dialect) -> list[str]:
    return [name.strip() for name in (first[:-1] if form.closed and not first[-1] else first)]


def _picker(places: list[int]) -> Callable[[list[str]], Sequence[str]]:
    """A function from a row to its cells at these places; ``itemgetter`` gives no tuple for a single place."""
    if len(places) == 1:
        return lambda row: (row[places[0]],)
    return itemgetter(*places)


def _place(column: str | tuple[str, ...], names: list[str], where: str, form: Dialect) -> int:
    """The position of a column."""
    tried, column_names = column, ["_".join(name.lower().split()) for name in names]
    if isinstance(tried, str):
        tried, column_names = (tried,), names
    for name in tried:
        if column_names.count(name) > 1:
            raise InputError(f"{where}: {column_names.count(name)} columns have the name {name!r}")
        if name in column_names:
            return column_names.index(name)
    called = " or ".join(map(repr, tried))
    raise InputError(
        f"{where}: no column {called}; split at {form.name}s the columns are {names}{_other_split(names, form)}"
    )


def _ragged(where: str, row: list[str], width: int, form: Dialect) -> str:
    n_cells = len(row) - (form.closed and not row[-1])
    end = f" and no {form.name} at the end" if form.closed and row[-1] else ""
    return f"{where}: {n_cells} cells{end}, expected {width}, split at {form.name}s{_other_split(row, form)}"


def _other_split(row: list[str], form: Dialect) -> str:
    """A hint for a row that stays whole at this separator but would be split by another."""
    for other in DIALECTS.values():
        if len(row) == 1 and other.separator in row[0] and other.name != form.name:
            return f" (wrong delimiter? this line has {other.name}s)"
    return ""
