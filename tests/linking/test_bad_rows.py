"""Rows that cannot be read: the first one is told with its line, or each is kept aside and nothing is lost."""

from __future__ import annotations

import base64
import gc
import gzip
import io
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from st_biomed.errors import InputError
from st_biomed.linking.mention_files import (
    BadRow,
    Rejects,
    arrow_rows,
    arrow_writing,
    read_mentions,
    rejecting,
    stopping,
)
from tests.linking.linked_files import link, load

NOT_UTF8 = "is not UTF-8; convert it, or name its --encoding, e.g. cp1252"
CASES = {
    # format: content, line and reason of each bad row, the mentions that are left
    "text": (b"a\n\xff\nb\nc\0\n", {2: NOT_UTF8, 4: "contains a NUL character"}, ["a", "b"]),
    "tsv": (
        b"id\ttext\n1\ta\n2\n3\tb\tc\n\n4\t\xe9\n5\td\n",
        {3: "1 cells, expected 2, split at tabs", 4: "3 cells, expected 2", 6: NOT_UTF8},
        ["a", "d"],
    ),
    "csv": (
        b'id,text\n1,"a\nb"\n2\n3,"c" d\n4,e,f\n5,\xe9\n6,"g""h"\n7,"open\n8,i\n',
        {
            4: "1 cells, expected 2, split at commas",
            5: "',' expected after '\"' (a stray double quote?)",
            6: "3 cells, expected 2",
            7: NOT_UTF8,
            9: "unexpected end of data (a stray double quote?)",
        },
        ["a\nb", 'g"h', "i"],
    ),
    "jsonl": (
        b'{"text": "a"}\n\n{"text"\n[1]\n{"name": "b"}\n{"text": 3}\n{"text": "\\ud800"}\n{"text": "b", "concepts": []}\n'
        b'{"text": "\xff"}\n{"text": null}\n{"text": "c"}\n{"text": "d", "n": 1e400}\n{"text": "d", "n": [NaN]}\n'
        b'{"text": "d", "of": {"a": 1, "a": 2}}\n',
        {
            3: "is not JSON",
            4: "expected a JSON object on each line, found list",
            5: "no field 'text'; the object has ['name']",
            6: "field 'text' must be a string, found 3",
            7: "contains half a character",
            8: "field 'concepts' exists already",
            9: NOT_UTF8,
            12: "is not JSON ('1e400' is no finite number)",
            13: "is not JSON ('NaN' is no finite number)",
            14: "is not JSON (the name 'a' stands 2 times in an object)",
        },
        ["a", "", "c"],
    ),
}


@pytest.mark.parametrize("form", CASES)
def test_a_bad_row_stops_with_its_line(form: str) -> None:
    content, reasons, _ = CASES[form]
    lines = content.splitlines(keepends=True)
    first = form in ("tsv", "csv")
    for number, reason in reasons.items():
        alone = lines[:first] + lines[number - 1 : number]
        with pytest.raises(InputError) as caught:
            list(stopping(read_mentions(io.BytesIO(b"".join(alone)), form, added=["concepts"])))
        assert str(caught.value).startswith(f"standard input:{len(alone)}: {reason}")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("form", CASES)
def test_rejected_rows_are_all_there_with_line_and_reason(form: str) -> None:
    """Catches a row that is in neither file, and a row behind a bad one that is taken with it."""
    content, reasons, mentions = CASES[form]
    rejected: list[BadRow] = []
    rejects = Rejects(None, lambda line: None)
    rejects.add = lambda name, row: rejected.append(row)  # type: ignore[method-assign]
    table = read_mentions(io.BytesIO(content), form, added=["concepts"])
    assert [row.text for row in rejecting(table, rejects)] == mentions
    assert [row.line for row in rejected] == list(reasons)
    for row, reason in zip(rejected, reasons.values()):
        assert row.reason.startswith(reason)
    lines = content.splitlines(keepends=True)
    for row in rejected:
        assert row.content.encode("utf-8", "surrogateescape") == lines[row.line - 1]


def test_the_file_of_rejects_holds_the_bytes_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(CASES["csv"][0])
    rejected = link(tmp_path / "in.csv", tmp_path / "out.csv", "text", reject=True)
    assert [row["line"] for row in rejected] == list(CASES["csv"][1])
    assert {row["file"] for row in rejected} == {str(tmp_path / "in.csv")}
    assert rejected[0]["row"] == "2\n"
    assert base64.b64decode(rejected[3]["row_base64"]) == b"5,\xe9\n" and "row" not in rejected[3]
    assert [row["text"] for row in load(tmp_path / "out.csv") if row["rank"] != "2"] == ["a\nb", 'g"h', "i"]


