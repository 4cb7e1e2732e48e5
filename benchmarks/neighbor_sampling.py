"""Drawing the neighborhoods of a batch: milliseconds beside a loop over nodes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.graph_scale import invented_graph
from benchmarks.harness import Table, interleaved
from st_biomed.samplers import NeighborSampler
from st_biomed.training_data import ConceptGraph

BATCH_SIZE = 512
FANOUTS: tuple[tuple[int, ...], ...] = ((3,), (10,), (3, 3), (10, 10))

Adjacency = dict[int, list[tuple[int, list[int]]]]


def sampled(graph: ConceptGraph, fanout: Sequence[int], batches: Sequence[np.ndarray]) -> Callable[[], object]:
    """Draw the neighborhoods of each batch."""
    sampler = NeighborSampler(graph, fanout)

    def draw() -> None:
        rng = np.random.default_rng(0)
        for targets in batches:
            sampler.draw(rng, targets)

    return draw


def adjacency_of(graph: ConceptGraph) -> Adjacency:
    """Each node's neighbors with their relations, as lists."""
    return {
        node: [
            (int(graph.neighbors.indices[entry]), graph.edge_relations.row(entry).tolist())
            for entry in range(*graph.neighbors.indptr[node : node + 2].tolist())
        ]
        for node in range(graph.n_nodes)
    }


def looped(adjacency: Adjacency, fanout: Sequence[int], batches: Sequence[np.ndarray]) -> Callable[[], object]:
    """The same by a loop over nodes, as the published code collects neighbors of a batch."""

    def neighborhood(rng: random.Random, targets: list[int]) -> tuple[list[int], list[tuple[int, int, int]]]:
        node = {concept: i for i, concept in enumerate(targets)}
        edges, newest = [], targets
        for most in fanout:
            met = []
            for concept in newest:
                known = adjacency[concept]
                for source, relations in rng.sample(known, most) if len(known) > most else known:
                    if source not in node:
                        node[source] = len(node)
                        met.append(source)
                    edges += [(node[source], node[concept], relation) for relation in relations]
            newest = met
        return list(node), edges

    def draw() -> None:
        rng = random.Random(0)
        for targets in batches:
            nodes, edges = neighborhood(rng, targets.tolist())
            np.array(nodes), np.array(edges).T

    return draw


def main(*, quick: bool = False) -> Table:
    n_concepts, n_edges, n_batches = (2_000, 20_000, 4) if quick else (50_000, 500_000, 40)
    graph = ConceptGraph(invented_graph(n_concepts, n_edges), inverses=False)
    rng = np.random.default_rng(1)
    batches = [rng.choice(n_concepts, min(BATCH_SIZE, n_concepts), replace=False) for _ in range(n_batches)]
    adjacency = adjacency_of(graph)
    rows = []
    for fanout in FANOUTS:
        times = interleaved(
            {"ours": sampled(graph, fanout, batches), "loop": looped(adjacency, fanout, batches)},
            repeats=1 if quick else 7,
        )
        nodes, edges = NeighborSampler(graph, fanout).draw(np.random.default_rng(0), batches[0])
        rows.append(
            [
                list(fanout),
                f"{len(nodes):,}",
                f"{edges.shape[1]:,}",
                *(f"{1e3 * times[name].median / n_batches:.2f} ms" for name in ("ours", "loop")),
                f"{times['ours'].times_faster_than(times['loop']):.1f}",
            ]
        )
    return Table(
        "Neighborhoods of a batch",
        ["most neighbors in each hop", "nodes", "edges", "ours", "loop over nodes", "times faster"],
        rows,
        notes=[
            f"{BATCH_SIZE} targets, {graph.n_nodes:,} concepts, {graph.n_edges:,} edges, invented; the mean of {n_batches} "
            "batches, the median of 7 rounds. Goal: 5 ms a batch at [10, 10]."
        ],
        peers=["numpy"],
    )
