"""The graph that parents and relations make."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from st_biomed.errors import InputError
from st_biomed.records import Parent, Relation, SourceInfo, Term
from st_biomed.terminology import Terminology
from st_biomed.training_data import ConceptGraph
from st_biomed.training_data.concept_graph import _small
from tests.kge.graphs import terminology

Edge = tuple[str, str, str]


def edges(graph: ConceptGraph) -> set[Edge]:
    """(source, relation, target) of each edge by name."""
    names = [code.removeprefix("Z:") for code in graph.terminology.codes]
    found = []
    for target in range(graph.n_nodes):
        for entry in range(*graph.neighbors.indptr[target : target + 2].tolist()):
            source = names[graph.neighbors.indices[entry]]
            found += [(source, graph.relations[r], names[target]) for r in graph.edge_relations.row(entry).tolist()]
    assert len(found) == len(set(found)) == graph.n_edges
    return set(found)


def test_messages_flow_from_head_to_tail_and_back_by_the_inverse():
    """Would catch an edge or its relation turned round, and the inverse of one relation taken for another's."""
    graph = ConceptGraph(terminology([("a", "treats", "b"), ("b", "causes", "c")], [("c", "d")]))
    assert graph.relations == ("causes", "inverse_causes", "inverse_isa", "inverse_treats", "isa", "treats")
    assert edges(graph) == {
        ("a", "treats", "b"),
        ("b", "inverse_treats", "a"),
        ("b", "causes", "c"),
        ("c", "inverse_causes", "b"),
        ("c", "isa", "d"),
        ("d", "inverse_isa", "c"),
    }
    assert (graph.tally.n_read, graph.tally.n_kept) == (6, 6)


def test_without_inverses_parents_still_go_both_ways():
    """Would catch leaves that have no neighbor: a terminology states parents once."""
    graph = ConceptGraph(terminology([("a", "treats", "b")], [("c", "d")]), inverses=False)
    assert edges(graph) == {("a", "treats", "b"), ("c", "isa", "d"), ("d", "inverse_isa", "c")}
    assert graph.relations == ("inverse_isa", "isa", "treats") and graph.tally.adds_up()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"relations": False}, {("a", "isa", "c"), ("c", "inverse_isa", "a")}),
        ({"parents": False}, {("a", "near", "b"), ("b", "inverse_near", "a")}),
    ],
)
def test_each_part_may_be_left_out(options: dict[str, bool], expected: set[Edge]):
    assert edges(ConceptGraph(terminology([("a", "near", "b")], [("a", "c")]), **options)) == expected


def test_isa_and_its_inverse_are_one_whoever_states_them():
    """Would catch `inverse_inverse_isa`, and an edge twice under two names."""
    stated = [("a", "isa", "b"), ("b", "inverse_isa", "a"), ("c", "isa", "b")]
    graph = ConceptGraph(terminology(stated, [("a", "b")]))
    assert graph.relations == ("inverse_isa", "isa")
    assert edges(graph) == {(x, "isa", "b") for x in "ac"} | {("b", "inverse_isa", x) for x in "ac"}
    assert graph.tally.dropped == {"repeated": 4} and graph.tally.adds_up()


def test_relations_of_a_group_are_one():
    """Would catch groups that rename the table and leave an edge for each of their relations."""
    stated = [("a", "has_part", "b"), ("a", "has_piece", "b"), ("b", "near", "c")]
    groups = {"has_part": "RO", "has_piece": "RO", "elsewhere": "RQ"}
    graph = ConceptGraph(terminology(stated), groups=groups, inverses=False)
    assert graph.relations == ("RO", "near")
    assert edges(graph) == {("a", "RO", "b"), ("b", "near", "c")} and graph.tally.dropped == {"repeated": 1}


def test_what_several_sources_state_is_one_edge():
    records = [Term("Z:a", "a"), Term("Z:b", "b"), SourceInfo("Y", "Yops")]
    records += [Relation("Z:a", "near", "Z:b", source) for source in ("Z", "Y")]
    graph = ConceptGraph(Terminology.from_records(records, SourceInfo("Z", "Zorbs")))
    assert graph.n_edges == 2 and graph.tally.dropped == {"repeated": 2}