@pytest.mark.long
def test_a_quote_that_never_ends_spoils_one_row_of_many(tmp_path: Path) -> None:
    """Catches a stray quote at the beginning of a file that takes all the rest with it."""
    (tmp_path / "in.csv").write_text('text\n"open\n' + "".join(f"flumpa{i}\n" for i in range(30_000)))
    rejected = link(tmp_path / "in.csv", tmp_path / "out.csv", "text", reject=True, rows_at_once=5000)
    assert [row["line"] for row in rejected] == [2]
    assert len(load(tmp_path / "out.csv")) == 30_000
    with pytest.raises(InputError, match=r"in.csv:2: .* \(a stray double quote\?\)"):
        link(tmp_path / "in.csv", tmp_path / "other.csv", "text")


def test_the_rows_after_a_quote_that_never_ends_keep_their_order() -> None:
    """Catches lines that are given again from the last to the first: matches would go to other rows of the output."""
    table = read_mentions(io.BytesIO(b'text\n"open\na\nb\nc\n'), "csv")
    bad, *rows = table.rows
    assert isinstance(bad, BadRow) and bad.line == 2
    assert [row.text for row in rows if not isinstance(row, BadRow)] == ["a", "b", "c"]


def test_a_document_in_a_cell_is_no_stray_quote(tmp_path: Path) -> None:
    """Catches the limit of the csv module, 131,072 characters, which a long document in a column of contexts exceeds."""
    (tmp_path / "in.csv").write_text(f"text,note\nflumpa,{'x' * 200_000}\n")
    link(tmp_path / "in.csv", tmp_path / "out.csv", "text")
    (tmp_path / "in.csv").write_text('text\n"open\n' + "flumpa\n" * 200_000)
    message = r"in.csv:2: a cell has more than 1,048,576 characters \(a stray double quote\?\)"
    with pytest.raises(InputError, match=message):
        link(tmp_path / "in.csv", tmp_path / "other.csv", "text")


def test_strings_of_parquet_that_are_not_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parquet itself does not check them, so that they would end in a traceback when they are written."""
    monkeypatch.setattr(arrow_rows, "_ROWS", 2)
    bad = pa.array([b"0", b"0", b"a", b"\xff", b"b"]).view(pa.string())
    pq.write_table(pa.table({"n": [1, 2, 3, 4, 5], "text": bad}), tmp_path / "in.parquet")
    with pytest.raises(InputError, match="in.parquet:4: is not UTF-8; convert it"):
        link(tmp_path / "in.parquet", tmp_path / "out.csv", "text")
    (rejected,) = link(tmp_path / "in.parquet", tmp_path / "out.parquet", "text", reject=True)
    assert base64.b64decode(rejected["row_base64"]) == b"n: 4 | text: \xff"
    assert [(row["n"], row["text"]) for row in load(tmp_path / "out.parquet")] == [
        (1, "0"),
        (2, "0"),
        (3, "a"),
        (5, "b"),
    ]


def test_a_value_of_no_place_in_its_dictionary_is_a_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq.write_table(pa.table({"text": ["flumpa"]}), tmp_path / "in.parquet")

    def damaged(rows: pa.RecordBatch) -> dict[int, str]:
        raise pa.ArrowIndexError("Index 7 out of bounds")

    monkeypatch.setattr(arrow_rows, "_flaws", damaged)
    with pytest.raises(InputError, match=r"in.parquet: is not a complete parquet file \(Index 7 out of bounds\)"):
        link(tmp_path / "in.parquet", tmp_path / "out.csv", "text")


def test_rows_of_parquet_behind_a_bad_one_are_their_own(tmp_path: Path) -> None:
    """Catches the mention, the context or the cells of the next row."""
    bad = pa.array([b"a", b"\xff", b"b", b"c"]).view(pa.string())
    table = pa.table({"n": [1, 2, 3, 4], "text": bad, "near": ["a a", "x x", "b b", "c c"]})
    pq.write_table(table, tmp_path / "in.parquet")
    found = list(read_mentions(tmp_path / "in.parquet", "parquet", context="near").rows)
    assert isinstance(found[1], BadRow) and found[1].line == 2
    read = [(row.text, row.context, row.values[0]) for row in found if not isinstance(row, BadRow)]
    assert read == [("a", "a a", 1), ("b", "b b", 3), ("c", "c c", 4)]


def test_what_is_wrong_with_a_header_is_never_rejected() -> None:
    for form, content, message in (
        ("tsv", b"id\tname\n", "standard input:1: no column 'text'; split at tabs the columns are ['id', 'name']"),
        ("tsv", b"", "standard input: is empty, a header with the column 'text' is needed"),
        ("csv", b"\xff,text\n", "standard input:1: is not UTF-8"),
        ("csv", b'"text\n', "standard input:1: unexpected end of data"),
        ("csv", b"id;name\n", "no column 'text'; split at semicolons the columns are ['id', 'name']"),
        ("csv", b"sep=;\nid;name\n", "standard input:2: no column 'text'; split at semicolons"),
        ("csv", b"sep=/\nid/text\n", r"standard input:1: the delimiter is one of ',', ';', '\t', '|', found 'sep=/'"),
        ("csv", b"sep=;\n", "standard input: is empty, a header with the column 'text' is needed"),
        ("csv", b"id;Text\n", "the columns are ['id', 'Text']; did you mean 'Text'?"),
        ("csv", b"\x1f\x8b\x08", "standard input: is compressed with gzip; decompress it, or give it the suffix .gz"),
    ):
        with pytest.raises(InputError) as caught:
            read_mentions(io.BytesIO(content), form)
        assert message in str(caught.value)


@pytest.mark.long
def test_a_file_that_is_cut_off_ends_a_job_that_rejects(tmp_path: Path) -> None:
    """Catches a download that ended early and looks whole when bad rows are left out."""
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(b"text\n" + b"flumpa\n" * 99999)[:-20])
    with pytest.raises(InputError, match="in.csv.gz: is not a complete gzip file"):
        link(tmp_path / "in.csv.gz", tmp_path / "out.csv", "text", reject=True)
    pq.write_table(pa.table({"text": ["flumpa"] * 99}), tmp_path / "in.parquet")
    (tmp_path / "in.parquet").write_bytes((tmp_path / "in.parquet").read_bytes()[:-20])
    with pytest.raises(InputError, match="in.parquet: is not a complete parquet file"):
        link(tmp_path / "in.parquet", tmp_path / "out.csv", "text", reject=True)
    assert not list(tmp_path.glob("*out*"))


def test_a_parquet_output_that_is_given_up_says_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a footer that is written to a closed file, whose error would be the last line on the screen."""
    monkeypatch.setattr(arrow_writing, "_ROWS_PER_GROUP", 3)
    unraisable: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    (tmp_path / "in.csv").write_text("text,n\n" + "a,1\n" * 20 + "b\n")
    with pytest.raises(InputError, match="in.csv:22: 1 cells"):
        link(tmp_path / "in.csv", tmp_path / "out.parquet", "text")
    gc.collect()
    assert unraisable == [] and not list(tmp_path.glob("*out*"))


