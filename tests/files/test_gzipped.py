"""Files that may be gzipped: which one is taken, and what is no gzip file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.files.gzipped import matching, open_decompressed, plain_or_gzipped, plain_stem


def test_the_plain_file_is_taken_where_there_are_both(tmp_path: Path) -> None:
    """Catches a file that is read twice, or not the one that a person sees."""
    for name in ("a.txt", "a.txt.gz", "b.txt.gz", "c.csv"):
        (tmp_path / name).touch()
    assert plain_or_gzipped(tmp_path / "a.txt") == tmp_path / "a.txt"
    assert plain_or_gzipped(tmp_path / "b.txt") == tmp_path / "b.txt.gz"
    assert plain_or_gzipped(tmp_path / "d.txt") is None
    assert [file.name for file in matching(tmp_path, "*.txt")] == ["a.txt", "b.txt.gz"]
    assert [file.name for file in matching(tmp_path, "*.*")] == ["a.txt", "b.txt.gz", "c.csv"]
    assert plain_stem(tmp_path / "b.c.txt.gz") == "b.c"


@pytest.mark.parametrize("name", ["a.txt.gz", "A.TXT.GZ", "a.txt"])
def test_a_gzip_file_is_decompressed_whatever_its_name(tmp_path: Path, name: str) -> None:
    """Catches a download that lost or changed its suffix, of which a reader says that it is not UTF-8."""
    (tmp_path / name).write_bytes(gzip.compress(b"flumpa"))
    with open_decompressed(tmp_path / name) as (stream, _):
        assert stream.read() == b"flumpa"
    assert plain_stem(tmp_path / name).lower() == "a"


def test_what_is_no_whole_gzip_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"flumpa" * 999)[:-9])
    with (
        pytest.raises(InputError, match=r"a.gz: is not a complete gzip file"),
        open_decompressed(tmp_path / "a.gz") as (stream, _),
    ):
        stream.read()
