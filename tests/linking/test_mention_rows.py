"""Rows in and rows out: order, columns and what is wrong with a line."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking import Match
from st_biomed.linking.mention_rows import format_of, header_line, link_rows, read_mentions, written

MATCHES = [
    Match("ZORB:1", 0.98765, "flumpa\tdisease", "flumpa disease", ("disorder",)),
    Match("ZORB:2", 0.5, "x", "y"),
]


def stream(text: str) -> io.BytesIO:
    return io.BytesIO(text.encode())


def rows(text: str, form: str, column: str = "text") -> list[tuple[str, object]]:
    return [tuple(row) for row in read_mentions(stream(text), form, column).rows]


def test_formats_by_suffix_and_by_name() -> None:
    names = ("a.tsv", "a.TSV.gz", "a.jsonl.gz", "a.ndjson", "a.txt", "notes")
    assert [format_of(Path(name), None) for name in names] == ["tsv", "tsv", "jsonl", "jsonl", "text", "text"]
    assert format_of(None, None) == "text"
    assert format_of(Path("a.txt"), "jsonl") == "jsonl"
    with pytest.raises(InputError, match="unknown format 'json': allowed are 'jsonl', 'text', 'tsv'; did you mean"):
        format_of(None, "json")


def test_each_line_of_a_text_is_a_mention() -> None:
    """Catches a line separator inside a mention that is taken for the end of the line."""
    assert rows("flumpa\n\n  gradtha disease \r\nlast", "text") == [
        ("flumpa", "flumpa"),
        ("", ""),
        ("gradtha disease", "gradtha disease"),
        ("last", "last"),
    ]
    assert rows("a\tb\n", "text") == [("a\tb", "a b")]
    assert rows("a\u2028b\n", "text") == [("a\u2028b", "a b")]


def test_a_blank_line_keeps_its_place() -> None:
    """Catches output that no longer lines up with the input."""
    assert rows("\nid\ttext\n1\ta\n\n2\tb\n", "tsv") == [("a", ["1", "a"]), ("", ["", ""]), ("b", ["2", "b"])]
    assert [text for text, _ in rows('{"text": "a"}\n\n{"text": "b"}\n', "jsonl")] == ["a", "b"]


def test_a_column_is_found_by_its_name_and_the_row_is_kept() -> None:
    text = "id\tmention\n1\tflumpa\n2\t\n"
    assert rows(text, "tsv", "mention") == [("flumpa", ["1", "flumpa"]), ("", ["2", ""])]
    table = read_mentions(stream(text), "tsv", "mention")
    assert header_line(table) == "id\tmention\trank\tconcept\tscore\tname\tlabel\n"


def test_files_may_be_packed_and_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "mentions.tsv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbftext\nflumpa\n"))
    assert [row.text for row in read_mentions(path, "tsv", "text").rows] == ["flumpa"]
    assert rows("\ufefftext\nflumpa\n", "tsv") == [("flumpa", ["flumpa"])]


def test_what_is_written_can_be_read() -> None:
    """Catches a tab in a name that shifts the columns, and a mention without a concept that is left out."""
    (row,) = read_mentions(stream("id\ttext\n7\tflumpa\n"), "tsv", "text").rows
    assert written("tsv", row, MATCHES) == (
        "7\tflumpa\t1\tZORB:1\t0.9877\tflumpa disease\tflumpa disease\n7\tflumpa\t2\tZORB:2\t0.5000\tx\ty\n"
    )
    assert written("tsv", row, []) == "7\tflumpa\t0\t\t\t\t\n"
    (row,) = read_mentions(stream("flumpa\n"), "text", "").rows
    assert written("text", row, MATCHES[1:]) == "flumpa\t1\tZORB:2\t0.5000\tx\ty\n"
    (row,) = read_mentions(stream('{"text": "flümpa", "n": 3}\n'), "jsonl", "text").rows
    line = written("jsonl", row, MATCHES[:1])
    assert "flümpa" in line and line.count("\n") == 1
    assert json.loads(line) == {
        "text": "flümpa",
        "n": 3,
        "concepts": [
            {
                "concept": "ZORB:1",
                "score": 0.98765,
                "name": "flumpa\tdisease",
                "label": "flumpa disease",
                "types": ["disorder"],
            }
        ],
    }
    assert json.loads(written("jsonl", row, []))["concepts"] == []


def test_rows_stay_in_order_across_blocks_and_rows_without_text_are_not_searched() -> None:
    """Catches matches that slip to the next row behind an empty one, and a last block that is lost."""
    asked: list[list[str]] = []

    def search(texts: list[str]) -> list[list[Match]]:
        asked.append(texts)
        return [[Match(text, 1.0, text, text)] for text in texts]

    table = read_mentions(stream("text\tn\na\t1\n\t2\nb\t3\nc\t4\nd\t5\n"), "tsv", "text")
    linked = list(link_rows(table.rows, search, rows_at_once=3))
    assert asked == [["a", "b"], ["c", "d"]]
    assert [(row.text, [match.concept for match in matches]) for row, matches in linked] == [
        ("a", ["a"]),
        ("", []),
        ("b", ["b"]),
        ("c", ["c"]),
        ("d", ["d"]),
    ]


def test_rows_stream() -> None:
    """Catches an input that is read whole: the third row is not asked for before the first two are linked."""

    def endless():
        while True:
            yield b"flumpa\n"

    linked = link_rows(read_mentions(endless(), "text", "").rows, lambda texts: [[] for _ in texts], rows_at_once=2)
    assert [next(linked)[0].text for _ in range(5)] == ["flumpa"] * 5


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        ("tsv", "id\tname\n", "standard input:1: no column 'text'; split at tabs the columns are ['id', 'name']"),
        ("tsv", "", "standard input: is empty, a header with the column 'text' is needed"),
        ("tsv", "text\tscore\n", "column 'score' exists already, and linking adds one; rename it"),
        ("tsv", "text\tid\na\t1\nb\n", "standard input:3: 1 cells, expected 2, split at tabs"),
        ("jsonl", '{"text": "a"}\n{"text"\n', "standard input:2: is not JSON"),
        ("jsonl", "[1]\n", "standard input:1: expected a JSON object, found list"),
        ("jsonl", '{"name": "a"}\n', "standard input:1: no field 'text'; the object has ['name']"),
        ("jsonl", '{"text": 3}\n', "field 'text' must be a string, found 3"),
        ("jsonl", '{"text": "a", "concepts": []}\n', "field 'concepts' exists already"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(form: str, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        rows(text, form)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_field_that_is_null_is_without_text() -> None:
    assert rows('{"text": null}\n', "jsonl")[0][0] == ""


def test_bytes_that_are_not_utf8_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mentions.txt"
    path.write_bytes(b"flumpa\n\xff\n")
    with pytest.raises(InputError, match=r"mentions.txt:2: is not UTF-8"):
        list(read_mentions(path, "text", "").rows)
    with pytest.raises(InputError, match="standard input:3: is not UTF-8"):
        list(read_mentions(io.BytesIO(b"flumpa\nzorb\nvo\xffgl\n" + b"flumpa\n" * 9999), "text", "").rows)
