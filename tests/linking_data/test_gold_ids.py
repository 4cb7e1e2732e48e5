from __future__ import annotations

import pytest

from st_biomed.linking_data.gold_ids import gold_groups, groups_of, known_ids, with_prefix


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
        ("c|SUB|A|1555|G", [{"c|SUB|A|1555|G"}]),
        ("c|SUB|G|89+1|A,rs990;p|Allele||V600", [{"c|SUB|G|89+1|A", "rs990", "p|Allele||V600"}]),
        ("X1|p|DEL|35|G", [{"X1"}, {"p|DEL|35|G"}]),
        ("tmVar:p|SUB|V|990|E;HGVS:p.V990E", [{"tmVar:p|SUB|V|990|E", "HGVS:p.V990E"}]),
        ("p|SUB|V|990|E|X1", [{"p|SUB|V|990|E"}, {"X1"}]),
        ("c|SUB|A|1|G+c|SUB|C|2|T", [{"c|SUB|A|1|G"}, {"c|SUB|C|2|T"}]),
        ("p|FS|R|3|Q|40,c|DUP|12|T|2|X1", [{"p|FS|R|3|Q|40", "c|DUP|12|T|2"}, {"X1"}]),
        ("p|FS|R|3|Q|D990|X2", [{"p|FS|R|3|Q"}, {"D990"}, {"X2"}]),
        ("p|FS|R|3|Q||X2", [{"p|FS|R|3|Q|"}, {"X2"}]),
        ("c|DUP|12|T|2990X", [{"c|DUP|12|T"}, {"2990X"}]),
        ("Xc|X2|X3", [{"Xc"}, {"X2"}, {"X3"}]),
        ("c|990|X2", [{"c"}, {"990"}, {"X2"}]),
        ("c|X|X2", [{"c"}, {"X"}, {"X2"}]),
    ],
)
def test_groups_and_alternatives_of_a_cell(cell: str, groups: list[set[str]]) -> None:
    """Catches ``-1`` as a concept, and alternatives read as parts or parts as alternatives."""
    assert gold_groups(cell) == tuple(map(frozenset, groups))


def test_a_variant_is_one_id_where_separators_mean_nothing() -> None:
    """Catches five concepts read of a variant of tmVar, as BioRED has them."""
    assert groups_of("c|SUB|A|1555|G", "groups") == (frozenset({"c|SUB|A|1555|G"}),)
    assert groups_of("X1|c|DEL|35|G X2", "groups") == tuple(frozenset({id_}) for id_ in ("X1", "c|DEL|35|G", "X2"))
    assert groups_of("X1|X2,X1", "alternatives") == (frozenset({"X1", "X2"}),)


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
