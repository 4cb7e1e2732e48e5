"""A META folder of invented concepts, what the tests look at in it, and how they spoil it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES

META = FIXTURES / "umls"


def read(path: Path = META, **options: Any) -> Terminology:
    return Terminology.read("umls", path, **options)


def names(terminology: Terminology) -> dict[str, set[str]]:
    """Names by the last two digits of the concept."""
    return {code[-2:]: set(terminology.concept_names(code)) for code in terminology.codes}


def preferred(terminology: Terminology) -> dict[str, str]:
    rows = [row for row in terminology.terms.to_pylist() if row["kind"] == "preferred"]
    return {terminology.codes[row["concept"]][-2:]: terminology.strings[row["text"]] for row in rows}


def links(terminology: Terminology) -> set[tuple[str, str, str]]:
    codes = [code[-2:] for code in terminology.codes]
    return {(codes[r["head"]], r["relation"], codes[r["tail"]]) for r in terminology.relations.to_pylist()}


def parents(terminology: Terminology) -> set[tuple[str, str]]:
    codes = [code[-2:] for code in terminology.codes]
    return {(codes[r["child"]], codes[r["parent"]]) for r in terminology.parents.to_pylist()}


def cut(data: bytes) -> list[bytes]:
    """Three pieces, cut within lines."""
    third = len(data) // 3
    return [data[:third], data[third : 2 * third], data[2 * third :]]


def change(path: Path, line: int, old: str, new: str) -> None:
    lines = path.read_bytes().split(b"\n")
    assert old.encode() in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old.encode(), new.encode("latin-1"), 1)
    path.write_bytes(b"\n".join(lines))
