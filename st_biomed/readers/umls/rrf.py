"""RRF files by columns: UMLS and similar releases have too many rows to read them one by one.

The dialect is ``rrf`` of :mod:`~st_biomed.files.delimited`: pipes, one at the end of every line, no quoting. A file may
be plain, gzipped, or split into lettered pieces (``MRCONSO.RRF.aa.gz``, ``MRCONSO.RRF.ab.gz``, ...).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from string import ascii_lowercase

import pyarrow as pa

from st_biomed.errors import InputError
from st_biomed.files.column_blocks import ENCODED, Block, column_blocks
from st_biomed.files.delimited import DIALECTS


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
        plain: The columns whose values rarely repeat; the others are dictionary-encoded.

    Yields:
        Blocks in order; a block may be empty.

    Raises:
        InputError: With file and line: another number of cells, bytes that are not UTF-8. Also a damaged gzip file.
    """
    where = str(parts[0]) if len(parts) == 1 else f"{parts[0].parent / parts[0].name.split('.RRF')[0]}.RRF.*"
    types = {name: pa.string() if name in plain else ENCODED for name in columns}
    yield from column_blocks(parts, where, names, types, DIALECTS["rrf"])
