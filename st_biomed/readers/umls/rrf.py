"""RRF files by columns: UMLS and similar releases have too many rows to read them one by one.

The dialect is ``rrf`` of :mod:`tables`: pipes, one at the end of every line, no quoting. A file may be plain,
gzipped, or split into lettered pieces (``MRCONSO.RRF.aa.gz``, ``MRCONSO.RRF.ab.gz``, ...).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from string import ascii_lowercase

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from tqdm import tqdm

from st_biomed.errors import InputError
from st_biomed.files.gzipped import opened

_BLOCK = 1 << 25  # bytes of a block of lines
_END = "(end)"
_ENCODED = pa.dictionary(pa.int32(), pa.string())


class Block(dict[str, pa.Array]):
    """Column name to an array of strings; all of equal length.

    Attributes:
        lines: Line number of each row.
        n_blank: Number of blank lines, which are not rows.
    """

    def __init__(self, columns: dict[str, pa.Array], lines: Sequence[int], n_blank: int = 0) -> None:
        super().__init__(columns)
        self.lines, self.n_blank = lines, n_blank


def find_parts(folder: Path, name: str) -> list[Path]:
    """The file with this name in a folder, plain or gzipped, or its pieces in order; empty if there is none.

    Raises:
        InputError: It exists in two forms, or a piece before another one is missing.
    """
    lettered = [path for path in sorted(folder.glob(f"{name}.[a-z][a-z]")) if path.suffix != ".gz"]
    zipped = sorted(folder.glob(f"{name}.[a-z][a-z].gz"))
    forms = [[folder / name], [folder / f"{name}.gz"], lettered, zipped]
    present = [parts for parts in forms if parts and parts[0].is_file()]
    if len(present) > 1:
        raise InputError(f"{folder}: {name} exists twice, as {present[0][0].name} and as {present[1][0].name}")
    for part, letters in zip(lettered or zipped, map("".join, product(ascii_lowercase, repeat=2))):
        expected = f"{name}.{letters}{'.gz' if zipped else ''}"
        if part.name != expected:
            raise InputError(f"{folder}: a piece of {name} is missing: found {part.name}, but no {expected}")
    return present[0] if present else []


def read_columns(
    parts: Sequence[Path], names: Sequence[str], columns: Sequence[str], *, plain: Sequence[str] = ()
) -> Iterator[Block]:
    """Stream some columns of an RRF table, block after block.

    Args:
        parts: The file, or its pieces.
        names: The names of all its columns.
        columns: The columns to read.
        plain: The columns whose values rarely repeat; the others are dictionary-encoded.

    Yields:
        Blocks in order; a block may be empty.

    Raises:
        InputError: With file and line: another number of cells, bytes that are not UTF-8. Also a damaged gzip file.
    """
    where = str(parts[0]) if len(parts) == 1 else f"{parts[0].parent / parts[0].name.split('.RRF')[0]}.RRF.*"
    types = {name: pa.string() if name in plain else _ENCODED for name in (*columns, _END)}
    # In a pool of one thread (OMP_NUM_THREADS=1) Arrow's parallel reading may deadlock.
    threads = pa.cpu_count() > 1
    read = pa.csv.ReadOptions(column_names=[*names, _END], block_size=_BLOCK // 4, use_threads=threads)
    parse = pa.csv.ParseOptions(delimiter="|", quote_char=False, escape_char=False, newlines_in_values=False)
    convert = pa.csv.ConvertOptions(
        include_columns=[*columns, _END],
        column_types=types,
        strings_can_be_null=False,
        quoted_strings_can_be_null=False,
    )
    line = 1
    for block in _blocks(parts, where):
        n_lines = block.count(b"\n") + (not block.endswith(b"\n"))
        try:
            table = pa.csv.read_csv(pa.BufferReader(block), read, parse, convert)
            whole = table.num_rows == n_lines and pc.all(pc.equal(table[_END], "")).as_py()
            # Arrow ends a line at every carriage return. In valid files, all lines end with one, or none does.
            whole = whole and block.count(b"\r") in (0, n_lines)
        except pa.ArrowInvalid:
            whole = False
        if whole:
            yield Block({name: _one(table[name], types[name]) for name in columns}, range(line, line + n_lines))
        else:
            yield _line_by_line(block, where, line, names, columns, types)
        line += n_lines


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
    block: bytes, where: str, line: int, names: Sequence[str], columns: Sequence[str], types: dict[str, pa.DataType]
) -> Block:
    """Raise the error of a block that was not split into a row for each line.

    The error names the first bad line. Otherwise, a blank line is not a row, and a carriage return in a line is text.
    """
    rows, lines = [], []
    texts = block.removesuffix(b"\n").split(b"\n")
    for at, text in enumerate(texts, line):
        try:
            cells = text.removesuffix(b"\r").decode("utf-8").split("|")
        except UnicodeDecodeError as error:
            raise InputError(f"{where}:{at}: is not UTF-8; convert the file") from error
        if cells == [""]:
            continue
        if len(cells) != len(names) + 1 or cells[-1]:
            n_cells = len(cells) - (not cells[-1])
            end = " and no pipe at the end" if cells[-1] else ""
            raise InputError(f"{where}:{at}: {n_cells} cells{end}, expected {len(names)} separated by pipes")
        rows.append(cells)
        lines.append(at)
    by_name = dict(zip(names, zip(*rows))) if rows else dict.fromkeys(names, ())
    arrays = {name: pa.array(by_name[name], pa.string()) for name in columns}
    arrays = {name: a.dictionary_encode() if pa.types.is_dictionary(types[name]) else a for name, a in arrays.items()}
    return Block(arrays, lines, len(texts) - len(lines))
