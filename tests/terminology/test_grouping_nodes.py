"""Grouping nodes: concepts without a name that hold a hierarchy together and give a string to nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from st_biomed.errors import InputError
from st_biomed.evaluators.mcsm.evaluator import MCSMEvaluator
from st_biomed.evaluators.relation.pairs import RelationPairSampler
from st_biomed.evaluators.tree.pairs import draw_pairs
from st_biomed.hierarchy import Hierarchy
from st_biomed.hierarchy.concept_types import ConceptTypes
from st_biomed.linking.catalog import Catalog
from st_biomed.linking_data.held_out_names import hold_out_names
from st_biomed.linking_data.records import LinkingDictionary
from st_biomed.records import Definition, Grouping, Parent, Record, Relation, SourceInfo, Tally, Term, Type, Xref
from st_biomed.samplers.hierarchy import HierarchyBatchSampler, HierarchyPlan
from st_biomed.terminology import Terminology
from st_biomed.terminology.normalization import normalized
from st_biomed.training_data import names_dataset
from st_biomed.training_data.concept_graph import ConceptGraph
from st_biomed.training_data.held_out_concepts import split_by_concept, split_by_subtree
from st_biomed.training_data.high_level_concepts import top_concepts
from tests.terminology.rhinitis import single

SOURCE = SourceInfo("S", "Source", license="CC0-1.0", redistributable=True)


def tree(n_groups: int = 4, n_leaves: int = 4) -> list[Record]:
    """A nameless root above nameless groups, each above named leaves with three names."""
    records: list[Record] = [Grouping("S:0")]
    for group in range(n_groups):
        records += [Grouping(f"S:0.{group}"), Parent(f"S:0.{group}", "S:0")]
        for leaf in range(n_leaves):
            code = f"S:0.{group}.{leaf}"
            records += [Parent(code, f"S:0.{group}"), Term(code, f"leaf {group} {leaf}")]
            records += [Term(code, f"{name} {group} {leaf}", "synonym") for name in ("blade", "frond")]
    return records


@pytest.fixture
def terminology() -> Terminology:
    return Terminology.from_records(tree(), SOURCE)


def nameless(terminology: Terminology) -> list[str]:
    return [code for code, has_name in zip(terminology.codes, terminology.has_name) if not has_name]


def test_nameless_nodes_count_in_the_hierarchy_and_have_no_string(terminology: Terminology) -> None:
    """Catches siblings that become unrelated, and a name taken from the end of the strings for -1."""
    assert (terminology.n_concepts, terminology.n_nameless, terminology.n_texts) == (21, 5, 48)
    assert nameless(terminology) == ["S:0", "S:0.0", "S:0.1", "S:0.2", "S:0.3"]
    hierarchy = Hierarchy(terminology)
    assert np.bincount(hierarchy.depth).tolist() == [1, 4, 16]
    assert hierarchy.graph.ancestors(terminology.concept("S:0.1.2")).tolist() == [
        terminology.concept("S:0"),
        terminology.concept("S:0.1"),
    ]
    labels = torch.tensor(
        [terminology.strings.index(name) for name in ("leaf 0 0", "blade 0 0", "leaf 0 1", "leaf 1 0")]
    )
    assert hierarchy.distance(labels[:1], labels).tolist() == [[-1, 0, 1, 3]]
    assert (terminology.preferred_texts[~terminology.has_name] == -1).all()
    assert [terminology.strings[i] for i in terminology.preferred_texts[terminology.has_name]][:2] == [
        "leaf 0 0",
        "leaf 0 1",
    ]
    assert terminology.concept_names("S:0") == []
    stats = terminology.stats()
    assert (stats["nameless concepts"], stats["names per concept"]) == (5, 3.0)
    assert repr(terminology).startswith("Terminology(S: 21 concepts (5 nameless), 48 texts,")


def test_they_are_told_and_every_record_is_accounted_for() -> None:
    """Catches a node with nothing below it, a repeated one, and one that another record names."""
    more = [Grouping("S:0"), Grouping("S:9"), Grouping("S:9.1"), Parent("S:9.1", "S:9"), Grouping("S:0.0.0")]
    terminology = Terminology.from_records([*tree(), *more], SOURCE)
    tally = terminology.tallies["records"]
    assert tally.adds_up(), str(tally)
    assert tally.dropped == {
        "repeated groupings": 1,
        "groupings that have a name": 1,
        "groupings without a named concept below them": 2,
        "parents of a concept without a term": 1,
    }
    assert tally.notes == ["5 nameless grouping nodes"]
    assert terminology.digest == Terminology.from_records(tree(), SOURCE).digest


def test_nothing_but_parents_points_at_them() -> None:
    """Catches a definition, which would be encoded, and a relation, which would be drawn."""
    pointing = [
        Relation("S:0", "part_of", "S:0.0.0"),
        Relation("S:0.0.0", "part_of", "S:0"),
        Type("S:0", "group"),
        Xref("S:0", "Z:1"),
        Definition("S:0", "All of it."),
    ]
    terminology = Terminology.from_records([*tree(), *pointing], SOURCE)
    assert terminology.digest == Terminology.from_records(tree(), SOURCE).digest
    assert terminology.tallies["records"].dropped == {
        "relations of a concept without a term": 2,
        "types of a concept without a term": 1,
        "xrefs of a concept without a term": 1,
        "definitions of a concept without a term": 1,
    }


def test_without_being_asked_for_they_are_dropped_as_before() -> None:
    """Catches a terminology that keeps every code it meets: digests of existing ones would change."""
    records = [record for record in tree() if not isinstance(record, Grouping)]
    terminology = Terminology.from_records(records, SOURCE)
    assert (terminology.n_concepts, terminology.n_nameless, terminology.parents.num_rows) == (16, 0, 0)
    assert terminology.tallies["records"].dropped == {"parents of a concept without a term": 20}
    assert terminology.digest != Terminology.from_records(tree(), SOURCE).digest
    assert "nameless concepts" not in terminology.stats()


def test_they_survive_disk_records_normalization_and_merging(terminology: Terminology, tmp_path: Path) -> None:
    """Catches a table that is rebuilt without the codes that no term has."""
    assert Terminology.load(terminology.save(tmp_path / "saved"), verify=True).digest == terminology.digest
    again = Terminology.from_records(terminology.records(), SOURCE)
    assert again.digest == terminology.digest
    assert Grouping("S:0.1") in set(single(terminology.records()))
    assert normalized(terminology, "lower").digest == terminology.digest
    assert Terminology.merge(terminology, terminology).digest == terminology.digest
    named = Terminology.from_records([Term("S:0", "plant"), Term("T:1", "other")], SOURCE)
    merged = Terminology.merge(terminology, named)
    assert nameless(merged) == ["S:0.0", "S:0.1", "S:0.2", "S:0.3"]
    assert merged.tallies["merge"].dropped == {"groupings that have a name": 1}
    assert merged.tallies["merge"].adds_up()
    renamed = Terminology.merge(terminology, named, codes={"S:0.1": "T:1"})
    assert "S:0.1" not in renamed.codes
    assert renamed.concept_names("T:1") == ["other"]


def test_a_subset_keeps_those_above_what_it_keeps(terminology: Terminology) -> None:
    """Catches nodes with nothing below them, and chosen concepts that lose the node that makes them siblings."""
    below = terminology.subset(below=["S:0.1"])
    assert nameless(below) == ["S:0.1"]
    assert below.parents.num_rows == 4
    spoken = terminology.subset(texts=np.array(["leaf 2" in text for text in terminology.strings]))
    assert nameless(spoken) == ["S:0", "S:0.2"]
    assert spoken.tallies["subset"].notes == ["2 nameless grouping nodes"]
    without_group = terminology.subset(np.array([code != "S:0.2" for code in terminology.codes]))
    assert nameless(without_group) == ["S:0", "S:0.0", "S:0.1", "S:0.3"]
    with pytest.raises(InputError, match="no term is left"):
        terminology.subset(codes=["S:0"])


def test_one_that_only_a_cycle_kept_goes_with_it() -> None:
    records = [*tree(1, 2), Grouping("S:A"), Parent("S:A", "S:0.0.0"), Parent("S:0.0.0", "S:A")]
    terminology = Terminology.from_records(records, SOURCE)
    assert "S:A" in nameless(terminology)
    assert nameless(terminology.without_cycles()) == ["S:0", "S:0.0"]


def test_sub_trees_below_a_nameless_root_are_held_out_with_it(terminology: Terminology) -> None:
    splits = split_by_subtree(terminology, depth=1, dev=0.25, test=0.25)
    assert (splits.train.n_concepts, splits.dev.n_concepts, splits.test.n_concepts) == (11, 5, 5)
    assert len(nameless(splits.train)) == 3
    assert len(nameless(splits.test)) == 1
    whole = Hierarchy(terminology)
    _, distances = draw_pairs(whole, splits.text_split == 2, distances=[0, 1], seed=1)
    assert np.bincount(distances).tolist() == [12, 54]
    by_concept = split_by_concept(terminology, dev=0.25, test=0.25)
    assert (by_concept.dev.n_concepts, by_concept.test.n_concepts) == (4, 4)


def test_batches_hold_siblings_below_a_nameless_node(terminology: Terminology) -> None:
    """Catches a partner that is nameless, and anchors without a hierarchy."""
    dataset = names_dataset(terminology)
    plan = HierarchyPlan(partners=[1, 2, 0, 1])
    sampler = HierarchyBatchSampler(dataset, 10, seed=0, hierarchy=Hierarchy(terminology), plan=plan)
    groups = np.array(list(sampler)).reshape(-1, 5)
    assert len(groups) == 48
    names = np.array(terminology.strings)[groups]
    group = np.array([[name.split()[1] for name in row] for row in names])
    assert (group[:, 1:4] == group[:, :1]).all()
    assert (group[:, 4] != group[:, 0]).all()


def test_nothing_measures_links_or_holds_out_a_nameless_concept(terminology: Terminology) -> None:
    """Catches consumers that take a concept's name for granted."""
    dictionary = LinkingDictionary.from_terminology(terminology)
    assert "S:0" not in dictionary.ids
    assert dictionary.entry(terminology.strings.index("leaf 3 3")) == ("leaf 3 3", frozenset({"S:0.3.3"}))
    catalog = Catalog.of(terminology)
    assert catalog.labels[terminology.concept("S:0.1")] == ""
    assert (catalog.n_named, len(catalog.concepts)) == (16, 21)
    held_out = hold_out_names(terminology, n_dev=2, n_test=2, n_dictionary=8)
    assert len(held_out.dataset.dictionary.ids) == 8
    assert nameless(held_out.train) == nameless(terminology)
    pairs = RelationPairSampler(terminology)
    assert pairs.positives(["isa", "inverse_isa"], 100, Tally())[0].size == 0
    heads, tails = pairs.random(50)
    assert terminology.has_name[heads].all()
    assert terminology.has_name[tails].all()
    by_code = RelationPairSampler(terminology, keys="codes")
    assert len(by_code.positives(["isa"], 100, Tally())[0]) == 20
    typed = ConceptTypes.from_branches(Hierarchy(terminology), children_of="S:0")
    assert len(MCSMEvaluator.from_terminology(terminology, typed, keep_untyped=True).texts) == 16
    assert len(MCSMEvaluator.from_terminology(terminology, typed, keep_untyped=True, keys="codes").texts) == 21
    graph = ConceptGraph(terminology)
    assert not len(graph.neighbors.indices[np.isin(graph.neighbors.indices, np.flatnonzero(~terminology.has_name))])


def test_high_level_concepts_may_be_nameless() -> None:
    """Catches the last string as the title of a root, and as a name below it."""
    records = [record for record in tree() if not (isinstance(record, Parent) and record.parent == "S:0")]
    found = top_concepts(Terminology.from_records(records, SOURCE))
    assert found.titles == {f"S:0.{group}": f"S:0.{group}" for group in range(4)}
    assert found.names["S:0.1"] == ("leaf 1 0", "leaf 1 1", "leaf 1 2", "leaf 1 3")
    deeper = [Parent("S:1", "S:0.0"), Grouping("S:1"), Parent("S:1.1", "S:1"), Term("S:1.1", "bud")]
    found = top_concepts(Terminology.from_records([*records, *deeper], SOURCE), codes="all")
    assert found.names["S:0.0"][0] == "bud"
    assert len(found.names["S:0.0"]) == 5
