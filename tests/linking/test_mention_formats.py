"""Formats of files of mentions: names and suffixes, and the types of their columns."""

from __future__ import annotations

import datetime
import decimal
import gzip
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from st_biomed.errors import InputError
from st_biomed.linking.mention_files import format_of, output_format
from st_biomed.linking.mention_files.sinks import byte_sink
from tests.linking.linked_files import link, load, save


def test_formats_by_suffix_and_by_name() -> None:
    names = ("a.tsv", "a.TSV.gz", "a.jsonl.gz", "a.ndjson", "a.txt", "notes", "a.csv", "b.CSV.gz", "c.parquet", "c.pq")
    assert [format_of(Path(name), None) for name in names] == [
        *["tsv"] * 2,
        *["jsonl"] * 2,
        *["text"] * 2,
        *["csv"] * 2,
        *["parquet"] * 2,
    ]
    assert format_of(None, None) == "text"
    assert format_of(Path("a.txt"), "jsonl") == "jsonl"
    with pytest.raises(
        InputError, match="unknown format 'json': allowed are 'csv', 'jsonl', 'parquet', 'text', 'tsv'"
    ):
        format_of(None, "json")


@pytest.mark.parametrize("name", ["terms.xlsx", "terms.json", "terms.xlsx.gz"])
def test_an_unknown_suffix_is_refused_with_those_that_are_known(name: str) -> None:
    """Catches a spreadsheet that is linked line by line as if it were text."""
    with pytest.raises(
        InputError, match=rf"{name}: suffix '.\w+' has no known format; known are .csv, .* --format \("
    ):
        format_of(Path(name), None)
    with pytest.raises(InputError, match=r"name the format with --output-format \("):
        output_format(Path(name), None, "csv")
    for name in ("a.parquet.gz", "a.parquet.GZ"):
        with pytest.raises(InputError, match="a parquet file is compressed within itself"):
            format_of(Path(name), None)


def test_the_suffix_of_gzip_has_any_case(tmp_path: Path) -> None:
    with byte_sink(tmp_path / "out.csv.GZ", io.BytesIO()) as sink:
        sink.write(b"flumpa")
    assert gzip.decompress((tmp_path / "out.csv.GZ").read_bytes()) == b"flumpa"


def test_the_output_is_named_by_itself_or_as_the_input() -> None:
    assert output_format(Path("a.csv"), None, "jsonl") == "csv"
    assert output_format(Path("a.csv"), "tsv", "jsonl") == "tsv"
    assert output_format(None, None, "jsonl") == output_format(Path("out"), None, "jsonl") == "jsonl"


# ---------------------------------------------------------------------- types


def typed() -> pa.Table:
    when = datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.UTC)
    columns = {
        "n": pa.array([7, None, 9], pa.int64()),
        "mention": pa.array(["flumpa disease", None, "nil"], pa.large_string()).dictionary_encode(),
        "share": pa.array([0.5, float("nan"), None]),
        "is": pa.array([True, False, None]),
        "when": pa.array([when, None, when], pa.timestamp("ns", "UTC")),
        "day": pa.array([when.date()] * 3),
        "price": pa.array([decimal.Decimal("1.50")] * 3, pa.decimal128(5, 2)),
        "bytes": pa.array([b"\xff\x00", None, b""]),
        "tags": pa.array([["a", None], [], None], pa.list_(pa.string())),
        "deep": pa.array([{"x": 1.5}, {"x": float("inf")}, None]),
    }
    return pa.table(columns).replace_schema_metadata({"kept": "yes"})


def test_a_parquet_file_keeps_its_types_in_row_groups(tmp_path: Path) -> None:
    """Catches columns that become strings, and rows taken from another row group."""
    table = typed()
    pq.write_table(pa.concat_tables([table] * 40), tmp_path / "in.parquet", row_group_size=7)
    link(tmp_path / "in.parquet", tmp_path / "out.parquet", rows_at_once=11)
    linked = pq.read_table(tmp_path / "out.parquet")
    assert linked.num_rows == 40 * 4  # two concepts, and one line of rank 0 for each of two
    assert linked.schema.metadata[b"kept"] == b"yes"
    own = linked.select(table.schema.names)
    assert own.schema.equals(pq.read_table(tmp_path / "in.parquet").schema)
    repeated = [row for row in table.to_pylist() for _ in range(1 + (row["n"] == 7))] * 40
    assert repr(own.to_pylist()) == repr(repeated)  # as text, since NaN is not equal to itself
    assert linked["rank"].to_pylist() == [1, 2, 0, 0] * 40
    assert linked["score"].type == pa.float32() and linked["concept"].null_count == 80


