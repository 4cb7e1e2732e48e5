from __future__ import annotations

import pytest

from st_biomed.linking_data.gold_ids import gold_groups, known_ids, with_prefix


@pytest.mark.parametrize(
    ("cell", "groups"),
    [
        ("X1", [{"X1"}]),
        (" X1|X2+X3,X4 ", [{"X1"}, {"X2"}, {"X3", "X4"}]),
        ("X1 X2", [{"X1", "X2"}]),
        ("X1|X1", [{"X1"}]),
        ("X1|-1", [{"X1"}]),
        ("-1", []),
        ("CUI-less", []),
        ("", []),
        ("ICD10CM:X01.1", [{"ICD10CM:X01.1"}]),
    ],
)
def test_groups_and_alternatives_of_a_cell(cell: str, groups: list[set[str]]) -> None:
    """Catches ``-1`` as a concept, and alternatives read as parts or parts as alternatives."""
    assert gold_groups(cell) == tuple(map(frozenset, groups))


def test_ids_keep_their_order_and_come_once() -> None:
    assert known_ids(["X2", " X1", "NIL", "X2"]) == ["X2", "X1"]


@pytest.mark.parametrize(
    ("identifier", "prefix", "curie"),
    [
        ("X1", "", "X1"),
        ("X1", "UMLS", "UMLS:X1"),
        ("UMLS:X1", "UMLS", "UMLS:X1"),
        ("D01", "MESH", "MESH:D01"),
        ("900001", "MESH", "OMIM:900001"),
        ("900001", "SNOMEDCT", "SNOMEDCT:900001"),
    ],
)
def test_prefixes(identifier: str, prefix: str, curie: str) -> None:
    """Catches the bare OMIM ids of disease dictionaries called MeSH's, and SNOMED's called OMIM's."""
    assert with_prefix(identifier, prefix) == curie
