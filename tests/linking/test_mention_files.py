"""Files of mentions in and linked files out: every format to every format, and what files of people are like."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from st_biomed.errors import InputError
from st_biomed.linking import Match
from st_biomed.linking.mention_files import link_rows, read_mentions, stopping
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


# ---------------------------------------------------------------------- order and streams


def rows(text: str, form: str, column: str = "text") -> list[tuple[str, list[object]]]:
    table = read_mentions(io.BytesIO(text.encode()), form, column)
    return [(row.text, list(row.values)) for row in stopping(table)]


def test_each_line_of_a_text_is_a_mention() -> None:
    """Catches a line separator inside a mention that is taken for the end of the line."""
    assert rows("flumpa\n\n  gradtha disease \r\nlast", "text") == [
        ("flumpa", ["flumpa"]),
        ("", [""]),
        ("gradtha disease", ["gradtha disease"]),
        ("last", ["last"]),
    ]
    assert rows("a\tb\n", "text") == [("a\tb", ["a b"])]
    assert rows("a\u2028b\n", "text") == [("a\u2028b", ["a b"])]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("tsv", ["", "id\ttext", "", "1\ta", "", "2\tb", "\t", "", ""]),
        ("csv", ["", "id,text", "", "1,a", "", '2,"b"', ",", "", ""]),
        ("jsonl", ["", '{"id": "1", "text": "a"}', " ", '{"id": "2", "text": "b"}', '{"id": "", "text": ""}', ""]),
    ],
)
def test_a_blank_line_of_a_table_is_no_row(form: str, lines: list[str], end: str) -> None:
    """Catches the empty lines at the end of a file as rows of rank 0, and lines that are skipped and not counted."""
    table = read_mentions(io.BytesIO("".join(line + end for line in lines).encode()), form)
    read = [(row.text, [*row.values]) for row in stopping(table)]
    assert read == [("a", ["1", "a"]), ("b", ["2", "b"]), ("", ["", ""])]
    assert table.lines is not None and table.lines.n_blank == {"jsonl": 3}.get(form, 4)


@pytest.mark.parametrize("form", ["tsv", "csv", "text"])
def test_a_blank_line_of_one_column_keeps_its_place(form: str) -> None:
    """Catches output that no longer lines up with the input."""
    header = "" if form == "text" else "\ntext\n"
    assert [text for text, _ in rows(f"{header}a\n\nb\n\n", form)] == ["a", "", "b", ""]


def test_a_missing_mention_is_a_row_without_text() -> None:
    """Catches NULL that is linked as a word, and a longer mention that is taken for it."""
    table = read_mentions(io.BytesIO(b"id,text\n1, NULL \n2,NULLA\n3,null\n4,N/A\n"), "csv")
    asked: list[str] = []

    def search(texts: list[str], contexts: list[str]) -> list[list[Match]]:
        asked.extend(texts)
        return [[Match(text, 1.0, text, text)] for text in texts]

    linked = list(link_rows(stopping(table), search, missing=("NULL", "N/A")))
    assert [(row.text, row.values[1], len(matches)) for row, matches in linked] == [
        ("", " NULL ", 0),
        ("NULLA", "NULLA", 1),
        ("null", "null", 1),
        ("", "N/A", 0),
    ]
    assert asked == ["NULLA", "null"]


def test_a_tab_in_a_name_shifts_no_column(tmp_path: Path) -> None:
    source = save(tmp_path / "in.jsonl", [{"mention": "a\tb\nc", "n": 1}])
    link(source, tmp_path / "out.tsv")
    assert [row["name"] for row in load(tmp_path / "out.tsv")] == ["a b c!"] * 2
    assert load(tmp_path / "out.tsv")[0]["mention"] == "a b c"


def test_rows_stay_in_order_across_blocks_and_rows_without_text_are_not_searched() -> None:
    """Catches matches that slip to the next row behind an empty one, and a last block that is lost."""
    asked: list[list[tuple[str, str]]] = []

    def search(texts: list[str], contexts: list[str]) -> list[list[Match]]:
        asked.append(list(zip(texts, contexts, strict=True)))
        return [[Match(text, 1.0, text, text)] for text in texts]

    table = read_mentions(io.BytesIO(b"text\tn\na\t1\n\t2\nb\t3\nc\t4\nd\t5\n"), "tsv", context="n")
    linked = list(link_rows(stopping(table), search, rows_at_once=3))
    assert asked == [[("a", "1"), ("b", "3")], [("c", "4"), ("d", "5")]]
    assert [(row.text, [match.concept for match in matches]) for row, matches in linked] == [
        ("a", ["a"]),
        ("", []),
        ("b", ["b"]),
        ("c", ["c"]),
        ("d", ["d"]),
    ]


@pytest.mark.parametrize(
    ("form", "header", "line"),
    [("text", b"", b"flumpa\n"), ("tsv", b"text\n", b"flumpa\n"), ("csv", b"text\n", b'"flumpa"\n'),
     ("jsonl", b"", b'{"text": "flumpa"}\n')],
)  # fmt: skip
def test_rows_stream(form: str, header: bytes, line: bytes) -> None:
    """Catches an input that is read whole: the third row is not asked for before the first two are linked."""

    def endless():
        if header:
            yield header
        while True:
            yield line

    table = read_mentions(endless(), form, same_fields=True)
    linked = link_rows(stopping(table), lambda texts, contexts: [[] for _ in texts], rows_at_once=2)
    assert [next(linked)[0].text for _ in range(5)] == ["flumpa"] * 5


def test_parquet_is_read_and_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a file that is read whole, and rows that are kept until the end."""
    from st_biomed.linking.mention_files import arrow_rows, arrow_writing

    monkeypatch.setattr(arrow_rows, "_ROWS", 10)
    monkeypatch.setattr(arrow_writing, "_ROWS_PER_GROUP", 50)
    sizes: list[int] = []
    wrapped = arrow_rows.Batch.__init__
    monkeypatch.setattr(
        arrow_rows.Batch, "__init__", lambda self, rows: (sizes.append(rows.num_rows), wrapped(self, rows))[1]
    )
    table = [{"mention": f"flumpa {i}", "n": i} for i in range(200)]
    link(save(tmp_path / "in.parquet", table), tmp_path / "out.parquet")
    assert sizes == [10] * 20
    written = pq.ParquetFile(tmp_path / "out.parquet")
    assert [written.metadata.row_group(i).num_rows for i in range(written.num_row_groups)] == [50] * 8
    assert written.read()["n"].to_pylist() == [i for i in range(200) for _ in range(2)]


def test_a_gzipped_output_of_equal_content_has_equal_bytes(tmp_path: Path) -> None:
    source = save(tmp_path / "in.csv", ROWS)
    for name in ("a.csv.gz", "b.csv.gz"):
        link(source, tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"id,mention,note,rank")


def test_what_is_written_as_json_is_whole(tmp_path: Path) -> None:
    link(save(tmp_path / "in.jsonl", [{"mention": "flümpa", "n": 3}]), tmp_path / "out.jsonl")
    line = (tmp_path / "out.jsonl").read_text("utf-8")
    assert "flümpa" in line and line.count("\n") == 1
    assert json.loads(line)["concepts"] == [
        {"concept": "Z:flümpa", "score": 1.0, "name": "flümpa!", "label": "flümpa?", "types": []}
    ]