@pytest.mark.parametrize("form", ["csv", "tsv", "txt", "jsonl"])
@pytest.mark.parametrize(("encoding", "asked"), [("utf-16", ""), ("cp1252", "cp1252"), ("utf-16-le", "utf-16-le")])
def test_other_encodings_give_the_same_output(form: str, encoding: str, asked: str, tmp_path: Path) -> None:
    """Catches a line of UTF-16 that is split at a byte of 10, as in U+010A, and lines that are decoded one by one."""
    rows = [{"mention": "größe"}, {"mention": "Ċ" if encoding != "cp1252" else "é"}, {"mention": "nil"}]
    lines = "".join(f"{row['mention']}\n" for row in rows)
    plain = tmp_path / f"plain.{form}"
    plain.write_text(lines) if form == "txt" else save(plain, rows)
    text = plain.read_text().replace("\n", "\r\n")
    (tmp_path / f"in.{form}").write_bytes(text.encode(encoding))
    link(plain, tmp_path / "expected.tsv")
    link(tmp_path / f"in.{form}", tmp_path / "out.tsv", encoding=asked)
    assert (tmp_path / "out.tsv").read_text() == (tmp_path / "expected.tsv").read_text()


def test_a_file_in_another_encoding_than_the_named_one_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes("mention\nflumpa\ngr\x81\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"in.csv:3: is not cp1252; name another --encoding"):
        link(tmp_path / "in.csv", tmp_path / "out.csv", encoding="cp1252")
    with pytest.raises(InputError, match=r"--encoding: 'windows' is unknown to Python"):
        link(tmp_path / "in.csv", tmp_path / "out.csv", encoding="windows")


def test_types_of_parquet_become_text_that_says_all(tmp_path: Path) -> None:
    pq.write_table(typed(), tmp_path / "in.parquet")
    link(tmp_path / "in.parquet", tmp_path / "out.jsonl")
    first, second, third = load(tmp_path / "out.jsonl")
    assert [len(row.pop("concepts")) for row in (first, second, third)] == [2, 0, 0]
    assert first == {
        "n": 7,
        "mention": "flumpa disease",
        "share": 0.5,
        "is": True,
        "when": "2024-02-29 12:30:00.000000000Z",
        "day": "2024-02-29",
        "price": "1.50",
        "bytes": "ff00",
        "tags": ["a", None],
        "deep": {"x": 1.5},
    }
    assert (second["share"], second["n"], second["deep"], third["tags"]) == (None, None, {"x": None}, None)
    link(tmp_path / "in.parquet", tmp_path / "out.csv")
    row = load(tmp_path / "out.csv")[0]
    assert [row[name] for name in ("n", "share", "is", "tags", "deep")] == [
        "7",
        "0.5",
        "true",
        '["a", null]',
        '{"x": 1.5}',
    ]


def test_a_column_of_numbers_is_no_column_of_mentions(tmp_path: Path) -> None:
    pq.write_table(typed(), tmp_path / "in.parquet")
    with pytest.raises(InputError, match="in.parquet: column 'n' is of type int64, expected strings"):
        link(tmp_path / "in.parquet", tmp_path / "out.csv", "n")


@pytest.mark.parametrize("output", ["csv", "tsv", "parquet"])
def test_objects_become_a_table_of_the_fields_of_the_first(output: str, tmp_path: Path) -> None:
    """Catches a field that is lost without a word, and a cell under another column's name."""
    objects = [{"mention": "nil", "n": 3, "of": {"a": 1}}, {"n": None, "mention": "flumpa"}]
    link(save(tmp_path / "in.jsonl", objects), tmp_path / f"out.{output}")
    none = None if output == "parquet" else ""
    assert [(row["mention"], row["n"], row["of"]) for row in load(tmp_path / f"out.{output}")] == [
        ("nil", "3", '{"a": 1}'),
        ("flumpa", none, none),
    ]
    save(tmp_path / "in.jsonl", [*objects, {"mention": "x", "more": 1}])
    with pytest.raises(
        InputError, match=r"in.jsonl:3: field 'more' is not one of the first object, which are \['mention'"
    ):
        link(tmp_path / "in.jsonl", tmp_path / f"out.{output}")
    link(tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    assert load(tmp_path / "out.jsonl")[2]["more"] == 1


@pytest.mark.parametrize("output", ["parquet", "csv", "jsonl"])
def test_string_views_are_strings(output: str, tmp_path: Path) -> None:
    """Catches a file of Polars, whose strings Arrow neither takes rows of nor turns into text."""
    view = pa.array(["flumpa disease", None, "nil"]).cast(pa.string_view())
    columns = {
        "mention": view,
        "note": view,
        "bytes": pa.array([b"\xff", None, b""]).cast(pa.binary_view()),
        "tags": pa.array([["a"], None, []], pa.list_(pa.string_view())),
        "pair": pa.array([["a", "b"]] * 3, pa.list_(pa.string_view(), 2)),
        "deep": pa.array([{"x": ["a"]}, None, {"x": None}], pa.struct({"x": pa.large_list(pa.string_view())})),
    }
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    assert pq.read_schema(tmp_path / "in.parquet").field("mention").type == pa.string_view()
    link(tmp_path / "in.parquet", tmp_path / f"out.{output}")
    rows = load(tmp_path / f"out.{output}")
    assert [row["mention"] or None for row in rows] == ["flumpa disease"] * (2 - (output == "jsonl")) + [None, "nil"]
    if output == "parquet":
        schema = pq.read_schema(tmp_path / "out.parquet")
        assert schema.field("mention").type == pa.large_string() and schema.field("bytes").type == pa.large_binary()
        assert rows[0]["deep"] == {"x": ["a"]} and rows[0]["pair"] == ["a", "b"]
