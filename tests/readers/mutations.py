"""Damaged files for the tests of readers: whatever happens to a file on its way to a person, a reader answers in one line.

A test draws damaged copies of its fixture, writes each to one file and reads it::

    @given(damaged=mutated((FIXTURES / "glands.tsv").read_bytes()))
    def test_a_damaged_file_is_one_line(damaged: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
        path = tmp_path_factory.getbasetemp() / "damaged_glands.tsv"
        path.write_bytes(damaged)
        check_survives("glands", path)
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.readers import reader
from st_biomed.records import Record, SourceInfo, Tally, Term
from st_biomed.terminology import Terminology

_INSERTED = (
    b"\x00",
    b"\xe9",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b'"',
    b"\r",
    b"\n\n",
    b"\t",
    b"|",
    b",",
    b" ",
    b"\\",
    b"{",
    b"[",
)
"""What gets into files: NUL, a letter in latin-1, byte order marks, stray quotes, line ends, separators, brackets."""


@st.composite
def mutated(draw: st.DrawFn, data: bytes, separator: bytes = b"\t") -> bytes:
    """``data`` after one to three accidents.

    Args:
        draw: Given by hypothesis.
        data: An intact file.
        separator: What stands between its cells, for the accident that loses a column.
    """
    for _ in range(draw(st.integers(1, 3))):
        data = draw(st.sampled_from(_ACCIDENTS))(draw, data, separator)
    return data


def check_survives(reader_name: str, path: Path | None, **options: Any) -> list[Record]:
    """Read a file to its end; nothing but a one-line ``InputError`` may come out, and every row is accounted for.

    Returns:
        What was read; nothing where the file was refused.
    """
    tally = Tally()
    try:
        records = list(reader(reader_name).records(path, tally=tally, **options))
    except InputError as error:
        assert str(error)
        assert "\n" not in str(error), repr(str(error))
        return []
    assert tally.adds_up(), str(tally)
    return records


def check_contract(reader_name: str, records: list[Record]) -> None:
    """What was read of a damaged file obeys the reader contract still: no table has to drop a record."""
    tally = Terminology.from_records(iter(records), reader(reader_name).SOURCE).tallies["records"]
    assert tally.n_dropped == 0, str(tally)
    preferred = Counter(r.code for r in records if isinstance(r, Term) and r.kind == "preferred")
    assert set(preferred) == {r.code for r in records if isinstance(r, Term)}
    assert set(preferred.values()) <= {1}
    sources = {r.name for r in records if isinstance(r, SourceInfo)} | {reader(reader_name).SOURCE.name}
    assert {code.partition(":")[0] for code in preferred} <= sources


def _flip(draw: st.DrawFn, data: bytes, separator: bytes) -> bytes:
    flipped = bytearray(data)
    for place in draw(st.lists(st.integers(0, max(0, len(data) - 1)), min_size=1, max_size=8)):
        if flipped:
            flipped[place] ^= draw(st.integers(1, 255))
    return bytes(flipped)


def _insert(draw: st.DrawFn, data: bytes, separator: bytes) -> bytes:
    place = draw(st.integers(0, len(data)))
    return data[:place] + draw(st.sampled_from((*_INSERTED, separator))) + data[place:]


def _cut(draw: st.DrawFn, data: bytes, separator: bytes) -> bytes:
    """Bytes from the middle of the file are gone."""
    start = draw(st.integers(0, len(data)))
    return data[:start] + data[start + draw(st.integers(1, 40)) :]


def _truncate(draw: st.DrawFn, data: bytes, separator: bytes) -> bytes:
    return data[: draw(st.integers(0, len(data)))]


def _cut_lines(draw: st.DrawFn, data: bytes, separator: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    start = draw(st.integers(0, len(lines)))
    return b"".join(lines[:start] + lines[start + draw(st.integers(1, 3)) :])


def _duplicate_lines(draw: st.DrawFn, data: bytes, separator: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    start, place = draw(st.integers(0, len(lines))), draw(st.integers(0, len(lines)))
    return b"".join(lines[:place] + lines[start : start + draw(st.integers(1, 3))] + lines[place:])


def _swap_lines(draw: st.DrawFn, data: bytes, separator: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    if lines:
        line, other = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
        lines[line], lines[other] = lines[other], lines[line]
    return b"".join(lines)


def _drop_column(draw: st.DrawFn, data: bytes, separator: bytes) -> bytes:
    """The column is gone from every line, or from one."""
    lines = [line.split(separator) for line in data.split(b"\n")]
    column, only = draw(st.integers(0, max(map(len, lines)) - 1)), draw(st.integers(-1, len(lines) - 1))
    for number, cells in enumerate(lines):
        if only in (-1, number):
            del cells[column : column + 1]
    return b"\n".join(separator.join(cells) for cells in lines)


def _recode(draw: st.DrawFn, data: bytes, separator: bytes) -> bytes:
    """The file in another encoding; what has no letter there becomes a question mark."""
    return data.decode("utf-8", "replace").encode(draw(st.sampled_from(("latin-1", "utf-16", "utf-8-sig"))), "replace")


_ACCIDENTS = (_flip, _insert, _cut, _truncate, _cut_lines, _duplicate_lines, _swap_lines, _drop_column, _recode)