def test_edges_of_a_concept_to_itself_are_dropped_and_counted():
    whole = terminology([("a", "near", "b")])
    loops = whole.relations.set_column(2, "tail", pa.array([0], pa.int32()))
    both = pa.concat_tables([whole.relations, loops.select(whole.relations.column_names)])
    graph = ConceptGraph(Terminology({**whole.tables, "relations": both}, whole.sources, {}))
    assert edges(graph) == {("a", "near", "b"), ("b", "inverse_near", "a")}
    assert graph.tally.dropped == {"of a concept to itself": 1} and graph.tally.adds_up()


def test_relations_that_point_nowhere_are_counted():
    records = [Term("Z:a", "a"), Term("Z:b", "b"), Relation("Z:a", "near", "Z:b"), Relation("Z:a", "near", "Z:gone")]
    whole = Terminology.from_records(records, SourceInfo("Z", "Zorbs"))
    assert whole.tallies["records"].dropped == {"relations of a concept without a term": 1}
    assert ConceptGraph(whole).n_edges == 2


def two_languages() -> Terminology:
    """a in both, b in English, c in Italian; a near b and c, c above b."""
    terms = [Term("Z:a", "an a"), Term("Z:a", "una a", "synonym", "it"), Term("Z:b", "a b")]
    terms += [Term("Z:c", "una ci", "preferred", "it")]
    links = [Relation("Z:a", "near", "Z:b"), Relation("Z:a", "near", "Z:c"), Parent("Z:b", "Z:c")]
    return Terminology.from_records([*terms, *links], SourceInfo("Z", "Zorbs"))


def test_a_neighbor_has_a_name_in_the_languages():
    """Would catch a neighbor that has no text, and a concept that loses its neighbors for want of a name."""
    graph = ConceptGraph(two_languages(), languages=["it"])
    assert edges(graph) == {
        ("a", "near", "b"),
        ("a", "near", "c"),
        ("c", "inverse_near", "a"),
        ("c", "inverse_isa", "b"),
    }
    assert graph.tally.dropped == {"from a concept without a name": 2} and graph.tally.adds_up()
    strings = graph.terminology.strings
    assert [[strings[i] for i in graph.names.row(c)] for c in range(3)] == [["una a"], [], ["una ci"]]


def test_concepts_without_an_edge_are_counted():
    whole = terminology([("a", "near", "b"), ("c", "treats", "d")], [("e", "f")])
    graph = ConceptGraph(whole, relations=False)
    assert graph.n_isolated == 4 and graph.n_nodes == 6
    assert ConceptGraph(whole, inverses=False).n_isolated == 0  # a concept that is only a neighbor is not alone
    assert repr(graph) == "ConceptGraph(6 concepts (4 isolated), 2 edges, 2 relations)"


names = st.sampled_from("abcdef")


@pytest.mark.long
@given(
    stated=st.lists(st.tuples(names, st.sampled_from(["r", "s", "isa", "inverse_r"]), names), max_size=12),
    parents=st.lists(st.tuples(names, names), max_size=6),
    inverses=st.booleans(),
    english=st.sets(names, min_size=1),
)
def test_a_loop_over_rows_gives_the_same_graph(stated, parents, inverses, english):
    """Random tables against sets of triples, with all options at once."""
    records = [Term(f"Z:{name}", f"la {name}", "preferred", "it") for name in "abcdef"]
    records += [Term(f"Z:{name}", f"the {name}", "synonym", "en") for name in sorted(english)]
    records += [Relation(f"Z:{head}", relation, f"Z:{tail}") for head, relation, tail in stated]
    records += [Parent(f"Z:{child}", f"Z:{parent}") for child, parent in parents]
    whole = Terminology.from_records(records, SourceInfo("Z", "Zorbs"))
    turned = {"r": "inverse_r", "inverse_r": "r", "s": "inverse_s", "isa": "inverse_isa"}
    expected = set()
    for head, relation, tail in [*stated, *((child, "isa", parent) for child, parent in parents)]:
        expected.add((head, relation, tail))
        if inverses:
            expected.add((tail, turned[relation], head))
    for child, parent in parents:
        expected.add((parent, "inverse_isa", child))
    expected = {edge for edge in expected if edge[0] != edge[2] and edge[0] in english}
    if not expected:
        with pytest.raises(InputError, match="no edge is left"):
            ConceptGraph(whole, inverses=inverses, languages=["en"])
        return
    graph = ConceptGraph(whole, inverses=inverses, languages=["en"])
    assert edges(graph) == expected
    assert graph.relations == tuple(sorted({relation for _, relation, _ in expected}))
    assert graph.tally.adds_up() and graph.tally.n_kept == len(expected)
    for table in (graph.neighbors, graph.edge_relations):
        assert all((np.diff(table.row(i)) > 0).all() for i in range(table.n_rows))


