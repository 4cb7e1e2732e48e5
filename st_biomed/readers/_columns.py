"""Delimited files by columns: releases of millions of rows have too many to read them one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from tqdm import tqdm

from st_biomed.errors import InputError
from st_biomed.files.delimited import Dialect
from st_biomed.files.gzipped import opened
from st_biomed.records import Tally

_BLOCK = 1 << 25  # bytes of a block of lines
_END = "(end)"
_ENCODED = pa.dictionary(pa.int32(), pa.string())
_LARGEST = 2**31 - 1


class Block(dict[str, pa.Array]):
    """Column name to an array of strings or integers; all of equal length.

    Attributes:
        lines: Line number of each row.
        n_blank: Number of blank lines, which are not rows.
    """

    def __init__(self, columns: dict[str, pa.Array], lines: Sequence[int], n_blank: int = 0) -> None:
        super().__init__(columns)
        self.lines, self.n_blank = lines, n_blank


def read_columns(
    parts: Sequence[Path],
    where: str,
    names: Sequence[str],
    columns: Sequence[str],
    dialect: Dialect,
    *,
    plain: Collection[str] = (),
    numbers: Collection[str] = (),
    header: bool = False,
) -> Iterator[Block]:
    """Stream some columns of a table without quoting, block after block.

    Args:
        parts: The file, or its pieces, plain or gzipped.
        where: The name of the file in errors.
        names: The names of all its columns.
        columns: The columns to read.
        dialect: Its separator, which may end every line, too.
        plain: The columns whose values rarely repeat; the others are dictionary-encoded.
        numbers: The columns of integers from 0 to 2^31 - 1.
        header: Whether the first line is no row.

    Yields:
        Blocks in order; a block may be empty.

    Raises:
        InputError: With file and line: another number of cells, no number, bytes that are not UTF-8. Also a damaged
            gzip file.
    """
    types = column_types(columns, plain, numbers)
    ends = [_END] if dialect.closed else []
    # In a pool of one thread (OMP_NUM_THREADS=1) Arrow's parallel reading may deadlock.
    threads = pa.cpu_count() > 1
    read = pa.csv.ReadOptions(column_names=[*names, *ends], block_size=_BLOCK // 4, use_threads=threads)
    parse = pa.csv.ParseOptions(
        delimiter=dialect.separator, quote_char=False, escape_char=False, newlines_in_values=False
    )
    convert = pa.csv.ConvertOptions(
        include_columns=[*columns, *ends],
        column_types=types | dict.fromkeys(ends, _ENCODED),
        null_values=[],
        strings_can_be_null=False,
        quoted_strings_can_be_null=False,
    )
    line = 1
    for block in _blocks(parts, where):
        if header and line == 1:
            block, line = block[block.find(b"\n") + 1 or len(block) :], 2
        if not block:
            continue
        n_lines = block.count(b"\n") + (not block.endswith(b"\n"))
        try:
            table = pa.csv.read_csv(pa.BufferReader(block), read, parse, convert)
            whole = table.num_rows == n_lines and all(pc.all(pc.equal(table[end], "")).as_py() for end in ends)
            # Arrow ends a line at every carriage return. In valid files, all lines end with one, or none does.
            whole = whole and block.count(b"\r") in (0, n_lines)
            whole = whole and all(_in_range(table[name]) for name in numbers)
        except pa.ArrowInvalid:
            whole = False
        if whole:
            yield Block({name: _one(table[name], types[name]) for name in columns}, range(line, line + n_lines))
        else:
            yield _line_by_line(block, where, line, names, columns, types, dialect)
        line += n_lines


def column_types(
    columns: Sequence[str], plain: Collection[str] = (), numbers: Collection[str] = ()
) -> dict[str, pa.DataType]:
    """Arrow's type of each column, see :func:`read_columns`."""
    return {name: pa.int64() if name in numbers else pa.string() if name in plain else _ENCODED for name in columns}


