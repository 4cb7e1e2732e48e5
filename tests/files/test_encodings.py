"""Tables in other encodings than UTF-8: recognized where that is certain, otherwise asked for, and said in the tally."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from typer.testing import CliRunner

from st_biomed.cli import app
from st_biomed.errors import InputError
from st_biomed.files.encodings import resolve_encoding
from st_biomed.records import Tally
from st_biomed.terminology import Terminology

OWN = {
    "parent_child": ("t.csv", "code,name\nF,flumpa de Mimpière\nG,gradtha\n"),
    "name_pairs": ("t.txt", "F||flumpa de Mimpière\nG||gradtha\n"),
    "cpt": ("t.csv", "code,parent,description\n90001,,flumpa de Mimpière\n90002,90001,gradtha\n"),
    "atc": ("t.csv", "code,name\nX,flumpa de Mimpière\nX90,gradtha\n"),
}
"""The readers of tables of a person's own, and such a table."""


def write(folder: Path, name: str, encoding: str, *, packed: bool = False) -> tuple[str, Path]:
    """Reader and file."""
    file, text = OWN[name]
    path = folder / (f"{file}.gz" if packed else file)
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if packed else data)
    return name, path


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", OWN)
def test_utf_16_is_recognized_by_its_byte_order_mark_and_said(tmp_path: Path, name: str, packed: bool) -> None:
    """Catches what a spreadsheet calls "Unicode text" refused, or read without a word."""
    terminology = Terminology.read(*write(tmp_path, name, "utf-16", packed=packed))
    assert "flumpa de Mimpière" in terminology.strings
    notes = terminology.tallies[f"{name} rows"].notes
    assert notes == [f"{OWN[name][0]} was read as utf-16, which its byte order mark says"]


@pytest.mark.parametrize("name", OWN)
def test_a_code_page_is_asked_for_by_name(tmp_path: Path, name: str) -> None:
    source, path = write(tmp_path, name, "cp1252")
    with pytest.raises(InputError, match=r"t\.\w+:\d: is not UTF-8; set another encoding, e.g. encoding=cp1252"):
        Terminology.read(source, path)
    terminology = Terminology.read(source, path, encoding="cp1252")
    assert "flumpa de Mimpière" in terminology.strings
    assert terminology.tallies[f"{name} rows"].notes == [f"{path.name} was read as cp1252"]
    with pytest.raises(
        InputError, match=r"encoding: 'cp12520' is unknown to Python; allowed are e.g. 'utf-8' or 'cp1252'"
    ):
        Terminology.read(source, path, encoding="cp12520")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("name", OWN)
def test_utf_8_is_nothing_to_speak_of(tmp_path: Path, name: str, encoding: str) -> None:
    """Catches a note on every file, and a byte order mark in the first code."""
    terminology = Terminology.read(*write(tmp_path, name, encoding))
    assert "flumpa de Mimpière" in terminology.strings
    assert terminology.tallies[f"{name} rows"].notes == []
    assert Terminology.read(*write(tmp_path, name, encoding), encoding=encoding).digest == terminology.digest


def test_notes_are_saved_and_printed(tmp_path: Path) -> None:
    """Catches an encoding that is guessed without a word to the person who reads the file."""
    source, path = write(tmp_path, "parent_child", "cp1252")
    options = ["--output", str(tmp_path / "out"), "--option", "encoding=cp1252"]
    printed = CliRunner().invoke(app, ["read", source, str(path), *options])
    assert printed.exit_code == 0, printed.output
    assert "t.csv was read as cp1252" in printed.output
    assert Terminology.load(tmp_path / "out").tallies["parent_child rows"].notes == ["t.csv was read as cp1252"]


@pytest.mark.parametrize("encoding", ["rot13", "base64", "undefined", "nonsense", "utf\x008"])
def test_no_encoding_of_text_is_one_line(tmp_path: Path, encoding: str) -> None:
    source, path = write(tmp_path, "parent_child", "utf-8")
    with pytest.raises(InputError) as error:
        Terminology.read(source, path, encoding=encoding)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("data", "fallback", "found"),
    [
        (b"", "cp1252", "utf-8"),
        ("è".encode(), "cp1252", "utf-8"),
        (b"\xe8", "cp1252", "cp1252"),
        (b"a\nb\x92", "cp1252", "cp1252"),
        (b"x" * 70_000 + b"\n\xe8", "cp1252", "cp1252"),
        (b"\xff\xfea\x00", "", "utf-16"),
    ],
)
def test_what_is_recognized(tmp_path: Path, data: bytes, fallback: str, found: str) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    assert resolve_encoding(tmp_path / "a.txt", "", Tally(), fallback=fallback) == found


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"\xe8\n\xc3\xa8\n", 1),
        (b"\xc3\xa8\n\xe8\n", 2),
        (b"\xef\xbb\xbf\n\n\xe8", 3),
        ("è".encode() * 40_000 + b"\n\xe8", 2),
    ],
)
def test_letters_in_utf_8_beside_bytes_that_are_not_make_a_damaged_file(
    tmp_path: Path, data: bytes, line: int
) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(InputError, match=rf"a.txt:{line}: is not UTF-8; convert the file"):
        resolve_encoding(tmp_path / "a.txt", "", Tally(), fallback="cp1252")


def test_a_file_with_the_mark_of_utf_8_is_nothing_else(tmp_path: Path) -> None:
    """Catches "MimpiÃ¨re" read without a word, since an option says what the file is not."""
    (tmp_path / "a.txt").write_bytes("Mimpière".encode("utf-8-sig"))
    with pytest.raises(
        InputError, match=r"a.txt: begins with the byte order mark of UTF-8 and is therefore not latin-1"
    ):
        resolve_encoding(tmp_path / "a.txt", "latin-1", Tally())
