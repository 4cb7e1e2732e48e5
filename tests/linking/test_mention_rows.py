"""Rows of mentions: which lines are rows, their order, and files that are read and written in parts."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from st_biomed.linking import Match
from st_biomed.linking.mention_files import link_rows, read_mentions, stopping
from tests.linking.linked_files import link, load, save


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