def block_of(
    cells: Mapping[str, Sequence[str]],
    types: Mapping[str, pa.DataType],
    lines: Sequence[int],
    where: str,
    n_blank: int = 0,
) -> Block:
    """A block from the cells of its columns.

    Raises:
        InputError: With file and line: no number.
    """
    arrays: dict[str, pa.Array] = {}
    for name, kind in types.items():
        if pa.types.is_integer(kind):
            for line, cell in zip(lines, cells[name]):
                number = cell.strip()
                if not (number.isascii() and number.isdecimal() and int(number) <= _LARGEST):
                    raise InputError(f"{where}:{line}: {name} must be a number up to {_LARGEST}, found {cell!r}")
            arrays[name] = pa.array(map(int, cells[name]), kind)
        else:
            texts = pa.array(cells[name], pa.string())
            arrays[name] = texts.dictionary_encode() if pa.types.is_dictionary(kind) else texts
    return Block(arrays, lines, n_blank)


def among(column: pa.Array, values: Collection[str]) -> np.ndarray:
    """Whether each value of a dictionary-encoded column is among some values, boolean ``[N]``."""
    wanted = set(values)
    is_wanted = np.array([value in wanted for value in column.dictionary.to_pylist()], dtype=bool)
    return is_wanted[column.indices.to_numpy()]


def sieve(tally: Tally, file: str, size: int, conditions: Mapping[str, np.ndarray | None]) -> np.ndarray:
    """Rows that meet every condition, boolean ``[size]``; other rows are counted by their first failed condition.

    Args:
        tally: Counts the rows.
        file: The file's name.
        size: Number of rows.
        conditions: A description of the failing rows to boolean ``[size]``, or ``None`` for no condition.
    """
    keep = np.ones(size, dtype=bool)
    for reason, condition in conditions.items():
        if condition is not None:
            tally.drop(f"{file}: {reason}", int((keep & ~condition).sum()))
            keep &= condition
    return keep


def _in_range(column: pa.ChunkedArray) -> bool:
    ends = pc.min_max(column).as_py()
    return ends["min"] is None or (ends["min"] >= 0 and ends["max"] <= _LARGEST)


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
    rest, done = b"", 0
    with tqdm(
        total=total, desc=Path(where).name, unit="B", unit_scale=True, delay=2, disable=None, leave=False
    ) as bar:
        for part in parts:
            with opened(part) as (stream, raw):
                while block := stream.read(_BLOCK):
                    bar.update(done + raw.tell() - bar.n)
                    block = rest + block if rest else block.removeprefix(b"\xef\xbb\xbf")
                    end = block.rfind(b"\n") + 1
                    rest = block[end:]
                    if end:
                        yield block[:end]
                done += raw.tell()
        if rest:
            yield rest


def _line_by_line(
    block: bytes,
    where: str,
    line: int,
    names: Sequence[str],
    columns: Sequence[str],
    types: Mapping[str, pa.DataType],
    dialect: Dialect,
) -> Block:
    """Raise the error of a block that was not split into a row for each line.

    The error names the first bad line. Otherwise, a blank line is not a row, and a carriage return in a line is text.
    """
    rows, lines = [], []
    width = len(names) + dialect.closed
    texts = block.removesuffix(b"\n").split(b"\n")
    for at, text in enumerate(texts, line):
        try:
            cells = text.removesuffix(b"\r").decode("utf-8").split(dialect.separator)
        except UnicodeDecodeError as error:
            raise InputError(f"{where}:{at}: is not UTF-8; convert the file") from error
        if cells == [""]:
            continue
        if len(cells) != width or (dialect.closed and cells[-1]):
            n_cells = len(cells) - (dialect.closed and not cells[-1])
            end = f" and no {dialect.name} at the end" if dialect.closed and cells[-1] else ""
            raise InputError(f"{where}:{at}: {n_cells} cells{end}, expected {len(names)} separated by {dialect.name}s")
        rows.append(cells)
        lines.append(at)
    by_name = dict(zip(names, zip(*rows))) if rows else dict.fromkeys(names, ())
    return block_of({name: by_name[name] for name in columns}, types, lines, where, len(texts) - len(lines))
