"""Neighborhoods: what is drawn, how evenly, and how it is numbered."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from st_biomed.errors import InputError
from st_biomed.samplers import Neighborhood, NeighborSampler
from st_biomed.training_data import ConceptGraph
from tests.kge.graphs import terminology


def star(*relations_of: int) -> ConceptGraph:
    """Concept ``hub`` (the first) with that many relations from each of some others."""
    stated = [(f"leaf {i}", f"r{k}", "hub") for i, count in enumerate(relations_of) for k in range(count)]
    return ConceptGraph(terminology(stated), inverses=False)


def stated(graph: ConceptGraph) -> dict[int, dict[int, set[int]]]:
    """Target to source to relations, by loops."""
    out: dict[int, dict[int, set[int]]] = {}
    for target in range(graph.n_nodes):
        entries = range(*graph.neighbors.indptr[target : target + 2].tolist())
        out[target] = {int(graph.neighbors.indices[e]): set(graph.edge_relations.row(e).tolist()) for e in entries}
    return out


def check(graph: ConceptGraph, drawn: Neighborhood, targets: list[int], fanout: list[int]) -> None:
    """Everything a neighborhood promises, by loops over its nodes and edges."""
    nodes, edges = drawn
    assert nodes.dtype == edges.dtype == np.int64 and edges.shape[0] == 3
    assert nodes[: len(targets)].tolist() == targets
    assert len(set(nodes.tolist())) == len(nodes)
    met = list(dict.fromkeys([*range(len(targets)), *edges[0].tolist()]))
    assert met == list(range(len(nodes)))  # numbered as they are met, and none without an edge
    every = stated(graph)
    into: dict[int, dict[int, list[int]]] = {node: {} for node in range(len(nodes))}
    for source, target, relation in edges.T.tolist():
        into[target].setdefault(source, []).append(relation)
    hop_of = dict.fromkeys(range(len(targets)), 0)
    for source, target, _ in edges.T.tolist():
        hop_of.setdefault(source, hop_of[target] + 1)
    for node, sources in into.items():
        known = every[int(nodes[node])]
        hop = hop_of[node]
        assert len(sources) == (min(len(known), fanout[hop]) if hop < len(fanout) else 0)
        for source, relations in sources.items():
            assert sorted(relations) == sorted(known[int(nodes[source])])


@pytest.mark.long
@given(
    links=st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from(["r", "s"]), st.integers(0, 9)).filter(lambda x: x[0] != x[2]),
        min_size=1,
        max_size=40,
    ),
    fanout=st.lists(st.integers(1, 4), max_size=3),
    seed=st.integers(0, 3),
    data=st.data(),
)
def test_any_graph_gives_what_is_promised(links, fanout, seed, data):
    """Fan-outs kept, edges and relations as stated, nodes unique and in order, of random graphs."""
    graph = ConceptGraph(terminology([(f"{a:02}", r, f"{b:02}") for a, r, b in links]))
    targets = data.draw(st.lists(st.integers(0, graph.n_nodes - 1), unique=True))
    sampler = NeighborSampler(graph, fanout)
    drawn = sampler.draw(np.random.default_rng(seed), targets)
    check(graph, drawn, targets, fanout)
    again = sampler.draw(np.random.default_rng(seed), targets)  # would catch marks left from an earlier draw
    assert [part.tolist() for part in again] == [part.tolist() for part in drawn]


def test_a_large_fanout_gives_the_whole_neighborhood():
    """A search by loops finds the same concepts, hop by hop."""
    chain = [(f"{i:02}", "next", f"{i + 1:02}") for i in range(8)] + [("00", "next", "04")]
    graph = ConceptGraph(terminology(chain), inverses=False)
    for hops in range(1, 5):
        expected, frontier = {6}, {6}
        for _ in range(hops):
            frontier = {source for target in frontier for source in stated(graph)[target]} - expected
            expected |= frontier
        drawn = NeighborSampler(graph, [9] * hops).draw(np.random.default_rng(0), np.array([6]))
        assert set(drawn.nodes.tolist()) == expected


def test_sets_of_neighbors_are_equally_likely():
    """Would catch a draw with replacement, or one that favors the first or the last neighbors."""
    sampler, rng = NeighborSampler(star(1, 1, 1, 1, 1, 1), [2]), np.random.default_rng(5)
    hub = sampler.graph.terminology.concept("Z:hub")
    counts = Counter(frozenset(sampler.draw(rng, np.array([hub])).nodes[1:].tolist()) for _ in range(3000))
    assert len(counts) == len(list(combinations(range(6), 2)))
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_a_neighbor_of_several_relations_is_no_likelier_and_brings_them_all():
    """Would catch edges that are drawn in place of neighbors."""
    sampler, rng = NeighborSampler(star(3, 1, 1), [1]), np.random.default_rng(1)
    hub = sampler.graph.terminology.concept("Z:hub")
    drawn = [sampler.draw(rng, np.array([hub])) for _ in range(1500)]
    counts = Counter(int(nodes[1]) for nodes, _ in drawn)
    assert chisquare([counts[i] for i in sorted(counts)]).pvalue > 0.001
    assert {(int(nodes[1]), edges.shape[1]) for nodes, edges in drawn} == {(1, 3), (2, 1), (3, 1)}


def test_a_neighbor_that_is_a_target_is_that_node():
    graph = ConceptGraph(terminology([("a", "near", "b"), ("c", "near", "b")]), inverses=False)
    nodes, edges = NeighborSampler(graph, [3]).draw(np.random.default_rng(0), np.array([1, 0]))
    assert nodes.tolist() == [1, 0, 2]
    assert sorted(edges.T.tolist()) == [[1, 0, 0], [2, 0, 0]]


def test_isolated_targets_no_targets_and_no_hops():
    graph = ConceptGraph(terminology([("a", "near", "b"), ("c", "far", "d")], [("e", "f")]), relations=False)
    rng = np.random.default_rng(0)
    for targets in ([0, 2], []):
        nodes, edges = NeighborSampler(graph, [3, 3]).draw(rng, np.array(targets))
        assert nodes.tolist() == targets and edges.shape == (3, 0) and edges.dtype == np.int64
    nodes, edges = NeighborSampler(graph, []).draw(rng, np.array([4, 5]))
    assert nodes.tolist() == [4, 5] and edges.shape == (3, 0)


def test_marks_stay_at_home():
    """Would catch an array of the size of the graph that travels to every worker."""
    sampler = NeighborSampler(star(1, 1))
    expected = sampler.draw(np.random.default_rng(2), np.array([0]))
    assert sampler.__getstate__()["_node"] is None
    found = pickle.loads(pickle.dumps(sampler)).draw(np.random.default_rng(2), np.array([0]))
    assert [part.tolist() for part in found] == [part.tolist() for part in expected]


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([1, 0, 1], "targets: every concept must be one target, found 3 targets of 2 concepts"),
        ([0, 3], "targets must be concepts from 0 to 2, found 0 to 3"),
        ([-1], "targets must be concepts from 0 to 2, found -1 to -1"),
    ],
)
def test_targets_that_cannot_be_are_refused(targets, message):
    with pytest.raises(InputError, match=message):
        NeighborSampler(star(1, 1)).draw(np.random.default_rng(0), np.array(targets))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([3, 0], r"max_neighbors\[1\] must be an integer of at least 1, found 0"),
        ([2.5], r"max_neighbors\[0\] must be an integer of at least 1, found 2.5"),
        (3, "max_neighbors must be a sequence with a number for each hop, found 3"),
    ],
)
def test_hops_that_cannot_be_are_refused(given, message: str):
    with pytest.raises(InputError, match=message):
        NeighborSampler(star(1), given)
