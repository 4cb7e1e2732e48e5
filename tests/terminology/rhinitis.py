"""A terminology of two invented sources in which a cold is a disease and a temperature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from st_biomed.records import Definition, Parent, Record, Relation, Rows, SourceInfo, Term, Type, Xref
from st_biomed.terminology import Terminology

SOURCE = SourceInfo("S", "Source", license="CC0-1.0", redistributable=True)
OTHER = SourceInfo("O", "Other", version="2", license="secret")

RECORDS: list[Record] = [
    Term("S:2", "cold"),
    Term("S:2", "acute rhinitis", "synonym"),
    Term("S:1", "low temperature"),
    Term("S:1", "cold", "synonym"),
    Term("S:1", "freddo", "synonym", "it"),
    Term("S:10", "illness"),
    OTHER,
    Term("O:1", "illness", source="O"),
    Parent("S:2", "S:10"),
    Parent("O:1", "S:10", source="O"),
    Relation("S:2", "worse_in", "S:1"),
    Type("S:2", "disorder"),
    Type("O:1", "disorder"),
    Xref("S:2", "Z:9", "exactMatch"),
    Xref("S:2", "Z:10"),
    Definition("S:2", "A common viral infection of the nose."),
    Definition("S:2", "Infezione virale del naso.", "it", "O"),
    Definition("S:1", "A state with less heat than is usual."),
]


def content(terminology: Terminology) -> set[Record]:
    return set(single(terminology.records()))


def single(records: Iterable[Record]) -> Iterator[Record]:
    for record in records:
        yield from record.one_by_one() if isinstance(record, Rows) else [record]
