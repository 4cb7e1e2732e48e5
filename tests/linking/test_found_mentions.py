"""Mentions found in raw text as a table: what a row says, in each format, and how much is in memory."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from st_biomed.corpus.coverage import Coverage
from st_biomed.corpus.matching import TermMatcher
from st_biomed.corpus.mentions import mention_tables
from st_biomed.corpus.raw_text import Document
from st_biomed.linking.mention_files import (
    added_columns,
    arrow_writing,
    format_of,
    found_mentions,
    table_format,
    write_found_mentions,
)
from st_biomed.records import SourceInfo, Term
from st_biomed.terminology import Terminology
from tests.linking.linked_files import FORMATS, load

SOURCE = SourceInfo("S", "Source", license="CC0-1.0", redistributable=True)
TERMINOLOGY = Terminology.from_records(
    [
        Term("S:1", "flumpa, chronic"),
        Term("S:2", "Zor"),
        Term("S:3", "Zor", "synonym"),
        Term("S:3", "mimi térkia"),
    ],
    SOURCE,
)
MATCHER = TermMatcher(TERMINOLOGY, "en")
TEXTS = {
    "a": 'x "zor" FLUMPA, chronic y',
    "b:1": "uno",
    "c": unicodedata.normalize("NFC", "la\u0300 mimi\r\nte\u0301rkia, [Ms] zor"),
}
COLUMNS = ["document", "start", "end", "mention", "term", "codes", "context"]
ROWS: list[list[Any]] = [
    ["a", 3, 6, "zor", "Zor", ["S:2", "S:3"], 'x " [Ms] zor [Me] " FLUMPA, chronic y'],
    ["a", 8, 23, "FLUMPA, chronic", "flumpa, chronic", ["S:1"], 'x "zor" [Ms] FLUMPA, chronic [Me] y'],
    ["c", 3, 15, "mimi\r\ntérkia", "mimi térkia", ["S:3"], "là [Ms] mimi térkia [Me] , (Ms) zor"],
    ["c", 22, 25, "zor", "Zor", ["S:2", "S:3"], "là mimi térkia, (Ms) [Ms] zor [Me]"],
]


def found(texts: dict[str, str] = TEXTS) -> Iterator[pa.Table]:
    return mention_tables(MATCHER, [Document(name, text) for name, text in texts.items()], Coverage())


def written(path: Path, tables: Any) -> list[dict[str, Any]]:
    """The rows of a file, read by other code than that which wrote it."""
    form = table_format(path)
    assert form is not None
    with path.open("wb") as file:
        write_found_mentions(file, form, tables, TERMINOLOGY)
    return load(path)


@pytest.mark.parametrize("form", FORMATS)
def test_a_row_says_what_was_found_where(form: str, tmp_path: Path) -> None:
    """Catches a code, a term or a place of another row, a mention that was normalized, and lists that no cell holds."""
    expected = [dict(zip(COLUMNS, row)) for row in ROWS]
    if form in ("csv", "tsv"):
        for row in expected:
            row.update(start=str(row["start"]), end=str(row["end"]), codes=" ".join(row["codes"]))
            if form == "tsv":
                row["mention"] = row["mention"].replace("\r\n", " ")
    rows = written(tmp_path / f"found.{form}", found())
    assert rows == expected and list(rows[0]) == COLUMNS
    for row in rows:
        mention = TEXTS[row["document"]][int(row["start"]) : int(row["end"])]
        assert mention == row["mention"] or (form == "tsv" and mention.split() == row["mention"].split())


def test_parquet_has_types(tmp_path: Path) -> None:
    """Catches numbers and lists that became text."""
    import pyarrow.parquet as pq

    written(tmp_path / "found.parquet", found())
    schema = pq.read_schema(tmp_path / "found.parquet")
    assert [schema.field(name).type for name in ("start", "end", "mention")] == [pa.int64(), pa.int64(), pa.string()]
    assert pa.types.is_list(schema.field("codes").type)


@pytest.mark.parametrize("form", FORMATS)
def test_rows_beyond_a_batch_keep_their_codes(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches the offsets of a slice that are taken for those of the whole table."""
    whole = written(tmp_path / f"whole.{form}", found())
    monkeypatch.setattr(found_mentions, "_ROWS", 3)
    assert written(tmp_path / f"found.{form}", found()) == whole
    assert written(tmp_path / f"found.{form}", [table.slice(1) for table in found()]) == whole[1:]


@pytest.mark.parametrize("form", FORMATS)
def test_rows_are_written_before_the_next_part_is_read(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a table that is built in memory."""
    monkeypatch.setattr(arrow_writing, "_ROWS_PER_GROUP", 2)
    file, sizes = io.BytesIO(), [0]

    def parts() -> Iterator[pa.Table]:
        for _ in range(4):
            yield from found()
            sizes.append(file.tell())

    write_found_mentions(file, format_of(Path(f"a.{form}"), None), parts(), TERMINOLOGY)
    assert all(size < after for size, after in pairwise(sizes)), sizes


@pytest.mark.parametrize("form", FORMATS)
def test_no_mention_is_a_table_without_rows(form: str, tmp_path: Path) -> None:
    """Catches a file without its header, which no reader takes."""
    path = tmp_path / f"found.{form}"
    assert written(path, found({"a": "uno"})) == [] and written(path, []) == []
    if form in ("csv", "tsv"):
        assert path.read_text() == ("," if form == "csv" else "\t").join(COLUMNS) + "\n"


@pytest.mark.parametrize("form", FORMATS)
def test_linking_adds_no_column_that_is_there(form: str) -> None:
    """Catches a table that `st-biomed link` takes only with --prefix."""
    assert not set(COLUMNS) & set(added_columns(format_of(Path(f"a.{form}"), None)))


def test_tables_are_known_by_their_suffix() -> None:
    """Catches a folder that becomes a file, such as a version in its name."""
    names = ["a.csv", "a.TSV.gz", "a.tab", "a.jsonl.gz", "a.pq", "a", "a.txt", "a.v2", "a.gz", "a.json", "a.arrow"]
    assert [table_format(Path(name)) for name in names] == ["csv", "tsv", "tsv", "jsonl", "parquet", *[None] * 6]
