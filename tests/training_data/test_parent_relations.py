"""Parents of chosen sources as relations."""

from __future__ import annotations

import pytest

from st_biomed.errors import InputError
from st_biomed.records import Grouping, Parent, Relation, SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.training_data import relation_pairs, with_parent_relations

SOURCES = [SourceInfo("TREE", "TREE"), SourceInfo("MTHA", "MTHA")]


@pytest.fixture(scope="module")
def whole() -> Terminology:
    terms = [
        Term(f"{kind}:{i}", f"{word} {i}") for kind, word in (("TREE", "flumpa"), ("META", "zorb")) for i in range(3)
    ]
    links = [
        Parent("TREE:1", "TREE:0", "TREE"),
        Parent("META:1", "META:0", "MTHA"),
        Parent("META:2", "META:0", "MTHA"),
        Parent("META:0", "META:9", "MTHA"),
        Grouping("META:9"),
        Relation("META:1", "isa", "META:0", "MTHA"),
        Relation("META:2", "treats", "META:1", "MTHA"),
    ]
    return Terminology.from_records([*SOURCES, *terms, *links], SOURCES[0])


def triples(terminology: Terminology) -> set[tuple[str, str, str]]:
    codes = terminology.codes
    rows = terminology.relations.to_pylist()
    return {(codes[row["head"]], row["relation"], codes[row["tail"]]) for row in rows}


def test_parents_of_a_source_are_relations_both_ways(whole: Terminology) -> None:
    """Catches heads that become tails, parents of other sources, a relation that counts twice, and nodes without a name."""
    found = with_parent_relations(whole, ["META"])
    assert triples(found) == {
        ("META:1", "isa", "META:0"),
        ("META:2", "isa", "META:0"),
        ("META:0", "inverse_isa", "META:1"),
        ("META:0", "inverse_isa", "META:2"),
        ("META:2", "treats", "META:1"),
    }
    assert found.relations.num_rows == 5 and found.relations.schema.equals(whole.relations.schema)
    assert found.parents.equals(whole.parents) and with_parent_relations(whole, ["MTHA"]).digest == found.digest
    assert found.tallies["parent relations"].dropped == {
        "parents that are relations already": 1,
        "parents of a concept without a name": 2,  # one parent, two relations
    }
    assert len(relation_pairs(found)) == 5
    copy = Terminology.from_records(found.records(), SOURCES[0])
    assert copy.relations.to_pylist() == found.relations.to_pylist(), (
        "the order of rows is that of a terminology that was read"
    )


def test_without_sources_nothing_changes(whole: Terminology) -> None:
    assert with_parent_relations(whole, []) is whole
    with pytest.raises(InputError, match="unknown source of relation_parents 'MTHX'"):
        with_parent_relations(whole, ["MTHX"])
