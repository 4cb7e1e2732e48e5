"""Parents and children as an acyclic graph: depth, ancestors, common ancestors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError


class AncestorGraph:
    """A forest, or a directed acyclic graph with several parents per concept.

    Args:
        child, parent: The ends of the edges, ``[E]`` each.
        codes: The code of each concept, ``[C]``, a list or an arrow column, for messages about cycles.

    Attributes:
        parents, children: Concept to concepts.
        depth: Longest path from a concept without parents, int32 ``[C]``.

    Raises:
        InputError: There is a cycle.
    """

    def __init__(self, child: np.ndarray, parent: np.ndarray, codes: Sequence[str]) -> None:
        self.parents = CSR.from_pairs(child, parent, len(codes))
        self.children = CSR.from_pairs(parent, child, len(codes))
        self.depth = self._depths(codes)
        concepts = np.arange(len(codes), dtype=np.int32)
        self._up = [CSR(np.arange(len(codes) + 1, dtype=np.int64), concepts), self.parents]

    @property
    def roots(self) -> np.ndarray:
        """Concepts with children and without a parent."""
        return np.flatnonzero((self.parents.counts == 0) & (self.children.counts > 0))

    def up(self, steps: int) -> CSR:
        """Concept to its ancestors exactly ``steps`` edges up; the concept itself for 0."""
        while len(self._up) <= steps:
            self._up.append(self._up[-1].compose(self.parents))
        return self._up[steps]

    def ancestors(self, concept: int) -> np.ndarray:
        """All concepts above ``concept``, sorted."""
        return np.flatnonzero(self.parents.reach(np.array([concept])))

    def lca(self, concept_a: int, concept_b: int) -> np.ndarray:
        """The deepest common ancestors of two concepts (a concept is its own ancestor); empty if there are none."""
        common = np.intersect1d(
            np.append(self.ancestors(concept_a), concept_a), np.append(self.ancestors(concept_b), concept_b)
        )
        return common[self.depth[common] == self.depth[common].max()] if len(common) else common

    def _depths(self, codes: Sequence[str]) -> np.ndarray:
        """Layer by layer: a concept's turn comes when all of its parents have had theirs (Kahn's order)."""
        waiting = self.parents.counts.copy()
        depth = np.zeros(len(waiting), dtype=np.int32)
        layer, done, level = np.flatnonzero(waiting == 0), 0, 0
        while len(layer):
            depth[layer] = level
            done += len(layer)
            _, below = self.children.take(layer)
            np.subtract.at(waiting, below, 1)
            ready = np.zeros(len(waiting), dtype=bool)
            ready[below[waiting[below] == 0]] = True
            layer = np.flatnonzero(ready)
            level += 1
        if done < len(waiting):
            cycle = " -> ".join(str(codes[concept]) for concept in self._cycle(waiting > 0))
            raise InputError(
                f"cycle in the hierarchy, child to parent: {cycle} (keep the parents of one source, or drop those on "
                "cycles: st-biomed subset --without-cycles, Terminology.without_cycles())"
            )
        return depth

    def _cycle(self, stuck: np.ndarray) -> list[int]:
        """One cycle among concepts of which each has a parent in the set."""
        path = [int(np.flatnonzero(stuck)[0])]
        place = {path[0]: 0}
        while True:
            above = self.parents.row(path[-1])
            path.append(int(above[stuck[above]][0]))
            if path[-1] in place:
                return path[place[path[-1]] :]
            place[path[-1]] = len(path) - 1
