"""The delimited reader that every table goes through."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.files.delimited import dialect_name, read_header, read_lines, read_table


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def cells(*arguments: object, **options: object) -> list[tuple[str, ...]]:
    return [tuple(row) for _, row in read_table(*arguments, **options)]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", 'code,name\nA,"x, ""y""\nz"\n', ("A", 'x, "y"\nz')),
        ("a.tsv", 'code\tname\nA\t"x, ""y"\n', ("A", '"x, ""y"')),
        ("a.tsv.gz", "code\tname\nA\tx\n", ("A", "x")),
    ],
)
def test_each_dialect_splits_as_it_states(tmp_path: Path, name: str, text: str, expected: tuple[str, ...]) -> None:
    """Catches quotes honored in a TSV, or ignored in a CSV."""
    assert cells(write(tmp_path, name, text)) == [expected]


def test_rrf_keeps_quotes_and_needs_its_last_pipe(tmp_path: Path) -> None:
    """Catches default quoting on a pipe file, which swallows rows from one stray quote to the next."""
    path = write(tmp_path, "NAMES.RRF", 'C1|ENG|5" tube|\nC2|ENG||\nC3|ENG|"|\n')
    header = ("CUI", "LAT", "STR")
    assert cells(path, ["STR", "CUI"], header=header) == [('5" tube', "C1"), ("", "C2"), ('"', "C3")]
    for n_cells, row in ((3, "C2|ENG|b"), (4, "C2|ENG|b|c")):
        with pytest.raises(InputError, match=rf"OPEN.RRF:2: {n_cells} cells and no pipe at the end, expected 3"):
            cells(write(tmp_path, "OPEN.RRF", f"C1|ENG|a|\n{row}\n"), header=header)
    with pytest.raises(InputError, match=r"LONG.RRF:1: 4 cells, expected 3, split at pipes"):
        cells(write(tmp_path, "LONG.RRF", "C1|ENG|a|b|\n"), header=header)


def test_double_pipe_is_one_separator(tmp_path: Path) -> None:
    path = write(tmp_path, "names.txt", "C1|C2||a | b\n")
    assert cells(path, header=("code", "name")) == [("C1|C2", "a | b")]


def test_cells_are_the_strings_of_the_file(tmp_path: Path) -> None:
    """Catches "NA" read as nothing, "008.50" as 8.5, and stripped blanks."""
    path = write(tmp_path, "a.csv", "code,name\n008.50,NA\n1e5, x \n,null\n")
    assert cells(path) == [("008.50", "NA"), ("1e5", " x "), ("", "null")]


def test_columns_come_by_name_in_the_order_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "a,b,ICD String\n1,2,3\n")
    assert cells(path, ["b", "a"]) == [("2", "1")]
    assert cells(path, ["b"]) == [("2",)]
    assert cells(path, [("nope", "icd_string"), ("a",)]) == [("3", "1")]
    assert read_header(path) == ["a", "b", "ICD String"]


def test_line_numbers_count_from_one_and_blank_lines_are_no_rows(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'a,b\n1,2\n\n3,"4\n5"\n6,7\n')
    assert [line for line, _ in read_table(path)] == [2, 5, 6]
    assert [line for line, _ in read_table(write(tmp_path, "a.tsv", "a\tb\r\n\r\n1\t2\r\n"))] == [3]


@pytest.mark.parametrize("dialect", ["tsv", "tsv_quoted"])
def test_comments_stand_above_the_table_and_count_as_lines(tmp_path: Path, dialect: str) -> None:
    """Catches an error that names the line of the table, and a cell below that is taken for a comment."""
    path = tmp_path / "x.tsv"
    path.write_text("# a: b\n# c\ncode\tname\n1\tflumpa\n#2\tterkia\n3\n")
    assert read_header(path, dialect=dialect, comment="#") == ["code", "name"]
    rows = read_table(path, dialect=dialect, comment="#")
    assert [(line, *cells) for line, cells in (next(rows), next(rows))] == [(4, "1", "flumpa"), (5, "#2", "terkia")]
    with pytest.raises(InputError, match=r"x.tsv:6: 1 cells, expected 2"):
        next(rows)
    with pytest.raises(InputError, match=r"x.tsv:3: no column 'code2'"):
        next(read_table(path, ["code2"], dialect=dialect, comment="#"))
    path.write_text("# a: b\n")
    with pytest.raises(InputError, match="is empty, expected a header line"):
        read_header(path, dialect=dialect, comment="#")


def test_only_line_feeds_end_a_line(tmp_path: Path) -> None:
    """Catches a name cut at an exotic line separator, or a carriage return left at the end of a cell."""
    path = write(tmp_path, "a.tsv", "a\tb\r\n1\tx\u2028y\x0bz\rw\r\n")
    assert cells(path) == [("1", "x\u2028y\x0bz\rw")]


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path: Path) -> None:
    assert cells(write(tmp_path, "a.csv", b"\xef\xbb\xbfcode,name\nA,x\n"), ["code"]) == [("A",)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "code;name\nA;x\n", r"a.csv:1: no column 'code'; split at commas the columns are \['code;name'\] \(wrong delimiter\? this line has semicolons\)"),
        ("a.tsv", "code,name\nA,x\n", r"a.tsv:1: no column 'code'; split at tabs .*this line has commas"),
        ("a.csv", "id,name\nA,x\n", r"a.csv:1: no column 'code'; split at commas the columns are \['id', 'name'\]$"),
        ("a.csv", "code,code\nA,x\n", r"a.csv:1: 2 columns have the name 'code'"),
        ("a.csv", "code,name\nA,x\nB\n", r"a.csv:3: 1 cells, expected 2, split at commas$"),
        ("a.csv", "code,name\nA,x\nB;y\n", r"a.csv:3: 1 cells, expected 2, .*wrong delimiter\? this line has semicolons"),
        ("a.csv", 'code,name\nA,x\nB,"y\nC,z\n', r"a.csv:3: .*stray double quote"),
        ("a.csv", 'code,name\nA,"x"y\n', r"a.csv:2: .*stray double quote"),
        ("a.csv", "", r"a.csv: is empty, expected a header line"),
        ("a.csv", b"code,name\nA,x\nB,\xe9\n", r"a.csv:3: is not UTF-8"),
        ("a.tsv.gz", b"code\tname\nA\tx\nB\t\xe9\n", r"a.tsv.gz:3: is not UTF-8"),
        ("a.xlsx", "PK", r"a.xlsx: suffix '.xlsx' is none of a table; known are .csv, "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_file_and_line(tmp_path: Path, name: str, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        cells(write(tmp_path, name, text), ["code"])
    assert "\n" not in str(error.value)


def test_an_encoding_error_deep_in_a_file_names_its_own_line(tmp_path: Path) -> None:
    """Catches a line number taken from the decoder, which works a block ahead."""
    path = write(tmp_path, "a.tsv", b"code\tname\n" + b"A\tx\n" * 30_000 + b"B\t\xff\n" + b"A\tx\n" * 9)
    with pytest.raises(InputError, match=r"a.tsv:30002: is not UTF-8"):
        cells(path)


def test_missing_file_folder_and_broken_gzip_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nope.csv: no such file"):
        cells(tmp_path / "nope.csv")
    with pytest.raises(InputError, match=r"is a folder, expected a file"):
        cells(tmp_path, dialect="csv")
    whole = gzip.compress(b"code,name\n" + b"A,x\n" * 5000)
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "fake.csv.gz").write_bytes(b"code,name\n")
    for name in ("cut.csv.gz", "fake.csv.gz"):
        with pytest.raises(InputError, match=rf"{name}: is not a complete gzip file"):
            cells(tmp_path / name)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz"])
def test_a_truncated_last_line_is_an_error_where_every_line_ends(name: str, tmp_path: Path) -> None:
    """Catches the first half of a cell taken for the cell, and a refusal where a source may write no line break at the end."""
    text = "# 2031\r\ncode,name\r\nA,xy".replace(",", "\t" if ".tsv" in name else ",")
    whole, cut = {"comment": "#", "ended": True}, write(tmp_path, name, text)
    assert cells(cut, comment="#") == [("A", "xy")]
    with pytest.raises(
        InputError, match=rf"{name}:3: the file is truncated: its last line has no .* ends with 'A.+xy'"
    ):
        cells(cut, **whole)
    assert cells(write(tmp_path, name, f"{text}\r\n"), **whole) == [("A", "xy")]


def test_the_suffix_names_the_dialect() -> None:
    assert [dialect_name(n) for n in ("a.csv", "a.TSV", "M.RRF", "a.txt", "a.csv.gz")] == [
        "csv",
        "tsv",
        "rrf",
        "double_pipe",
        "csv",
    ]
    with pytest.raises(InputError, match=r"unknown dialect 'cvs'.*did you mean 'csv'"):
        cells(__file__, dialect="cvs")


def test_plain_lines_are_numbered_and_unpacked(tmp_path: Path) -> None:
    assert list(read_lines(write(tmp_path, "a.txt.gz", "x \r\n\ny"))) == [(1, "x "), (2, ""), (3, "y")]


def test_a_cell_may_be_as_long_as_a_document(tmp_path: Path) -> None:
    """Catches the limit of the csv module, 131,072 characters."""
    long = "x" * 200_000
    assert cells(write(tmp_path, "long.csv", f"code,name\nA,{long}\n")) == [("A", long)]
    path = write(tmp_path, "stray.csv", 'code,name\nA,"' + "x\n" * 600_000)
    with pytest.raises(InputError, match=r"stray.csv:2: a cell has more than 1,048,576 characters \(a stray double"):
        cells(path)
