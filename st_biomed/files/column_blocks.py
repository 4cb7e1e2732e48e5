"""Tables of millions of rows by columns, block after block, because rows one by one take too long.

A table has one of the unquoted dialects of :mod:`~st_biomed.files.delimited`. Arrow splits each block of lines; a block
that it does not split into one row a line is split again line by line, which finds the line of an error. A truncated
last line is an error: a separator must end it in a closed dialect, a line break in the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from tqdm import tqdm

from st_biomed.errors import InputError
from st_biomed.files.delimited import Dialect, refuse_nul, refuse_open_end
from st_biomed.files.gzipped import open_decompressed

ENCODED = pa.dictionary(pa.int32(), pa.string())
"""The type of a column of strings that repeat."""

_BLOCK = 1 << 25  # bytes of a block of lines
_END = "(end)"
_LARGEST = 10**18 - 1


class Block(dict[str, pa.Array]):
    """Column name to an array; all of equal length.

    Attributes:
        lines: Line number of each row.
        n_blank: Number of blank lines, which are not rows.
    """

    def __init__(self, columns: dict[str, pa.Array], lines: Sequence[int], n_blank: int = 0) -> None:
        super().__init__(columns)
        self.lines, self.n_blank = lines, n_blank


def column_blocks(
    parts: Sequence[Path],
    where: str,
    names: Sequence[str],
    types: Mapping[str, pa.DataType],
    form: Dialect,
    *,
    header: bool = False,
    largest: int = _LARGEST,
) -> Iterator[Block]:
    """Stream some columns of a table.

    Args:
        parts: The file, or its pieces in order; each plain or gzipped.
        where: Its name in errors.
        names: The names of all its columns.
        types: The columns to read, each with its type: ``pa.string()``, ``ENCODED`` or ``pa.int64()``.
        form: A dialect without quotes.
        header: Whether the first line has the names of the columns and is no row.
        largest: The largest integer.

    Yields:
        Blocks in order; a block may be empty.

    Raises:
        InputError: With file and line: another number of cells, bytes that are not UTF-8, a cell of a column of
            integers that is no number from 0 to ``largest``, a NUL character, a truncated last line. Also a damaged
            gzip file.
    """
    every, types = [*names, *([_END] if form.closed else [])], dict(types)
    # In a pool of one thread (OMP_NUM_THREADS=1) Arrow's parallel reading may deadlock.
    threads = pa.cpu_count() > 1
    read = pa.csv.ReadOptions(column_names=every, block_size=_BLOCK // 4, use_threads=threads)
    parse = pa.csv.ParseOptions(
        delimiter=form.separator, quote_char=False, escape_char=False, newlines_in_values=False
    )
    ends = {_END: ENCODED} if form.closed else {}
    convert = pa.csv.ConvertOptions(
        include_columns=[*types, *ends],
        column_types={**types, **ends},
        null_values=[],
        strings_can_be_null=False,
        quoted_strings_can_be_null=False,
    )
    line = 1
    for block in _blocks(parts, where):
        if not (form.closed or block.endswith(b"\n")):
            last = block.rpartition(b"\n")[2].decode("utf-8", "replace")
            refuse_open_end(where, line + block.count(b"\n"), last)
        if header and line == 1:
            _, _, block = block.partition(b"\n")
            line = 2
            if not block:
                continue
        n_lines = block.count(b"\n") + (not block.endswith(b"\n"))
        try:
            table = pa.csv.read_csv(pa.BufferReader(block), read, parse, convert)
            whole = table.num_rows == n_lines and (not ends or pc.all(pc.equal(table[_END], "")).as_py())
            # Arrow ends a line at every carriage return. In valid files, all lines end with one, or none does.
            whole = whole and block.count(b"\r") in (0, n_lines)
            numbers = [table[name] for name, kind in types.items() if pa.types.is_integer(kind)]
            whole = whole and all(_in_range(column, largest) for column in numbers)
            whole = whole and b"\0" not in block and not (numbers and _has_hexadecimal(block, form.separator.encode()))
        except pa.ArrowInvalid:
            whole = False
        if whole:
            yield Block({name: _one(table[name], kind) for name, kind in types.items()}, range(line, line + n_lines))
        else:
            yield _line_by_line(block, where, line, names, types, form, largest)
        line += n_lines


def block_of(
    cells: Mapping[str, Sequence[str]],
    types: Mapping[str, pa.DataType],
    lines: Sequence[int],
    where: str,
    *,
    n_blank: int = 0,
    largest: int = _LARGEST,
) -> Block:
    """A block from the cells of its columns; arguments as of :func:`column_blocks`.

    Raises:
        InputError: With file and line: no number from 0 to ``largest``.
    """
    arrays: dict[str, pa.Array] = {}
    for name, kind in types.items():
        if pa.types.is_integer(kind):
            for line, cell in zip(lines, cells[name]):
                number = cell.strip()
                if not (number.isascii() and number.isdecimal() and int(number) <= largest):
                    raise InputError(f"{where}:{line}: {name} must be a number up to {largest}, found {cell[:40]!r}")
            arrays[name] = pa.array(map(int, cells[name]), kind)
        else:
            texts = pa.array(cells[name], pa.string())
            arrays[name] = texts.dictionary_encode() if pa.types.is_dictionary(kind) else texts
    return Block(arrays, lines, n_blank)


def _in_range(column: pa.ChunkedArray, largest: int) -> bool:
    ends = pc.min_max(column).as_py()
    return ends["min"] is None or (ends["min"] >= 0 and ends["max"] <= largest)


def _has_hexadecimal(block: bytes, separator: bytes) -> bool:
    """Whether a cell may begin like 0x10, which Arrow takes for a number."""
    return any(
        marked in block and (block.startswith(marked) or any(c + marked in block for c in (separator, b" ", b"\n")))
        for marked in (b"0x", b"0X")
    )


def _one(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        column = column.unify_dictionaries()
        indices = [chunk.indices for chunk in column.chunks]
        dictionary = column.chunk(0).dictionary if indices else pa.array([], pa.string())
        return pa.DictionaryArray.from_arrays(
            pa.concat_arrays(indices) if indices else pa.array([], pa.int32()), dictionary
        )
    return column.combine_chunks()


def _blocks(parts: Sequence[Path], where: str) -> Iterator[bytes]:
    """Whole lines, about ``_BLOCK`` bytes at a time; a line may continue in the next piece."""
    total = sum(part.stat().st_size for part in parts)
    rest, done, mark = b"", 0, b"\xef\xbb\xbf"
    with tqdm(
        total=total, desc=Path(where).name, unit="B", unit_scale=True, delay=2, disable=None, leave=False
    ) as bar:
        for part in parts:
            with open_decompressed(part) as (stream, raw):
                while block := stream.read(_BLOCK) + stream.readline():
                    bar.update(done + raw.tell() - bar.n)
                    block, mark = rest + block.removeprefix(mark), b""
                    rest = b"" if block.endswith(b"\n") else block
                    if not rest:
                        yield block
                done += raw.tell()
        if rest:
            yield rest


def _line_by_line(
    block: bytes,
    where: str,
    line: int,
    names: Sequence[str],
    types: Mapping[str, pa.DataType],
    form: Dialect,
    largest: int,
) -> Block:
    """Raise the error of a block that was not split into a row for each line.

    The error names the first bad line. Otherwise, a blank line is not a row, and a carriage return in a line is text.
    """
    rows, lines = [], []
    texts = block.removesuffix(b"\n").split(b"\n")
    for at, text in enumerate(texts, line):
        try:
            content = text.removesuffix(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{where}:{at}: is not UTF-8; convert the file") from error
        refuse_nul(where, at, content)
        cells = content.split(form.separator)
        if cells == [""]:
            continue
        if len(cells) != len(names) + form.closed or (form.closed and cells[-1]):
            n_cells = len(cells) - (form.closed and not cells[-1])
            end = f" and no {form.name} at the end" if form.closed and cells[-1] else ""
            raise InputError(f"{where}:{at}: {n_cells} cells{end}, expected {len(names)} separated by {form.name}s")
        rows.append(cells)
        lines.append(at)
    by_name = dict(zip(names, zip(*rows))) if rows else dict.fromkeys(names, ())
    n_blank = len(texts) - len(lines)
    return block_of({name: by_name[name] for name in types}, types, lines, where, n_blank=n_blank, largest=largest)
