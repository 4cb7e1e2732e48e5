"""Writes the mentions that were found in raw text as a table that ``st-biomed link`` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.linking.mention_files.arrow_rows import ArrowValues, Batch
from st_biomed.linking.mention_files.formats import Format
from st_biomed.linking.mention_files.mention_rows import MentionRow, MentionTable
from st_biomed.linking.mention_files.rejects import stopping
from st_biomed.linking.mention_files.writing import row_writer
from st_biomed.terminology import Terminology

_ROWS = 4096
_SCHEMA = pa.schema(
    {
        "document": pa.string(),
        "start": pa.int64(),
        "end": pa.int64(),
        "mention": pa.string(),
        "term": pa.string(),
        "codes": pa.list_(pa.string()),
        "context": pa.string(),
    }
)
"""No column has the name of one that linking adds."""


def write_found_mentions(file: BinaryIO, form: Format, tables: Iterable[pa.Table], terminology: Terminology) -> None:
    """Write a row for each mention; the memory does not grow with their number.

    The columns are ``document``, ``start`` and ``end`` (the mention in its document, in characters, half open),
    ``mention`` (as it stands there), ``term`` (the terminology's string that was found), ``codes`` (of all concepts it
    may mean) and ``context`` (the mention between markers). In CSV and TSV the codes are joined by spaces, in JSON
    Lines and parquet they are a list.

    Args:
        file: Where to write; it is not closed.
        form: The format, not text.
        tables: The mentions, of :func:`~st_biomed.corpus.mentions.mention_tables`.
        terminology: The terminology whose terms were found.
    """
    joined = form in ("csv", "tsv")
    schema = _SCHEMA.set(_SCHEMA.get_field_index("codes"), pa.field("codes", pa.string())) if joined else _SCHEMA
    rows = _rows(tables, terminology, schema, joined)
    table = MentionTable("the mentions", form, schema.names, rows, schema=schema)
    with row_writer(form, file, table, added=()) as writer:
        for row in stopping(table):
            writer.write(row, ())


def _rows(
    tables: Iterable[pa.Table], terminology: Terminology, schema: pa.Schema, joined: bool
) -> Iterator[MentionRow]:
    strings = terminology.texts["text"].combine_chunks()
    names = terminology.concepts["code"].combine_chunks()
    for table in tables:
        for found in table.to_batches(max_chunksize=_ROWS):
            concepts = found.column("concepts")
            codes = pa.ListArray.from_arrays(_offsets(concepts), names.take(concepts.flatten()))
            columns = {
                **{name: found.column(name) for name in ("document", "start", "end", "mention")},
                "term": strings.take(found.column("label")),
                "codes": pc.binary_join(codes, " ") if joined else codes,
                "context": found.column("text"),
            }
            batch = Batch(pa.record_batch([columns[name] for name in schema.names], schema=schema))
            for row, mention in enumerate(found.column("mention").to_pylist()):
                yield MentionRow(mention, schema.names, ArrowValues(batch, row))


def _offsets(lists: pa.ListArray) -> pa.Array:
    """The offsets of lists in their flat values, from 0 also in a slice."""
    return pc.subtract(lists.offsets, lists.offsets[0])
