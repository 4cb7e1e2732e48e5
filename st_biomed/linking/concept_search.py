"""The nearest concepts of a vector. A concept is as near as its nearest name."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError, check_integer
from st_biomed.linking.catalog import Catalog
from st_biomed.linking.conditions import Conditions
from st_biomed.linking.forks import use_one_thread_in_a_fork
from st_biomed.linking.pair_scores import reaches
from st_biomed.linking.pooling import Pooled, pool_names
from st_biomed.linking.vector_index import VectorIndex, rows_for_search

_QUERIES_AT_ONCE = 1024

_NAMES_AT_ONCE = 2**22
"""Found names of all queries that are pooled at once: their memory, where few concepts are allowed that have many names."""


class Match(NamedTuple):
    """A candidate concept of a mention.

    Attributes:
        concept: Its id.
        score: Similarity of the mention and ``name``, the nearest of the concept's names.
        name: That name.
        label: Label of the concept.
        types: Its semantic types.
    """

    concept: str
    score: float
    name: str
    label: str
    types: tuple[str, ...] = ()


class Allowed(NamedTuple):
    """The part of an index that is searched.

    Attributes:
        table: Name to its concepts that may be found: N rows.
        names: Rows of the names that have one, sorted; ``None`` for all.
        n_concepts: Number of concepts that may be found.
    """

    table: CSR
    names: np.ndarray | None
    n_concepts: int


class ConceptSearch:
    """Search for concepts by vectors.

    Args:
        catalog: Names and their concepts.
        vectors: The search index over the names.
    """

    def __init__(self, catalog: Catalog, vectors: VectorIndex) -> None:
        self.catalog, self.vectors = catalog, vectors
        self._allowed = Conditions(), Allowed(catalog.name_concepts, None, catalog.n_named)

    def search(
        self, vectors: np.ndarray, k: int, conditions: Conditions, *, threshold: float | None = None
    ) -> list[list[Match]]:
        """See :meth:`st_biomed.linking.ConceptIndex.search_vectors`."""
        use_one_thread_in_a_fork()
        self.check_limits(k, threshold)
        vectors = np.asarray(vectors, dtype=np.float32)
        dimension = self.vectors.matrix.shape[1]
        if vectors.ndim != 2 or vectors.shape[1] != dimension:
            raise InputError(
                f"vectors: expected [Q, {dimension}], the dimension of the index, found {list(vectors.shape)}"
            )
        if not np.isfinite(vectors).all():
            raise InputError("vectors: hold NaN or infinity")
        allowed = self.allowed(conditions)
        out: list[list[Match]] = [[] for _ in vectors]
        for start in range(0, len(vectors), _QUERIES_AT_ONCE):
            block = rows_for_search(vectors[start : start + _QUERIES_AT_ONCE], self.vectors.similarity)
            for found in self._pooled(block, k, allowed):
                names = self.catalog.texts(found.name)
                columns = (found.query.tolist(), found.concept.tolist(), found.score.tolist(), names)
                for query, concept, score, name in zip(*columns):
                    if reaches(score, threshold):
                        out[start + query].append(self._match(concept, score, name))
        return out

    def check_limits(self, k: int, threshold: float | None) -> None:
        """Check the limits of a search.

        Raises:
            InputError: ``k`` below 1, or a threshold that is no number, or that no score can reach or miss.
        """
        check_integer("k", int(k) if isinstance(k, np.integer) else k)
        if threshold is None:
            return
        if isinstance(threshold, bool) or not isinstance(threshold, int | float | np.number) or math.isnan(threshold):
            raise InputError(f"threshold must be a number or None, found {threshold!r}")
        if self.vectors.similarity == "cosine" and not -1 <= threshold <= 1:
            raise InputError(f"threshold {threshold:g}: the scores of the index are cosines, from -1 to 1")

    def _pooled(self, queries: np.ndarray, k: int, allowed: Allowed) -> Iterator[Pooled]:
        """The concepts of each query; names are taken until they stand for k concepts."""
        n_names = len(self.catalog) if allowed.names is None else len(allowed.names)
        enough = min(k, allowed.n_concepts)
        pending, depth = np.arange(len(queries)), max(4 * k, 16)
        while len(pending):
            at_once, remaining = max(1, _NAMES_AT_ONCE // depth), []
            for part in np.split(pending, range(at_once, len(pending), at_once)):
                scores, names = self.vectors.search(queries[part], depth, allowed.names)
                pooled = pool_names(scores, names, allowed.table, k)
                counts = np.bincount(pooled.query, minlength=len(part))
                whole = (counts >= enough) | (depth >= n_names)
                kept = whole[pooled.query]
                query, *columns = (column[kept] for column in pooled)
                yield Pooled(part[query], *columns)
                remaining.append(part[~whole])
            pending, depth = np.concatenate(remaining), depth * 4

    def allowed(self, conditions: Conditions) -> Allowed:
        """What may be found under some conditions; that of the last call is kept.

        Raises:
            InputError: See :meth:`Conditions.entries`.
        """
        kept, found = self._allowed
        if conditions == kept:
            return found
        if conditions == Conditions():
            found = Allowed(self.catalog.name_concepts, None, self.catalog.n_named)
        else:
            table = self.catalog.names_with(conditions.entries(self.catalog))
            found = Allowed(table, np.flatnonzero(table.counts), len(np.unique(table.indices)))
        self._allowed = conditions, found
        return found

    def _match(self, concept: int, score: float, name: str) -> Match:
        types = () if self.catalog.types is None else tuple(self.catalog.types[concept])
        return Match(self.catalog.concepts[concept], score, name, self.catalog.labels[concept], types)
