"""Files of mentions in every format, and the way from one to another without a model."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from st_biomed.linking import Match
from st_biomed.linking.mention_files import (
    Rejects,
    added_columns,
    byte_sink,
    format_of,
    link_rows,
    output_format,
    read_mentions,
    rejecting,
    row_writer,
    stopping,
)

FORMATS = ("csv", "tsv", "jsonl", "parquet")
FOUND = ["rank", "concept", "score", "name", "label"]


def search(texts: list[str], contexts: Sequence[str] = ()) -> list[list[Match]]:
    """Two concepts for a text of two words or more, one of a single word, none for `nil`; they tell which text it was."""
    return [
        [
            Match(f"Z:{text}", 1 - i / 4, f"{text}!", f"{text}?")
            for i in range(0 if text == "nil" else len(text.split()[:2]))
        ]
        for text in texts
    ]


def save(path: Path, rows: Sequence[dict[str, Any]], columns: Sequence[str] | None = None) -> Path:
    """Write rows in the format of the suffix, by other code than that which is tested."""
    columns = list(rows[0]) if columns is None else list(columns)
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        kinds = {"n": pa.int64()}
        schema = pa.schema([(column, kinds.get(column, pa.string())) for column in columns])
        pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), path)
        return path
    text = io.StringIO()
    if name.endswith(".csv"):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([columns, *([row[column] for column in columns] for row in rows)])
    elif name.endswith(".tsv"):
        for cells in (columns, *([row[column] for column in columns] for row in rows)):
            text.write("\t".join(map(str, cells)) + "\n")
    else:
        text.writelines(json.dumps(row) + "\n" for row in rows)
    content = text.getvalue().encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def load(path: Path) -> list[dict[str, Any]]:
    """Read rows in the format of the suffix, by other code than that which is tested."""
    content = path.read_bytes()
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        return pq.read_table(path).to_pylist()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.split("\n")[:-1]]
    if name.endswith(".csv"):
        return list(csv.DictReader(io.StringIO(text, newline="")))
    header, *lines = (line.split("\t") for line in text.split("\n")[:-1])
    return [dict(zip(header, line, strict=True)) for line in lines]


def link(source: Path, output: Path, column: str = "mention", **options: Any) -> list[dict[str, str]]:
    """Link a file; the rejected rows if ``reject`` is set.

    Args:
        source: The file of mentions.
        output: The file to write.
        column: The column of mentions.
        **options: ``form`` and ``output_form`` in place of the suffixes, ``prefix``, ``encoding``, ``reject`` and ``rows_at_once``.
    """
    read_as = format_of(source, options.get("form"))
    write_as = output_format(output, options.get("output_form"), read_as)
    added = added_columns(write_as, options.get("prefix", ""))
    rejected = io.BytesIO()
    with byte_sink(output, io.BytesIO()) as file:
        same, encoding = write_as != "jsonl", options.get("encoding", "")
        table = read_mentions(source, read_as, column, added=added, same_fields=same, encoding=encoding)
        rows = rejecting(table, Rejects(rejected, print)) if options.get("reject") else stopping(table)
        with row_writer(write_as, file, table, added) as writer:
            for row, matches in link_rows(rows, search, rows_at_once=options.get("rows_at_once", 2)):
                writer.write(row, matches)
    return [json.loads(line) for line in rejected.getvalue().decode().splitlines()]


def expected(rows: Sequence[dict[str, Any]], output: str, column: str = "mention") -> list[dict[str, Any]]:
    """What a linked file has, by a loop: the values are strings in CSV and TSV."""
    out = []
    for row in rows:
        text = (row[column] or "").strip()
        matches = search([text])[0] if text else []
        if output == "jsonl":
            out.append({**row, "concepts": [{**match._asdict(), "types": list(match.types)} for match in matches]})
            continue
        found: list[list[Any]] = [[i, m.concept, m.score, m.name, m.label] for i, m in enumerate(matches, 1)]
        for cells in found or [[0, None, None, None, None]]:
            if output != "parquet":
                cells = [
                    "" if cell is None else f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells
                ]
            out.append({**row, **dict(zip(FOUND, cells))})
    return out