def test_bad_rows_that_are_written_nowhere_are_said_up_to_ten() -> None:
    said: list[str] = []
    rejects = Rejects(None, said.append)
    table = read_mentions(io.BytesIO(b"\xff\n" * 99), "text")
    assert list(rejecting(table, rejects)) == []
    assert (rejects.n, len(said)) == (99, 11)
    assert said[1] == f"rejected: standard input:2: {NOT_UTF8}"
    assert "--rejects FILE" in said[-1]


@pytest.mark.parametrize("form", ["text", "csv", "tsv"])
def test_lines_that_end_in_a_carriage_return_alone_are_refused(form: str, tmp_path: Path) -> None:
    """Catches a file of the old Macintosh that is one row, or a traceback of the csv module."""
    (tmp_path / "in").write_bytes(b'"text"\rflumpa\rgradtha\r')
    with pytest.raises(InputError, match="in:1: lines end in a carriage return alone; convert the file$"):
        link(tmp_path / "in", tmp_path / "out.csv", "text", form=form, reject=True)
    separator = {"tsv": b"\t"}.get(form, b",")
    (tmp_path / "in").write_bytes(separator.join([b"text", b'"a\rb"\r\n']) + separator.join([b"flumpa", b"x\r\n"]))
    link(tmp_path / "in", tmp_path / "out.csv", "text", form=form)  # a carriage return in quotes, and Windows' ends
    assert load(tmp_path / "out.csv")


def test_a_header_may_be_long_and_a_cell_of_it_may_not(tmp_path: Path) -> None:
    """Catches the limit of the csv module, 131,072 characters, before the limit of this package is set."""
    import csv

    before = csv.field_size_limit(131_072)
    try:
        (tmp_path / "in.csv").write_text(f"text,{'x' * 200_000}\nflumpa,1\n")
        link(tmp_path / "in.csv", tmp_path / "out.csv", "text")
        assert load(tmp_path / "out.csv")[0]["text"] == "flumpa"
        columns = ",".join(f"column{i}" + "x" * 1_000 for i in range(1_100))
        (tmp_path / "in.csv").write_text(f"text,{columns}\n")
        link(tmp_path / "in.csv", tmp_path / "other.csv", "text")  # more characters than a cell, in many cells
        (tmp_path / "in.csv").write_text(f"text,{'x' * 1_100_000}\nflumpa,1\n")
        with pytest.raises(InputError, match="in.csv:1: a cell has more than 1,048,576 characters"):
            link(tmp_path / "in.csv", tmp_path / "out.csv", "text")
    finally:
        csv.field_size_limit(max(before, csv.field_size_limit()))
