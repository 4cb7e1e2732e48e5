"""Files of mentions in and linked files out: every format to every format, and what files of people are like."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from st_biomed.errors import InputError
from st_biomed.linking import Match
from st_biomed.linking.mention_files import read_mentions, row_writer, stopping
from tests.linking.linked_files import FORMATS, FOUND, expected, link, load, save

ROWS = [
    {"id": "b", "mention": "flumpa disease", "note": "x"},
    {"id": "a", "mention": "", "note": "without text"},
    {"id": "", "mention": 'gradtha, "acute"', "note": '"'},
    {"id": "NA", "mention": "nil", "note": "008.50"},
    {"id": "c", "mention": "größe µ", "note": " spaces "},
]
LINES = [*ROWS, {"id": "d", "mention": "two\nlines", "note": "a\r\nb"}]
"""Rows with line breaks, which TSV cannot hold."""


def rows_for(*formats: str) -> list[dict[str, str]]:
    return ROWS if "tsv" in formats else LINES


@pytest.mark.parametrize("output", [*FORMATS, "csv.gz", "tsv.gz", "jsonl.gz"])
@pytest.mark.parametrize("source", [*FORMATS, "csv.gz", "tsv.gz", "jsonl.gz"])
def test_every_format_becomes_every_format(source: str, output: str, tmp_path: Path) -> None:
    """Catches a row that is lost, doubled or out of order, a cell that is changed, and matches of another row."""
    plain = output.removesuffix(".gz")
    rows = rows_for(source.removesuffix(".gz"), plain)
    link(save(tmp_path / f"in.{source}", rows), tmp_path / f"out.{output}")
    assert load(tmp_path / f"out.{output}") == expected(rows, plain)


@pytest.mark.parametrize("output", FORMATS)
def test_plain_text_becomes_every_format(output: str, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("flumpa disease\n\n  nil \r\ngradtha")
    link(tmp_path / "in.txt", tmp_path / f"out.{output}")
    rows = [{"text": text} for text in ("flumpa disease", "", "nil", "gradtha")]
    assert load(tmp_path / f"out.{output}") == expected(rows, output, "text")


def test_plain_text_out_has_no_header(tmp_path: Path) -> None:
    link(save(tmp_path / "in.csv", ROWS[:2]), tmp_path / "out.txt")
    link(save(tmp_path / "in.tsv", ROWS[:2]), tmp_path / "out.tsv")
    assert (tmp_path / "out.txt").read_text() == (tmp_path / "out.tsv").read_text().partition("\n")[2]


@pytest.mark.parametrize("output", FORMATS)
@pytest.mark.parametrize("source", FORMATS)
def test_a_table_of_a_header_alone_is_one_again(source: str, output: str, tmp_path: Path) -> None:
    """Catches an output without columns, which nothing that follows can read."""
    link(save(tmp_path / f"in.{source}", [], ["id", "mention"]), tmp_path / f"out.{output}")
    assert load(tmp_path / f"out.{output}") == []
    kept = ["mention"] if source == "jsonl" else ["id", "mention"]  # an object that is not there has no fields
    if output == "parquet":
        assert pq.read_schema(tmp_path / "out.parquet").names == [*kept, *FOUND]
    elif output != "jsonl":
        split = "," if output == "csv" else "\t"
        assert (tmp_path / f"out.{output}").read_text() == split.join([*kept, *FOUND]) + "\n"


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet"])
def test_an_empty_file_is_told(form: str, tmp_path: Path) -> None:
    (tmp_path / f"in.{form}").write_bytes(b"")
    message = "is not a complete parquet file" if form == "parquet" else "is empty, a header with the column 'mention'"
    with pytest.raises(InputError, match=rf"in.{form}: {message}"):
        link(tmp_path / f"in.{form}", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_files_that_went_through_windows(form: str, tmp_path: Path) -> None:
    """Catches a mark in the name of the first column, and a carriage return in the last cell."""
    content = save(tmp_path / f"plain.{form}", [{"mention": "flumpa", "id": "1"}, {"mention": "nil", "id": "2"}])
    windows = b"\xef\xbb\xbf" + content.read_bytes().replace(b"\n", b"\r\n")
    (tmp_path / f"in.{form}").write_bytes(windows)
    link(tmp_path / f"in.{form}", tmp_path / f"out.{form}")
    link(content, tmp_path / f"other.{form}")
    assert (tmp_path / f"out.{form}").read_bytes() == (tmp_path / f"other.{form}").read_bytes()


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_a_csv_keeps_its_delimiter(delimiter: str, tmp_path: Path) -> None:
    """Catches a table of a German spreadsheet that is taken for one of a single column."""
    cells = [["id", "mention"], ["1", f"flumpa{delimiter} disease"], ["2", "gradtha, acute"]]
    with (tmp_path / "in.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(cells)
    link(tmp_path / "in.csv", tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        header, *rows = csv.reader(file, delimiter=delimiter)
    assert header == ["id", "mention", *FOUND]
    assert [row[:2] for row in rows] == [cells[1], cells[1], cells[2], cells[2]]


def test_a_carriage_return_alone_is_quoted_in_csv(tmp_path: Path) -> None:
    """Catches a row that other programs, and the next run of linking, read as two."""
    rows = [{"id": "a", "mention": "flumpa\rdisease"}, {"id": "b\r", "mention": "nil"}]
    link(save(tmp_path / "in.jsonl", rows), tmp_path / "out.csv")
    assert b'\na,"flumpa\rdisease",1,' in (tmp_path / "out.csv").read_bytes()
    assert load(tmp_path / "out.csv") == expected(rows, "csv")
    assert b"\r\n" not in (tmp_path / "out.csv").read_bytes()


@pytest.mark.parametrize("line", ["sep=;\r\n", '"SEP=;"\n', "\nsep=;\n"])
def test_a_line_above_the_header_states_the_delimiter(line: str, tmp_path: Path) -> None:
    """Catches such a line that is taken for the header, and line numbers that are one too small."""
    (tmp_path / "in.csv").write_bytes((line + "mention,s;mention\nflumpa,1;flumpa\n;;\n").encode())
    (rejected,) = link(tmp_path / "in.csv", tmp_path / "out.csv", reject=True)
    with (tmp_path / "out.csv").open(newline="") as file:
        header, *rows = csv.reader(file, delimiter=";")
    assert header == ["mention,s", "mention", *FOUND]
    assert [row[:2] for row in rows] == [["flumpa,1", "flumpa"]]
    assert int(rejected["line"]) == line.count("\n") + 3


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_columns_of_one_name_stay_and_those_of_the_mention_are_refused(form: str, tmp_path: Path) -> None:
    """Catches rows that become a dictionary, which keeps one of both."""
    split = "," if form == "csv" else "\t"
    table = tmp_path / f"in.{form}"
    table.write_text(split.join(["note", "mention", "note"]) + "\n" + split.join(["first", "nil", "second"]) + "\n")
    link(table, tmp_path / f"out.{form}")
    assert (tmp_path / f"out.{form}").read_text().splitlines()[1] == split.join(
        ["first", "nil", "second", "0", *[""] * 4]
    )
    with pytest.raises(InputError, match="several columns have the name 'note'; jsonl needs distinct names"):
        link(table, tmp_path / "out.jsonl")
    with pytest.raises(InputError, match=r"in\.\w+:1: 2 columns have the name 'note'; rename all but one"):
        link(table, tmp_path / "out.jsonl", "note")


@pytest.mark.parametrize("form", FORMATS)
def test_columns_that_linking_adds_are_not_overwritten(form: str, tmp_path: Path) -> None:
    taken = "concepts" if form == "jsonl" else "score"
    rows = [{"mention": "flumpa", taken: "mine"}]
    source = save(tmp_path / f"in.{form}", rows)
    with pytest.raises(InputError, match=f"'{taken}' exists already, and linking adds one; rename it"):
        link(source, tmp_path / f"out.{form}")
    link(source, tmp_path / f"out.{form}", prefix="linked_")
    (row,) = load(tmp_path / f"out.{form}")
    assert row[taken] == "mine" and f"linked_{taken}" in row


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet"])
def test_a_missing_column_lists_those_there_are(form: str, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"no column 'term'; .*the columns are \['id', 'mention', 'note'\] \(--column\)"
    ):
        link(save(tmp_path / f"in.{form}", ROWS), tmp_path / "out.csv", "term")


def test_a_gzipped_output_of_equal_content_has_equal_bytes(tmp_path: Path) -> None:
    source = save(tmp_path / "in.csv", ROWS)
    for name in ("a.csv.gz", "b.csv.gz"):
        link(source, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"id,mention,note,rank")


def test_a_score_of_json_has_six_decimals() -> None:
    """Catches 0.699999988079071 for the score 0.7, which is kept in half the bits."""
    file, table = io.BytesIO(), read_mentions(io.BytesIO(b'{"text": "flumpa"}\n'), "jsonl")
    with row_writer("jsonl", file, table, ["concepts"]) as writer:
        for row in stopping(table):
            writer.write(row, [Match("Z:1", float(np.float32(0.7)), "flumpa", "flumpa")])
    assert b'"score": 0.7,' in file.getvalue()


def test_what_is_written_as_json_is_whole(tmp_path: Path) -> None:
    link(save(tmp_path / "in.jsonl", [{"mention": "flümpa", "n": 3}]), tmp_path / "out.jsonl")
    line = (tmp_path / "out.jsonl").read_text("utf-8")
    assert "flümpa" in line and line.count("\n") == 1
    assert json.loads(line)["concepts"] == [
        {"concept": "Z:flümpa", "score": 1.0, "name": "flümpa!", "label": "flümpa?", "types": []}
    ]