def test_the_digest_names_what_is_drawn_from():
    whole = two_languages()
    graphs = [ConceptGraph(whole), ConceptGraph(whole, inverses=False), ConceptGraph(whole, languages=["it"])]
    digests = {graph.digest for graph in graphs}
    assert len(digests) == 3 and ConceptGraph(two_languages()).digest in digests


def test_shuffled_neighbors_keep_all_counts_and_nothing_else():
    """Catches relations or degrees that are shuffled along, a seed without effect, and neighbors that stay."""
    stated = [(f"c{i}", "near" if i % 3 else "far", f"c{(i * 7 + j) % 40}") for i in range(40) for j in (1, 2, 5)]
    whole = terminology([edge for edge in stated if edge[0] != edge[2]])
    plain = ConceptGraph(whole)
    shuffled, again, other = (ConceptGraph(whole, shuffle_seed=seed) for seed in (1, 1, 2))
    assert shuffled.tally.adds_up() and shuffled.relations == plain.relations
    n_lost = shuffled.tally.dropped["of a concept to itself, after shuffling"]
    assert len(edges(shuffled)) == plain.n_edges - n_lost and n_lost < 20
    assert shuffled.digest == again.digest != other.digest and shuffled.digest != plain.digest
    assert len(edges(shuffled) & edges(plain)) < 0.2 * plain.n_edges
    for end in (0, 2):
        counts = [
            sorted(Counter((edge[end], edge[1]) for edge in edges(g)).values(), reverse=True)
            for g in (plain, shuffled)
        ]
        assert sum(counts[0]) - sum(counts[1]) == n_lost
    kept = Counter((relation, target) for _, relation, target in edges(shuffled))
    had = Counter((relation, target) for _, relation, target in edges(plain))
    assert kept <= had and sum((had - kept).values()) == n_lost  # every target keeps its relations
    source = {(r, t): s for s, r, t in edges(plain) if had[r, t] == 1}
    moved = {(r, t): s for s, r, t in edges(shuffled) if had[r, t] == 1}
    pairs = {(source[key], moved[key]) for key in moved}
    assert pairs and len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}), (
        "a permutation of concepts"
    )


def test_nothing_can_be_changed():
    graph = ConceptGraph(two_languages())
    for array in (*graph.neighbors, *graph.edge_relations):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_numbers_take_no_more_room_than_they_need():
    """Would catch a wrap at the largest number of a type."""
    for largest, kind in ((32_767, np.int16), (32_768, np.int32), (2**31, np.int64)):
        small = _small(np.array([0, largest]), largest)
        assert small.dtype == kind and small.tolist() == [0, largest]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relations": False, "parents": False}, "relations and parents: one of them is needed for a graph"),
        ({"shuffle_seed": -1}, "shuffle_seed must be an integer of at least 0 or None, found -1"),
        ({"languages": ["fr"]}, r"languages: no name has the language 'fr'; there are \['en', 'it'\]"),
        (
            {"groups": {"neer": "RO"}},
            r"groups: none of 1 relations exists, e.g. 'neer'; there are \['isa', 'near'\]",
        ),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(InputError, match=message):
        ConceptGraph(two_languages(), **options)


def test_a_graph_without_edges_is_refused_unless_only_texts_are_trained_on():
    records = [Term("Z:a", "a"), Term("Z:b", "b")]
    empty = ConceptGraph(Terminology.from_records(records, SourceInfo("Z", "Zorbs")), may_be_empty=True)
    assert (empty.n_nodes, empty.n_edges, empty.relations) == (2, 0, ())
    with pytest.raises(InputError, match=r"no edge is left \(edges: 0 read"):
        ConceptGraph(Terminology.from_records(records, SourceInfo("Z", "Zorbs")))
