"""Distance levels between the texts of a batch, from the parents of their concepts.

A hierarchy is a forest or a directed acyclic graph with several parents per concept. All types of distance have
the same form: two concepts are at level ``l`` if a set of *keys* of one concept (e.g. its ancestors ``i`` steps up)
meets a set of keys of the other, and they are at no nearer level. Batches are compared by joining keys, never by a
loop over pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from st_biomed.csr import CSR, DeviceTables, expand, shares_key
from st_biomed.errors import InputError, check_instance
from st_biomed.hierarchy.ancestors import AncestorGraph
from st_biomed.hierarchy.distance_types import largest_levels, levels_of, sources_by_distance_type
from st_biomed.hierarchy.keys import device_tables, inverse, meet
from st_biomed.hierarchy.pairs import BatchPairs
from st_biomed.hierarchy.sources import comparable_sources, deepest_in_sources
from st_biomed.terminology import Terminology
from st_biomed.terminology.lookup import ConceptLookup

if TYPE_CHECKING:
    from torch import Tensor

MASKED = -1
"""The distance of a masked pair: identical strings, or concepts of different sources."""


class Hierarchy:
    """Ordinal distances between texts: from 0 for names of one concept to ``max_distance`` for unrelated texts.

    ``sibling_parent`` (HiPrBERT, section 3.3): synonyms 0, siblings 1, parent and child 2, everything else 3;
    ``levels`` inserts further kinships. ``lca_depth``: ``H - depth(LCA)`` clipped to ``1..D-1``, where ``H`` is the
    depth of the source and LCA the deepest common ancestor; ``D`` without a common ancestor. ``decimals``: the same, but a
    common ancestor counts only if it is one of the two concepts or a parent of one, so that cousins are at ``D`` (the levels
    of phecodes in HiPrBERT's published code). ``hops``: edges of the
    shortest path over a common ancestor, at most ``D``. If several distances apply (several parents, several concepts
    of one string that can be compared), the smallest counts. Within one source, all pairs without a nearer relation are at ``D``, also
    across its trees. Identical strings and pairs of different sources are masked (-1).

    Args:
        terminology: Concepts, their names and parents. Without parents, only the distances 0 and ``D`` occur.
        distance: ``"sibling_parent"``, ``"lca_depth"``, ``"decimals"`` or ``"hops"``.
        levels: For ``sibling_parent``: the kinships (see ``KINSHIPS``) from near to far; a tuple inside shares a
            level, e.g. ``("sibling", "parent_child", ("grandparent_child", "uncle_nephew"))``.
        source_distances: Source to the distance type for its parents, e.g. ``{"PHECODE": "decimals"}`` as in HiPrBERT's
            published code; ``distance`` for the other sources. All distance types have the same ``D``, that of
            ``sibling_parent`` if it is one of them.
        max_distance: ``D`` for ``lca_depth``, ``decimals`` and ``hops`` (default 3). With a level function, also the largest level
            of that function, for every distance type (default: ``D``); with one of ``LEVEL_FUNCTIONS``, ``2 D - 1``.
        level_function: Maps :class:`BatchPairs` to other levels ``[A, B]``, signed integers (-1 for a masked pair), e.g.
            :func:`~st_biomed.hierarchy.level_functions.by_depth`. It is applied last, and only in :meth:`distance`.
        weight_function: Maps :class:`BatchPairs` to pair weights ``[A, B]``, positive, or 0 to mask a pair. Its levels
            are those after the level function, and negative for masked pairs, whose weights are not used. It may be a
            ``torch.nn.Module`` with learned parameters.

    Attributes:
        distance_type, levels, source_distances: The arguments ``distance``, ``levels`` and ``source_distances``.
        max_distance: Largest level of :meth:`distance`: ``D``, or the declared maximum of the level function.
        far: ``D``, the largest level before the level function.
        text_sources: Text to the sources it can be compared in; ``None`` if there is only one source.
        graph: Parents, children, ancestors and roots, see :class:`~st_biomed.hierarchy.ancestors.AncestorGraph`.
        parents, children: Concept to concepts.
        depth: Longest path from a root, int32 ``[C]``.

    Raises:
        InputError: No terminology, a cycle (named by its codes), an unknown distance, source or kinship, levels in an impossible order.
            In :meth:`distance`: a level function that returns invalid levels, or larger levels than declared.

    Example:
        >>> import torch
        >>> terms = Terminology.read("toy", trees=2, depth=2, branching=2)
        >>> names = ["voglic flumpa disease", "voglic disease of the flumpa", "flumpa disease", "gradtha disease"]
        >>> labels = torch.tensor([terms.strings.index(name) for name in names])
        >>> Hierarchy(terms).distance(labels[:1], labels).tolist()  # itself, a synonym, its parent, another tree
        [[-1, 0, 2, 3]]
    """

    def __init__(
        self,
        terminology: Terminology,
        distance: str = "sibling_parent",
        *,
        levels: Sequence[str | Sequence[str]] = ("sibling", "parent_child"),
        source_distances: Mapping[str, str] | None = None,
        max_distance: int | None = None,
        level_function: Callable[[BatchPairs], Tensor] | None = None,
        weight_function: Callable[[BatchPairs], Tensor] | None = None,
    ) -> None:
        check_instance("terminology", terminology, Terminology)
        self.source_distances = dict(sorted((source_distances or {}).items()))
        sources = sorted(terminology.parents["source"].unique().to_pylist())
        distance_types = sources_by_distance_type(distance, self.source_distances, sources)
        self.far, self.max_distance = largest_levels(distance_types, len(levels), max_distance, level_function)
        self.terminology = terminology
        self.distance_type = distance
        self.levels = tuple(level if isinstance(level, str) else tuple(level) for level in levels)
        self.level_function = level_function
        self.weight_function = weight_function
        self.lookup = ConceptLookup(terminology)
        child = terminology.parents["child"].to_numpy()
        parent = terminology.parents["parent"].to_numpy()
        self.graph = AncestorGraph(child, parent, terminology.concepts["code"])
        self.parents, self.children, self.depth = self.graph.parents, self.graph.children, self.graph.depth
        self._levels = levels_of(terminology, self.graph, self.concept_sources, distance_types, self.levels, self.far)
        self.text_sources = self._comparable_sources()
        # Without ambiguous texts, texts of one source are concepts of one source.
        mixed = self.text_sources is not None and not self.lookup.unambiguous
        self._device_levels = device_tables(self._levels, self.concept_sources if mixed else None)
        self._source_tables = (
            None
            if self.text_sources is None
            else DeviceTables(p=self.text_sources.indptr, x=self.text_sources.indices)
        )

    @property
    def digest(self) -> str:
        """The digest of the terminology."""
        return self.terminology.digest

    def lca(self, concept_a: int, concept_b: int) -> np.ndarray:
        """The deepest common ancestors of two concepts (a concept is its own ancestor); empty if there are none."""
        return self.graph.lca(concept_a, concept_b)

    @cached_property
    def concept_sources(self) -> CSR:
        """Concept to the sources it can be compared in: those of its edges, otherwise those of its names."""
        return comparable_sources(self.terminology)

    @cached_property
    def _text_depths(self) -> DeviceTables:
        """Depth of each text's shallowest concept, and the depth of its sources."""
        concepts, n_sources = self.terminology.text_concepts, len(self.terminology.sources)
        deepest = deepest_in_sources(self.concept_sources, self.depth, n_sources)
        return DeviceTables(
            depth=np.minimum.reduceat(self.depth[concepts.indices], concepts.indptr[:-1]),
            deepest=np.maximum.reduceat(deepest[concepts.indices], concepts.indptr[:-1]),
        )

    def _comparable_sources(self) -> CSR | None:
        sources = self.concept_sources
        if not sources.indices.size or sources.indices.min() == sources.indices.max():
            return None
        return self.terminology.text_concepts.compose(sources)

    # ------------------------------------------------------------------ distances

    def distance(self, labels_a: Tensor, labels_b: Tensor) -> Tensor:
        """Distances of A texts to B texts.

        Args:
            labels_a: Text ids, int64 ``[A]``.
            labels_b: Text ids, int64 ``[B]``, on the same device.

        Returns:
            Levels ``0..max_distance``, int8 ``[A, B]`` on that device; -1 for identical strings and for pairs of
            different sources.

        Raises:
            InputError: Labels that are no text ids, or levels that the level function may not give.
        """
        self.lookup.check(labels_a)
        if labels_b is not labels_a:
            self.lookup.check(labels_b)
        distance = self._levels_of(labels_a, labels_b)
        if self.level_function is None:
            return distance
        changed = self.level_function(self._pairs(labels_a, labels_b, distance))
        check_instance("the result of level_function", changed, type(distance))
        signed = changed.dtype.is_signed and not changed.is_floating_point() and not changed.is_complex()
        if changed.shape != distance.shape or not signed:
            raise InputError(
                f"level_function must give signed integers {list(distance.shape)}, "
                f"found {changed.dtype} {list(changed.shape)}"
            )
        if changed.numel() and (largest := int(changed.max())) > self.max_distance:
            raise InputError(
                f"level_function gives levels up to {largest}, beyond max_distance {self.max_distance}: declare the "
                "largest as max_distance="
            )
        return changed

    def weights(self, labels_a: Tensor, labels_b: Tensor, distance: Tensor | None = None) -> Tensor | None:
        """Pair weights by the weight function; ``None`` without one.

        Args:
            labels_a, labels_b: Text ids, int64 ``[A]`` and ``[B]``.
            distance: The output of :meth:`distance` for these labels, to avoid computing it again; negative for masked
                pairs.

        Returns:
            ``[A, B]`` on the labels' device.
        """
        if self.weight_function is None:
            return None
        distance = self.distance(labels_a, labels_b) if distance is None else distance
        return self.weight_function(self._pairs(labels_a, labels_b, distance))

    def _pairs(self, labels_a: Tensor, labels_b: Tensor, distance: Tensor) -> BatchPairs:
        tables = self._text_depths.on(labels_a.device)
        depths = (tables["depth"][labels_a], tables["depth"][labels_b])
        deepest = (tables["deepest"][labels_a], tables["deepest"][labels_b])
        return BatchPairs(labels_a, labels_b, distance, *depths, *deepest, self)

    def _levels_of(self, labels_a: Tensor, labels_b: Tensor) -> Tensor:
        import torch

        device, shape = labels_a.device, (len(labels_a), len(labels_b))
        rows_a, concepts_a = self.lookup.concepts(labels_a)
        rows_b, concepts_b = self.lookup.concepts(labels_b)
        out = torch.full(shape, self.far, dtype=torch.int8, device=device)
        for level in range(len(self._device_levels), 0, -1):
            for keys_a, keys_b in self._device_levels[level - 1]:
                a, b = keys_a.on(device), keys_b.on(device)
                near = shares_key(
                    *expand(a["p"], a["x"], rows_a, concepts_a), *expand(b["p"], b["x"], rows_b, concepts_b), shape
                )
                if keys_a is not keys_b:
                    near |= shares_key(
                        *expand(b["p"], b["x"], rows_a, concepts_a), *expand(a["p"], a["x"], rows_b, concepts_b), shape
                    )
                out.masked_fill_(near, level)
        out.masked_fill_(shares_key(rows_a, concepts_a, rows_b, concepts_b, shape), 0)
        if self._source_tables is not None:
            tables = self._source_tables.on(device)
            every_a, every_b = (torch.arange(n, device=device) for n in shape)
            comparable = shares_key(
                *expand(tables["p"], tables["x"], every_a, labels_a),
                *expand(tables["p"], tables["x"], every_b, labels_b),
                shape,
            )
            out.masked_fill_(~comparable, MASKED)
        return out.masked_fill_(self.lookup.same_text(labels_a, labels_b), MASKED)

    def concept_distance(self, concepts_a: np.ndarray, concepts_b: np.ndarray) -> np.ndarray:
        """Distances of pairs of concepts, before any level function.

        Args:
            concepts_a, concepts_b: Concept indices, ``[N]`` each.

        Returns:
            Levels ``0..far``, int8 ``[N]``; -1 if the two belong to different sources.
        """
        out = np.full(len(concepts_a), self.far, dtype=np.int8)
        for level in range(len(self._levels), 0, -1):
            for keys in self._levels[level - 1]:
                out[meet(keys.keys_a, keys.keys_b, concepts_a, concepts_b)] = level
                if keys.keys_a is not keys.keys_b:
                    out[meet(keys.keys_b, keys.keys_a, concepts_a, concepts_b)] = level
        out[concepts_a == concepts_b] = 0
        if self._source_tables is not None:
            out[~meet(self.concept_sources, self.concept_sources, concepts_a, concepts_b)] = MASKED
        return out

    def partner_tables(self, level: int) -> list[tuple[CSR, CSR]]:
        """Tables for drawing partners at a level (before any level function): choose a key of the anchor, then a
        concept with it.

        Such a partner may be nearer by another path; check it with :meth:`concept_distance`.

        Args:
            level: From 1 to ``far - 1``.

        Returns:
            Pairs of (concept to keys, key to concepts), one for each path to that level.
        """
        inverted = {id(self.graph.up(0)): self.graph.up(0), id(self.graph.up(1)): self.children}
        tables = []
        for keys_a, keys_b in self._levels[level - 1]:
            tables.append((keys_a, inverted.get(id(keys_b)) or inverse(keys_b)))
            if keys_a is not keys_b:
                tables.append((keys_b, inverted.get(id(keys_a)) or inverse(keys_a)))
        return tables

    def get_config_dict(self) -> dict[str, object]:
        """The settings of the distances, for cards and records."""
        config: dict[str, object] = {
            "distance": self.distance_type,
            "max_distance": self.max_distance,
            "terminology": self.digest,
        }
        if self.source_distances:
            config["source_distances"] = self.source_distances
        for name in ("level_function", "weight_function"):
            if (function := getattr(self, name)) is not None:
                config[name] = getattr(function, "__name__", type(function).__name__)
        used = {self.distance_type, *self.source_distances.values()}
        return config | ({"levels": self.levels} if "sibling_parent" in used else {})

    def __repr__(self) -> str:
        own = "".join(f", {source}={kind}" for source, kind in self.source_distances.items())
        return (
            f"Hierarchy({self.terminology.n_concepts:,} concepts, {len(self.graph.roots):,} trees, depth "
            f"{int(self.depth.max(initial=0))}, distance {self.distance_type}{own} 0..{self.max_distance})"
        )
