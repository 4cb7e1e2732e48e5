"""A map, strings and relations of one's own: bad rows by their line, and bad arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES


def table(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, "utf-8")
    return folder / name


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ("A,part_of,X\n", {}, r"r.csv:2: code 'X' has no string in .*s.csv; missing=drop drops such rows"),
        ("A,,B\n", {}, r"r.csv:2: a relation needs head, relation and tail, found \('A', '', 'B'\)"),
        ("A,part_of\n", {}, r"r.csv:2: 2 cells, expected 3"),
    ],
)
def test_bad_relations_are_named_by_line(tmp_path: Path, rows: str, options: dict, message: str) -> None:
    strings = table(tmp_path, "s.csv", "code,string\nA,a\nB,b\n")
    relations = table(tmp_path, "r.csv", "head,relation,tail\n" + rows)
    with pytest.raises(InputError, match=message):
        Terminology.read("parent_child", strings, relations=relations, **options)
    if "X" in rows:
        dropped = Terminology.read("parent_child", strings, relations=relations, missing="drop")
        assert dropped.tallies["parent_child rows"].dropped == {"relations of a code without a string": 1}


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("t.csv", "code,name,parent\nA,alpha,B\n", {}, r"t.csv:2: code 'B' has no string in .*t.csv; missing=drop"),
        ("t.csv", "code,name,parent\nA,alpha,A\n", {}, r"t.csv:2: code 'A' is its own parent"),
        ("t.csv", "code,name\nA,alpha\n", {"parent": "up"}, r"t.csv:1: no column 'up'"),
        ("t.csv", "code,name,up\nA,alpha,\n", {"parent": "up"}, r"t.csv: no row has a parent and a child"),
        ("t.txt", "A||alpha\n", {"parent": "up"}, r"t.txt: has no header, so no column can have the name 'up'"),
        ("t.csv", "A,alpha\n", {"header": False, "code": "id"}, r"t.csv: has no header, so no column can .* 'id'"),
    ],
)
def test_one_table_of_both_is_refused_by_line(
    tmp_path: Path, name: str, text: str, options: dict, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Terminology.read("parent_child", table(tmp_path, name, text), **options)


@pytest.mark.parametrize(
    ("map_rows", "string_rows", "message"),
    [
        ("A,B\n", "A,a\n", r"map.csv:2: code 'B' has no string in .*strings.csv"),
        ("A,A\n", "A,a\n", r"map.csv:2: code 'A' is its own parent"),
        ("A,\n", "A,a\n", r"map.csv:2: parent 'A' has an empty child"),
        ("", "A,a\n", r"map.csv: no row .* the hierarchy is empty"),
        ("A,B\n", "A,a\n,b\n", r"strings.csv:3: string 'b' has no code"),
        ("A,B\n", "A,a\nB, \n", r"strings.csv:3: code 'B' has an empty string"),
        ("A,B\n", "A,a\nB\n", r"strings.csv:3: 1 cells, expected 2"),
        ("A,B\n", 'A,a\nB,"b\n', r"strings.csv:3: .*stray double quote"),
    ],
)
def test_bad_rows_are_named_by_line(tmp_path: Path, map_rows: str, string_rows: str, message: str) -> None:
    path = table(tmp_path, "map.csv", "parent,child\n" + map_rows)
    strings = table(tmp_path, "strings.csv", "code,string\n" + string_rows)
    with pytest.raises(InputError, match=message):
        Terminology.read("parent_child", path, strings=strings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs the path of a code-string table"),
        ({"path": FIXTURES}, "is a folder, expected a file"),
        ({"path": FIXTURES / "glands.txt", "missing": "ignore"}, "unknown missing .*'drop', 'error'"),
        ({"path": FIXTURES / "glands.txt", "dialect": "cvs"}, "unknown dialect 'cvs'.*did you mean 'csv'"),
        ({"path": FIXTURES / "glands.txt", "name": "my source"}, "name of reader 'parent_child' must be letters"),
        ({"path": FIXTURES / "gland_map.csv"}, "no column 'code' or"),
    ],
)
def test_bad_arguments_are_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Terminology.read("parent_child", **options)
