"""Files of mentions in other encodings than UTF-8: rows that are not in them, and files that are UTF-8 in truth."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.linking.mention_files import BadRow, read_mentions
from tests.linking.linked_files import link, load

BAD = {
    "cp1252": b"gout\x81x",
    "ascii": b"gout\xe9",
    "cp1253": b"gout\xd2",
    "gbk": b"gout\x81",
    "shift_jis": b"gout\xfd",
}
"""Bytes that an encoding does not have."""


@pytest.mark.parametrize("encoding", BAD)
@pytest.mark.parametrize(
    ("form", "before", "row"),
    [("txt", b"", b"%s\n"), ("tsv", b"id\ttext\n", b"1\t%s\n"), ("csv", b"id,text\r\n", b'1,"%s"\r\n'),
     ("jsonl", b"", b'{"text": "%s"}\n')],
)  # fmt: skip
def test_a_row_that_is_not_in_the_encoding_is_rejected_alone(
    form: str, before: bytes, row: bytes, encoding: str, tmp_path: Path
) -> None:
    """Catches a job that ends at one byte, and rejects with other bytes than those of the file."""
    rows = [row % b"flumpa", row % BAD[encoding], row % b"gradtha"]
    (tmp_path / f"in.{form}").write_bytes(before + b"".join(rows))
    (rejected,) = link(tmp_path / f"in.{form}", tmp_path / "out.csv", "text", reject=True, encoding=encoding)
    assert rejected["reason"] == f"is not {encoding}; name another --encoding"
    assert int(rejected["line"]) == 2 + bool(before)
    assert base64.b64decode(rejected["row_base64"]) == rows[1] and "row" not in rejected
    assert [found["text"] for found in load(tmp_path / "out.csv")] == ["flumpa", "gradtha"]
    with pytest.raises(InputError, match=rf"in.{form}:{rejected['line']}: is not {encoding}; name another --encoding"):
        link(tmp_path / f"in.{form}", tmp_path / "other.csv", "text", encoding=encoding)


def test_a_rejected_row_of_several_lines_has_its_bytes(tmp_path: Path) -> None:
    """Catches lines of a cell of which one is decoded and one is not; C3 81 is a letter in UTF-8, and no cp1252."""
    bad = b'2,"\xe9t\xe9\n\xc3\x81"\n'
    (tmp_path / "in.csv").write_bytes(b"id,text\n1,\xe9t\xe9\n" + bad + b"3,\x80\n")
    (rejected,) = link(tmp_path / "in.csv", tmp_path / "out.csv", "text", reject=True, encoding="cp1252")
    assert base64.b64decode(rejected["row_base64"]) == bad
    assert [row["text"] for row in load(tmp_path / "out.csv")] == ["été", "€"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "iso2022_jp", "utf-7"])
def test_an_encoding_in_which_rows_cannot_be_told_apart_ends_the_job(encoding: str, tmp_path: Path) -> None:
    """Catches a line of UTF-16 that is split at a byte of 10, and a line that is read without those before it."""
    content = "flumpa\ngradtha\n".encode(encoding) + b"\xff\xd8\xff\xd8\n"
    (tmp_path / "in.txt").write_bytes(content)
    with pytest.raises(InputError, match=rf"in.txt:[23]: is not {encoding}; name another --encoding"):
        link(tmp_path / "in.txt", tmp_path / "out.tsv", "text", reject=True, encoding=encoding)


def test_an_undecodable_header_is_told(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b"text,\x81\nflumpa,1\n")
    with pytest.raises(InputError, match="in.csv:1: is not cp1252; name another --encoding"):
        link(tmp_path / "in.csv", tmp_path / "out.csv", "text", reject=True, encoding="cp1252")


@pytest.mark.parametrize(
    ("content", "encoding", "misread"),
    [
        ("text\nMénière\nÁ\n".encode(), "cp1252", "--encoding cp1252 reads 'Ã©' where UTF-8 has 'é'"),
        ("text\nflumpa\nÁ\n".encode(), "latin-1", "--encoding latin-1 reads 'Ã\\x81' where UTF-8 has 'Á'"),
        ("text\nÁ\n".encode(), "cp1252", "--encoding cp1252 reads 'Ã\ufffd' where UTF-8 has 'Á'"),
        ("text\nMénière\n".encode("cp1252"), "cp1252", ""),
        ("text\nMénière\n".encode() + b"\xe9\n", "cp1252", ""),
        (b"\xe9\n" + "text\nMénière\n".encode(), "cp1252", ""),
        (b"text\nflumpa\n", "cp1252", ""),
        ("text\nMénière\n".encode(), "utf-8", ""),
        ("text\nMénière\n".encode(), "", ""),
        ("text\nMénière\n".encode("utf-16"), "", ""),
    ],
)
def test_a_file_of_utf8_in_another_encoding_is_noticed(content: bytes, encoding: str, misread: str) -> None:
    """Catches mentions that become 'MÃ©niÃ¨re' without a word, and a warning for a file that is in its encoding."""
    table = read_mentions(io.BytesIO(content), "text", encoding=encoding)
    assert sum(not isinstance(row, BadRow) for row in table.rows) and table.lines is not None
    assert table.lines.misread == misread


def test_the_mark_of_utf8_refuses_another_encoding(tmp_path: Path) -> None:
    """Catches a first column whose name begins with three strange letters."""
    (tmp_path / "in.csv").write_bytes(b"\xef\xbb\xbftext\nflumpa\n")
    with pytest.raises(
        InputError, match="in.csv: begins with the byte order mark of UTF-8 and is therefore not cp1252"
    ):
        link(tmp_path / "in.csv", tmp_path / "out.csv", "text", encoding="cp1252")
    link(tmp_path / "in.csv", tmp_path / "out.csv", "text", encoding="utf-8")


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("encoding", ["", "utf-16-le"])
def test_a_byte_order_mark_is_no_part_of_the_only_line(encoding: str, end: str) -> None:
    """Catches a mention that begins with an invisible character, where a file has one line without an end."""
    content = b"\xff\xfe" + f"flumpa{end}".encode("utf-16-le")
    assert [row.text for row in read_mentions(io.BytesIO(content), "text", encoding=encoding).rows] == ["flumpa"]
