"""Records that cannot become rows are refused in one line, and a terminology of no record at all is empty."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from st_biomed.errors import InputError
from st_biomed.hierarchy import Hierarchy
from st_biomed.linking.catalog import Catalog
from st_biomed.records import Definition, Parent, Record, SourceInfo, Term, Type
from st_biomed.terminology import Terminology

OWN = SourceInfo("OWN", "Own terms")
FIRST = Term("OWN:0", "fever")


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Term("OWN:1", float("nan")), "row 2 of the terms: text must be a string of valid Unicode, found nan"),  # type: ignore[arg-type]
        (Term("OWN:1", pd.NA), "row 2 of the terms: text must be a string of valid Unicode, found <NA>"),  # type: ignore[arg-type]
        (Term("OWN:1", 5), "row 2 of the terms: text must be a string of valid Unicode, found 5"),  # type: ignore[arg-type]
        (Term("OWN:1", "\ud800"), r"row 2 of the terms: text must be a string of valid Unicode, found '\\ud800'"),
        (Term(None, "chill"), "row 2 of the terms: code must be a string of valid Unicode, found None"),  # type: ignore[arg-type]
        (Term("OWN:1", "chill", language=None), "row 2 of the terms: language must be .*, found None"),  # type: ignore[arg-type]
        (Parent("OWN:0", None), "row 1 of the parents: parent must be a string of valid Unicode, found None"),  # type: ignore[arg-type]
        (Type("OWN:0", None), "row 1 of the types: type must be a string of valid Unicode, found None"),  # type: ignore[arg-type]
        (Term("OWN:1", "chill", "PREFERRED"), "unknown kind of term 'PREFERRED': allowed are 'preferred', 'synonym'"),
        (("OWN:1", "chill"), r"record 2 must be one of Term, Parent, .*, found \('OWN:1', 'chill'\)$"),
        ({"code": "OWN:1"}, "record 2 must be one of Term, .* Rows and SourceInfo, found {'code': 'OWN:1'}$"),
    ],
)
def test_a_record_that_is_no_row_is_named(record: Any, message: str):
    """Catches the errors of Arrow, and an unknown kind that changes which name is preferred."""
    with pytest.raises(InputError, match=f"^{message}") as error:
        Terminology.from_records([FIRST, record], OWN)
    assert "\n" not in str(error.value)


def test_rows_are_counted_over_blocks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("st_biomed.terminology.build._BLOCK", 2)
    wrong = Term("OWN:9", "chill", source=None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="^row 6 of the terms: source must be"):
        Terminology.from_records([FIRST] * 5 + [wrong], OWN)


def test_a_source_that_is_a_name_is_refused():
    with pytest.raises(InputError, match="^source must be a SourceInfo, found str$"):
        Terminology.from_records([FIRST], "OWN")  # type: ignore[arg-type]


@pytest.mark.parametrize("records", [[], [Term("OWN:1", None), Definition("OWN:1", None)]], ids=["none", "nameless"])  # type: ignore[arg-type]
def test_a_terminology_without_a_name_is_empty(records: list[Record]):
    """Catches errors of numpy for arrays without an entry."""
    empty = Terminology.from_records(records, OWN)
    assert len(empty) == empty.n_texts == len(empty.preferred_texts) == 0
    assert Hierarchy(empty).depth.tolist() == []
    with pytest.raises(InputError, match="holds no name"):
        Catalog.of(empty)
