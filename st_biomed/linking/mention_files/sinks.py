"""Where bytes are written: standard output, or a file that is there once it is whole, gzipped if its name says so."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from st_biomed.files import writing
from st_biomed.files.gzipped import SUFFIX


@contextmanager
def byte_sink(output: Path | None, stream: BinaryIO) -> Iterator[BinaryIO]:
    """Open an output.

    Args:
        output: The file, under a lock until the end of the body; ``None`` for the stream.
        stream: Where to write without a file; it is not closed.

    Raises:
        FolderInUse: Another process writes the file.
    """
    if output is None:
        yield stream
        stream.flush()
        return
    with writing(output) as draft, draft.open("wb") as file:
        if output.suffix.lower() != SUFFIX:
            yield file
            return
        # Without a name and a time, equal content gives equal bytes.
        with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
            yield cast(BinaryIO, packed)


@contextmanager
def rejects_sink(file: Path | None) -> Iterator[BinaryIO | None]:
    """Open the file of rejected rows; nothing without one.

    Args:
        file: The file, as in :func:`byte_sink`.
    """
    if file is None:
        yield None
        return
    with byte_sink(file, io.BytesIO()) as opened:
        yield opened
