"""ICD-9-CM: malformed and damaged files in each of the four forms, and options that make no sense."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES
from tests.readers.icd9cm_files import CODES, NODES, TABLE, TABULAR, TREE
from tests.readers.mutations import check_survives, mutated

HEADER = "code,billable,short_desc,long_desc,three_digit,major,sub_chapter,chapter\n"
CHAPTER = "1\t0\t1\tdiagnosi\tCH1\tMALATTIE (900-929)\t\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"x.txt:1: is not the first line of a code file or tabular list, .*, found ''; set form"),
        ("A000 Mimpic\n", r"x.txt:1: is not the first line of a code file"),
        ("9000 Mimpic\nmimpic\n", r"x.txt:2: expected a code and a name, found 'mimpic'"),
        ("00001 U10     0 Mimpic flumpa\n", r"x.txt:1: expected a code and a name, found '00001 U10"),
        ("9000 Mimpic\n9000 Flumpa\n", r"x.txt:2: code 9000 is listed twice"),
        ("9000 Mimpic\nE90 Flumpa\n", r"x.txt:2: 'E90' is not a diagnosis code of ICD-9-CM \(for ICD-10-CM use"),
        (
            "9000 Mimpic\n0001 Flumpa\n",
            r"x.txt:2: '0001' is not a diagnosis code .* \(for procedures, codes=procedures\)",
        ),
        ("9000 Mimpic\n9001 Flumpa\x00\n", r"x.txt:2: contains a NUL character"),
        ("MIMPIC DISEASES (900-909)\nFLUMPA (900-909)\n", r"x.txt:2: 900-909 is the range of two chapters or blocks"),
        (HEADER + "A00,T,a,b,A00,c,d,e\n", r"x.txt:2: 'A00' is not a diagnosis code of ICD-9-CM"),
        (HEADER + "900,T,a,b,900,c,d,e\n900,T,a,b,900,c,d,e\n", r"x.txt:3: code 900 is listed twice"),
        (HEADER + "900,T,a,,900,c,d,e\n", r"x.txt:2: code 900 has an empty long_desc, major or chapter"),
        (HEADER + "9000,T,a,b,901,c,d,e\n", r"x.txt:2: code 9000 does not begin with its three_digit, found '901'"),
        (HEADER + "900,T,a,b,900,c,d,e\n9000,T,a,b,900,c,D,e\n", r"x.txt:3: three_digit 900 has another major"),
        (HEADER + "900,T,a,b\n", r"x.txt:2: 4 cells, expected 8"),
        (NODES + "0\t-1\t0\tdiagnosi\t\tb\t\n", r"x.txt:3: node_id '0' is listed twice"),
        (NODES + "1\t7\t0\tdiagnosi\t\tb\t\n", r"x.txt:3: parent_id '7' is not the node_id of an earlier line"),
        (NODES + "1\t0\t0\tdiagnosi\tCH1\t \t\n", r"x.txt:3: node '1' has an empty label_it"),
        (
            NODES + "1\t0\t0\tdiagnosi\tCH1\tMALATTIE\t\n",
            r"x.txt:3: a chapter's label_it must end with its range, like",
        ),
        (
            NODES + "1\t0\t0\tcure\tCH1\tMALATTIE (900)\t\n",
            r"x.txt:3: section must be one of diagnosi, interventi, found 'c",
        ),
        (NODES + CHAPTER + "2\t1\t2\tdiagnosi\t90\tb\t\n", r"x.txt:4: '90' is not a diagnosis code of ICD-9-CM"),
        (
            NODES + CHAPTER + "2\t1\t2\tinterventi\t900.1\tb\t\n",
            r"x.txt:4: '900.1' is not a procedure code of ICD-9-CM",
        ),
        (NODES + CHAPTER + "2\t1\t2\tdiagnosi\t900-929\tb\t\n", r"x.txt:4: code ICD9CM:900-929 is listed twice"),
    ],
)
def test_malformed_files_are_named_by_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.txt").write_text(text, "utf-8")
    with pytest.raises(InputError, match=message):
        Terminology.read("icd9cm", tmp_path / "x.txt")


def test_a_gzip_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    (tmp_path / "CMS99.txt.gz").write_bytes(gzip.compress(CODES.read_bytes())[:-12])
    with pytest.raises(InputError, match=r"CMS99.txt.gz: is not a complete gzip file"):
        Terminology.read("icd9cm", tmp_path / "CMS99.txt.gz")


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        (None, {}, "reader 'icd9cm' needs the path of a code file, a tabular list, a table or a tree"),
        (TABLE, {"form": "csv"}, "unknown form of reader 'icd9cm' 'csv'"),
        (TABLE, {"codes": "both"}, "unknown codes of reader 'icd9cm' 'both'"),
        (TABLE, {"includes": "every"}, "unknown includes of reader 'icd9cm' 'every'"),
        (TREE, {"tabular": TABULAR}, r"tabular of reader 'icd9cm' goes with a code file or a table; .* as a tree"),
        (TABLE, {"tabular": FIXTURES / "nowhere"}, r"nowhere: no such file"),
        (
            TABLE,
            {"form": "tree"},
            r"icd9cm_hierarchy.csv:1: no column 'node_id'.*wrong delimiter\? this line has commas",
        ),
    ],
)
def test_bad_arguments_are_refused(path: Path | None, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Terminology.read("icd9cm", path, **options)


@given(data=st.data())
def test_a_damaged_file_is_one_line(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged_icd9cm"
    source = data.draw(st.sampled_from((CODES, TABULAR, TABLE, TREE)))
    path.write_bytes(data.draw(mutated(source.read_bytes(), b"," if source is TABLE else b"\t")))
    if source is TABULAR:
        check_survives("icd9cm", TABLE, tabular=path)
    check_survives("icd9cm", path, includes="all", tabular=TABULAR if source is TABLE else None)
