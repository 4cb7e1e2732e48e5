"""Drawing the neighborhoods of a batch of concepts, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from st_biomed.errors import InputError, check_integer
from st_biomed.training_data.concept_graph import ConceptGraph
from st_biomed.training_data.draws import draw_distinct

MAX_NEIGHBORS = 3
"""BERGAMOT's setting: at most three neighbors of a concept."""


class Neighborhood(NamedTuple):
    """A part of a graph around some targets.

    Attributes:
        nodes: Concept of each node, each once: the targets in their order, then the neighbors in the order of
            discovery, int64 ``[N]``.
        edges: Source node, target node and relation of each edge, int64 ``[3, E]``; a source is a drawn neighbor of its
            target.
    """

    nodes: np.ndarray
    edges: np.ndarray


class NeighborSampler:
    """Draws neighbors uniformly and without replacement, hop by hop.

    Neighbors are drawn, not edges: a neighbor with several relations to a concept is as likely as any other, and
    contributes an edge for each relation. A node's neighbors are drawn once, in the hop after its discovery; a
    neighbor that is already a node remains that node.

    Args:
        max_neighbors: Maximum number of neighbors of a node, for each hop from the targets outward; empty for the
            targets alone.

    Raises:
        InputError: No sequence, or a number that is not an integer of at least 1.
    """

    def __init__(self, graph: ConceptGraph, max_neighbors: Sequence[int] = (MAX_NEIGHBORS,)) -> None:
        if not isinstance(max_neighbors, Sequence) or isinstance(max_neighbors, str):
            raise InputError(f"max_neighbors must be a sequence with a number for each hop, found {max_neighbors!r}")
        for hop, number in enumerate(max_neighbors):
            check_integer(f"max_neighbors[{hop}]", number)
        self.graph = graph
        self.max_neighbors = tuple(max_neighbors)
        self._node: np.ndarray | None = None

    def draw(self, rng: np.random.Generator, targets: np.ndarray) -> Neighborhood:
        """The neighborhood of B concepts.

        Args:
            rng: The only source of randomness.
            targets: Different concepts, ``[B]``.

        Raises:
            InputError: A repeated concept, or a number that is not a concept.
        """
        targets = np.asarray(targets, dtype=np.int64)
        self._check(targets)
        if self._node is None:
            self._node = np.full(self.graph.n_nodes, -1, dtype=np.int32)
        node = self._node
        nodes, newest, offset, n_nodes = [targets], targets, 0, len(targets)
        edges = [np.empty((3, 0), dtype=np.int64)]
        node[targets] = np.arange(n_nodes)
        try:
            for most in self.max_neighbors:
                target, source, relation = self._neighbors(rng, newest, most)
                first = _first_met(node, source)
                newest = source[first].astype(np.int64)
                nodes.append(newest)
                node[newest] = np.arange(n_nodes, n_nodes + len(newest))
                edges.append(np.stack([node[source], offset + target, relation]))
                offset, n_nodes = n_nodes, n_nodes + len(newest)
        finally:
            for drawn in nodes:
                node[drawn] = -1
        return Neighborhood(np.concatenate(nodes), np.concatenate(edges, axis=1))

    def _neighbors(
        self, rng: np.random.Generator, concepts: np.ndarray, most: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Drawn edges to concepts: whose (index into ``concepts``), from which concept, of which relation, ``[E]`` each."""
        neighbors, relations = self.graph.neighbors, self.graph.edge_relations
        start = neighbors.indptr[concepts]
        row, rank = draw_distinct(rng, neighbors.indptr[concepts + 1] - start, most)
        entry = start[row] + rank
        which, relation = relations.take(entry)
        return row[which], neighbors.indices[entry[which]], relation

    def _check(self, targets: np.ndarray) -> None:
        n_nodes = self.graph.n_nodes
        if len(targets) and (targets.min() < 0 or targets.max() >= n_nodes):
            raise InputError(
                f"targets must be concepts from 0 to {n_nodes - 1}, found {targets.min()} to {targets.max()}"
            )
        once = np.unique(targets)
        if len(once) < len(targets):
            raise InputError(
                f"targets: every concept must be one target, found {len(targets)} targets of {len(once)} concepts"
            )

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_node": None}


def _first_met(node: np.ndarray, concepts: np.ndarray) -> np.ndarray:
    """Where each concept that is no node yet stands for the first time, ``[N]`` (ascending).

    Args:
        node: The node of each concept, -1 for none; what it says of the others is lost.
        concepts: Concepts with repeats, ``[M]``.
    """
    new = np.flatnonzero(node[concepts] < 0)
    backwards = new[::-1]
    node[concepts[backwards]] = backwards  # of several assignments the last holds: the first place
    return new[node[concepts[new]] == new]
