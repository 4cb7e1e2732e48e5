"""Opens a file or a stream of mentions in any format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.linking.mention_files.arrow_rows import read_parquet
from st_biomed.linking.mention_files.delimited import read_text, read_tsv
from st_biomed.linking.mention_files.formats import Format
from st_biomed.linking.mention_files.jsonl import read_jsonl
from st_biomed.linking.mention_files.lines import STREAM, RawLines
from st_biomed.linking.mention_files.mention_rows import MentionTable
from st_biomed.linking.mention_files.quoted import read_csv


def read_mentions(
    source: Path | Iterable[bytes],
    form: Format,
    column: str = "text",
    *,
    added: Sequence[str] = (),
    same_fields: bool = False,
    context: str | None = None,
    encoding: str = "",
) -> MentionTable:
    """Open a table of mentions. Rows are read when they are asked for.

    Args:
        source: A file (``*.gz`` is decompressed), or the lines of a stream.
        form: Its format.
        column: Column or field that holds the mention; not used for text.
        added: The columns that linking adds; they must not be there.
        same_fields: Whether the output has the same columns in every row, see
            :func:`~st_biomed.linking.mention_files.jsonl.read_jsonl`.
        context: Column or field that holds the text in which the mention stands; not for text.
        encoding: See :func:`~st_biomed.linking.mention_files.lines.RawLines`; not for parquet.

    Raises:
        InputError: No such file or column, no header, a column that linking adds, an unknown encoding, a parquet file that
            is none or comes from a stream; while reading, a file that is not complete.
    """
    if form == "parquet":
        if not isinstance(source, Path):
            raise InputError(f"{STREAM}: parquet is read from a file only; expected the path of one")
        return read_parquet(source, column, added, context)
    lines = RawLines(source, encoding)
    if form == "jsonl":
        return read_jsonl(lines, column, added, context, same_fields=same_fields)
    if form == "text":
        return read_text(lines)
    return (read_tsv if form == "tsv" else read_csv)(lines, column, added, context)
