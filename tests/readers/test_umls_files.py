"""UMLS: files that are not whole, that are not there, and vocabularies that nothing describes."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import Any

import pytest

from st_biomed.errors import InputError
from st_biomed.readers import reader
from st_biomed.readers.umls.rrf import find_parts
from st_biomed.records import SourceInfo, Tally
from st_biomed.terminology import Terminology
from tests.readers.umls_folder import META, change, cut, read


@pytest.fixture
def meta(tmp_path: Path) -> Path:
    """A copy of the folder that a test may spoil."""
    return Path(shutil.copytree(META, tmp_path / "meta"))


def in_pieces(path: Path, letters: tuple[str, ...]) -> None:
    """Cut a file into three zipped pieces of these letters."""
    for piece, letter in zip(cut(path.read_bytes()), letters):
        path.with_name(f"{path.name}.{letter}.gz").write_bytes(gzip.compress(piece))
    path.unlink()


@pytest.mark.parametrize(
    ("letters", "message"),
    [
        (("aa", "ac", "ad"), r"MRCONSO.RRF is missing: found MRCONSO.RRF.ac.gz, but no MRCONSO.RRF.ab.gz"),
        (("ab", "ac", "ad"), r"MRCONSO.RRF is missing: found MRCONSO.RRF.ab.gz, but no MRCONSO.RRF.aa.gz"),
    ],
)
def test_a_missing_piece_is_noticed(letters: tuple[str, ...], message: str, meta: Path) -> None:
    """Catches a terminology without a third of its names where a download failed."""
    in_pieces(meta / "MRCONSO.RRF", letters)
    (meta / "MRFILES.RRF").unlink()
    with pytest.raises(InputError, match=message):
        read(meta)


def test_pieces_go_on_after_az(tmp_path: Path) -> None:
    """Catches an alphabet that ends with its 26th piece."""
    letters = [a + b for a in "ab" for b in "abcdefghijklmnopqrstuvwxyz"][:30]
    for letter in letters:
        (tmp_path / f"MRREL.RRF.{letter}").touch()
    assert [part.suffix for part in find_parts(tmp_path, "MRREL.RRF")] == [f".{letter}" for letter in letters]
    (tmp_path / "MRREL.RRF.bc").unlink()
    with pytest.raises(InputError, match=r"found MRREL.RRF.bd, but no MRREL.RRF.bc"):
        find_parts(tmp_path, "MRREL.RRF")


@pytest.mark.parametrize(("file", "found", "listed"), [("MRCONSO", 22, 23), ("MRREL", 16, 17), ("MRSAB", 7, 8)])
def test_a_file_without_its_end_is_noticed_by_mrfiles(file: str, found: int, listed: int, meta: Path) -> None:
    """Catches a file that was cut at the end of a line, or whose last piece is missing."""
    path = meta / f"{file}.RRF"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(
        InputError, match=rf"{file}.RRF: {found} rows were read, but MRFILES.RRF lists {listed}: .*without MR"
    ):
        read(meta)
    (meta / "MRFILES.RRF").unlink()
    assert read(meta).n_concepts > 0


def test_mrfiles_without_a_number_of_rows_compares_nothing_and_another_word_is_refused(meta: Path) -> None:
    change(meta / "MRFILES.RRF", 1, "|18|23|", "|18||")
    change(meta / "MRCONSO.RRF", 23, "C9900011", "C9900010")
    (meta / "MRCONSO.RRF").write_bytes((meta / "MRCONSO.RRF").read_bytes().split(b"C9900010|ENG")[0])
    assert read(meta).n_concepts == 9
    change(meta / "MRFILES.RRF", 2, "|16|17|", "|16|many|")
    with pytest.raises(InputError, match=r"MRFILES.RRF:2: RWS must be a number of rows, found 'many'"):
        read(meta)


@pytest.mark.parametrize("block", [100, 1 << 20])
def test_blank_lines_are_counted_and_keep_the_line_numbers_right(
    block: int, meta: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches lines that are counted nowhere, and an error that names a line too far up."""
    monkeypatch.setattr("st_biomed.files.column_blocks._BLOCK", block)
    whole = read(meta)
    path = meta / "MRCONSO.RRF"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"\n\n" + b"".join(lines[:3]) + b"\r\n" + b"".join(lines[3:]) + b"\n" * 150)
    spaced = read(meta)
    assert spaced.digest == whole.digest
    tally = spaced.tallies["umls rows"]
    assert tally.adds_up()
    assert tally.dropped["MRCONSO: blank lines"] == 153
    assert tally.n_read == whole.tallies["umls rows"].n_read + 153
    change(path, 8, "C9900001", "D9900001")
    with pytest.raises(InputError, match=r"MRCONSO.RRF:8: 'D9900001' is not a concept identifier"):
        read(meta)


