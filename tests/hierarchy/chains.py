"""A hierarchy in which each concept has one parent."""

from __future__ import annotations

from st_biomed.records import Parent, SourceInfo, Term
from st_biomed.terminology import Terminology


def chain(*parents: tuple[str, str]) -> Terminology:
    codes = sorted({code for pair in parents for code in pair})
    records = [Term(code, f"name {code}") for code in codes] + [Parent(*pair) for pair in parents]
    return Terminology.from_records(records, SourceInfo("X", "X"))
