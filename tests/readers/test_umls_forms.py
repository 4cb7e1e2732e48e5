"""UMLS files whole, zipped and cut into pieces, with columns in another order, and read in blocks of any size."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from st_biomed.readers.umls.rrf import read_columns
from tests.readers.umls_folder import META, cut, read


@pytest.mark.parametrize("form", ["gz", "pieces", "pieces.gz", "crlf", "blank lines", "no MRFILES"])
def test_every_form_of_the_files_gives_the_same(form: str, tmp_path: Path):
    """Catches lines lost where a piece ends, and columns found by their place alone."""
    for path in META.iterdir():
        data, out = path.read_bytes(), tmp_path / path.name
        if form == "gz":
            out.with_name(f"{path.name}.gz").write_bytes(gzip.compress(data))
        elif form.startswith("pieces"):
            for piece, letters in zip(cut(data), ("aa", "ab", "ac")):
                zipped = form.endswith("gz")
                name = f"{path.name}.{letters}{'.gz' if zipped else ''}"
                out.with_name(name).write_bytes(gzip.compress(piece) if zipped else piece)
        elif form == "crlf":
            out.write_bytes(data.replace(b"\n", b"\r\n"))
        elif form == "blank lines":
            out.write_bytes(data.replace(b"\n", b"\n\n"))
        elif path.name != "MRFILES.RRF":
            out.write_bytes(data)
    assert read(tmp_path).digest == read().digest


def test_columns_are_found_by_mrfiles(tmp_path: Path):
    """Catches fixed column numbers: here a release has the language last."""
    shutil.copytree(META, tmp_path / "meta")
    moved = tmp_path / "meta" / "MRCONSO.RRF"
    rows = [line.split("|")[:-1] for line in moved.read_text("utf-8").splitlines()]
    moved.write_text("".join("|".join([*row[:1], *row[2:], row[1]]) + "|\n" for row in rows), "utf-8")
    files = tmp_path / "meta" / "MRFILES.RRF"
    files.write_text(files.read_text().replace("CUI,LAT,", "CUI,").replace("SUPPRESS,CVF|18", "SUPPRESS,CVF,LAT|18"))
    assert read(tmp_path / "meta").digest == read().digest


def test_blocks_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch):
    """Catches what is remembered from one block only: the preferred row, trade names, line numbers."""
    whole = read(trade_names=True, least_relation_rows=2)
    monkeypatch.setattr("st_biomed.files.column_blocks._BLOCK", 300)
    assert read(trade_names=True, least_relation_rows=2).digest == whole.digest


def test_a_carriage_return_inside_a_name_is_text(tmp_path: Path):
    shutil.copytree(META, tmp_path / "meta")
    path = tmp_path / "meta" / "MRCONSO.RRF"
    path.write_bytes(path.read_bytes().replace(b"zorvelin base", b"zorvelin\rbase"))
    assert "zorvelin\rbase" in read(tmp_path / "meta").strings


def test_a_block_says_which_line_it_begins_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("st_biomed.files.column_blocks._BLOCK", 90)
    names = ["CUI1", "VER", "REL", "RELA", "MAPREASON", "CUI2", "MAPIN"]
    blocks = list(read_columns([META / "MRCUI.RRF"], names, ["CUI1"]))
    assert len(blocks) > 1
    assert blocks[1].lines[0] == 1 + len(blocks[0]["CUI1"])