def test_a_carriage_return_between_two_rows_of_one_line_is_no_line_end(meta: Path) -> None:
    """Catches two rows read from one line where a blank line makes the number of lines right again."""
    path = meta / "MRSTY.RRF"
    path.write_bytes(path.read_bytes().replace(b"||\n", b"||\r", 1) + b"\n")
    with pytest.raises(InputError, match=r"MRSTY.RRF:1: 12 cells, expected 6"):
        read(meta)


@pytest.mark.parametrize(("file", "line"), [("MRCONSO", 8), ("MRSTY", 3)])
def test_a_name_or_type_without_a_concept_is_refused(file: str, line: int, meta: Path) -> None:
    """Catches the concept "UMLS:", which would unite all such names, and a type of the concept C9999999."""
    change(meta / f"{file}.RRF", line, "C9900002|", "|")
    with pytest.raises(InputError, match=rf"{file}.RRF:{line}: '' is not a concept identifier"):
        read(meta)


def test_relations_without_a_concept_have_a_reason_of_their_own(meta: Path) -> None:
    change(meta / "MRREL.RRF", 4, "C9900008|", "|")
    change(meta / "MRREL.RRF", 5, "|C9900008|", "||")
    tally = read(meta).tallies["umls rows"]
    assert tally.dropped["MRREL: without a concept"] == 2
    assert tally.adds_up()


def test_without_mrsab_every_vocabulary_is_declared_and_none_may_be_redistributed(meta: Path) -> None:
    """Catches names of a licensed vocabulary that nothing keeps out of a release."""
    (meta / "MRSAB.RRF").unlink()
    sources = read(meta, relations="all").sources
    assert sorted(sources) == ["SRCA", "SRCB", "SRCC", "SRCI", "UMLS"]
    assert {s.license for name, s in sources.items() if name != "UMLS"} == {"not stated (no MRSAB.RRF)"}
    assert sources["SRCA"].title == "SRCA"
    assert not any(source.redistributable for source in sources.values())


def test_a_vocabulary_that_mrsab_lacks_is_declared_once_before_its_rows(meta: Path) -> None:
    """Catches a vocabulary of MRCONSO, or of MRREL alone, without a description."""
    (meta / "MRFILES.RRF").unlink()
    lines = (meta / "MRSAB.RRF").read_bytes().splitlines(keepends=True)
    (meta / "MRSAB.RRF").write_bytes(b"".join(line for line in lines if b"|SRCB|" not in line))
    change(meta / "MRREL.RRF", 4, "|SRCA|SRCA|", "|SRCZ|SRCZ|")
    described: list[str] = []
    for record in reader("umls").records(meta, tally=Tally()):
        if isinstance(record, SourceInfo):
            described.append(record.name)
        elif "source" in record.columns:
            assert set(record.columns["source"].to_pylist()) <= set(described)
    assert sorted(described) == ["SRCA", "SRCB", "SRCC", "SRCI", "SRCZ", "UMLS"]
    sources = read(meta).sources
    assert sources["SRCZ"].license == sources["SRCB"].license == "not stated (not in MRSAB.RRF)"
    assert (sources["SRCA"].redistributable, sources["SRCB"].redistributable) == (True, False)


@pytest.mark.parametrize(
    ("missing", "options", "message"),
    [
        ("MRREL", {"trade_names": True}, "no MRREL.RRF in it, which trade_names .*trade_names=false reads without"),
        ("MRREL", {"preset": "sapbert"}, "no MRREL.RRF in it, which trade_names .or preset 'sapbert'. needs"),
        ("MRREL", {"relation_sources": "SRCA"}, "no MRREL.RRF in it, which relation_sources needs"),
        ("MRREL", {"parent_sources": "SRCA"}, "no MRREL.RRF in it, which parent_sources needs"),
        ("MRREL", {"relations": "all"}, "no MRREL.RRF in it, which relations=all needs"),
        ("MRSTY", {"semantic_types": "T047"}, "no MRSTY.RRF in it, which semantic_types and"),
        ("MRSTY", {"semantic_groups": "DISO"}, "no MRSTY.RRF in it, which semantic_types and semantic_groups"),
    ],
)
def test_what_cannot_be_answered_is_refused(missing: str, options: dict[str, Any], message: str, meta: Path) -> None:
    """Catches a SapBERT terminology without its trade names that nobody told of."""
    (meta / f"{missing}.RRF").unlink()
    with pytest.raises(InputError, match=message):
        read(meta, **options)


def test_names_alone_are_enough_where_nothing_else_is_asked_for(meta: Path) -> None:
    for path in meta.iterdir():
        if path.name != "MRCONSO.RRF":
            path.unlink()
    terminology = read(meta)
    assert isinstance(terminology, Terminology)
    assert (terminology.n_concepts, terminology.parents.num_rows) == (10, 0)
