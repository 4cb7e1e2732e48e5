"""The graph of a terminology's parents and relations, for drawing neighborhoods."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.csr import CSR
from st_biomed.errors import InputError, check_integer
from st_biomed.kge.triples import unfiltered_triples
from st_biomed.records import Tally
from st_biomed.terminology import Terminology

INVERSE = "inverse_"
"""Prefix of the name of an inverse relation, as in UMLS's ``isa`` and ``inverse_isa``."""


def inverse_name(relation: str) -> str:
    """The name of a relation's inverse; the inverse of an inverse is the relation."""
    return relation.removeprefix(INVERSE) if relation.startswith(INVERSE) else f"{INVERSE}{relation}"


class ConceptGraph:
    """Concepts as nodes, and directed edges with relations between them.

    A triple (head, relation, tail) is an edge from its head to its tail. A parent is the relation ``isa`` from the child
    to the parent and ``inverse_isa`` back. Self-loops, repeated edges, and edges from a concept without a name are
    dropped and counted; a neighbor needs a name. Rows that refer to an unknown concept were dropped and counted when
    the terminology was built (``terminology.tallies``).

    Args:
        terminology: Concepts with parents and relations.
        relations: Whether relations become edges.
        parents: Whether parents become edges, in both directions.
        inverses: Whether each edge gets an inverse edge with a separate relation. UMLS states nearly all relations in
            both directions, so ``False`` loses nothing there.
        groups: Relation to the name of its group, which replaces the relation, e.g. a RELA of UMLS to its REL; other
            relations keep their name.
        languages: ISO 639-1 codes of the languages of a neighbor's names; all by default.
        shuffle_seed: A control: neighbors are exchanged by a random permutation of the concepts that are neighbors.
            Each target keeps its number of neighbors and its relations, each neighbor its number of targets, but none
            of them has anything to do with the other. ``None`` for the neighbors in the terminology.
        may_be_empty: Whether a graph without edges is accepted, for training on texts alone; by default it is
            rejected.

    Attributes:
        relations: Names of the relations of edges, sorted, ``[R]``.
        neighbors: Concept to the sources of its incoming edges, sorted and distinct: ``P`` entries.
        edge_relations: Entry of ``neighbors`` to the relations of its edges, as indices into ``relations``: ``[P]`` rows.
        names: Concept to the text ids of its names in these languages, ``[C]`` rows.
        tally: Edges read, kept, and dropped by reason.

    Raises:
        InputError: Neither relations nor parents, a language without names, groups of unknown relations, a ``shuffle_seed`` below 0,
            or no edge.
    """

    def __init__(
        self,
        terminology: Terminology,
        *,
        relations: bool = True,
        parents: bool = True,
        inverses: bool = True,
        groups: Mapping[str, str] | None = None,
        languages: Sequence[str] | None = None,
        shuffle_seed: int | None = None,
        may_be_empty: bool = False,
    ) -> None:
        if not relations and not parents:
            raise InputError("relations and parents: one of them is needed for a graph, found neither")
        check_integer("shuffle_seed", shuffle_seed, 0, or_none=True)
        self.terminology = terminology
        self.tally = Tally()
        self.names = _names(terminology, languages)
        relation_names, triples = unfiltered_triples(terminology, relations=relations, parents=parents)
        self.tally.read(triples.shape[1])
        n_turned = triples.shape[1] if inverses else terminology.parents.num_rows * parents
        turned = np.arange(triples.shape[1]) >= triples.shape[1] - n_turned  # parents come last
        apart = triples[0] != triples[2]
        self.tally.drop("of a concept to itself", int((~apart).sum()))
        triples, turned = triples[:, apart], turned[apart]
        edges = self._edges(triples, turned, relation_names, groups or {}, shuffle_seed)
        self.relations, self.neighbors, self.edge_relations = edges
        if not self.n_edges and not may_be_empty:
            raise InputError(f"graph of {terminology!r}: no edge is left (edges: {self.tally})")
        for array in (*self.neighbors, *self.edge_relations):
            array.setflags(write=False)

    def _edges(
        self,
        triples: np.ndarray,
        turned: np.ndarray,
        relation_names: list[str],
        groups: Mapping[str, str],
        shuffle_seed: int | None,
    ) -> tuple[tuple[str, ...], CSR, CSR]:
        """Relations, neighbors and their relations, of triples ``[3, T]`` and of the inverses of those that are turned.

        An edge is one integer (target, source, relation), since numpy sorts integers many times faster than rows.
        """
        names, forward, backward = _relation_names(relation_names, groups)
        n_concepts, n_relations = self.n_nodes, max(1, len(names))
        named = self.names.counts > 0
        head, kind, tail = triples
        known = named[head]
        parts = [_packed((tail[known], head[known], forward[kind[known]]), n_concepts, n_relations)]
        known = turned & named[tail]
        parts.append(_packed((head[known], tail[known], backward[kind[known]]), n_concepts, n_relations))
        n_inverse, n_known = int(turned.sum()), sum(map(len, parts))
        self.tally.read(n_inverse)
        self.tally.drop("from a concept without a name", len(head) + n_inverse - n_known)
        edges = np.concatenate(parts)
        parts.clear()
        edges.sort()
        edges = edges[_first_of_run(edges)]
        self.tally.drop("repeated", n_known - len(edges))
        if shuffle_seed is not None:
            n_read = len(edges)
            edges = _shuffled(edges, n_concepts, n_relations, shuffle_seed)
            self.tally.drop("of a concept to itself, after shuffling", n_read - len(edges))
        self.tally.keep(len(edges))
        pair, relation = np.divmod(edges, n_relations)
        first = _first_of_run(pair)
        target, source = np.divmod(pair[first], n_concepts)
        indptr = np.zeros(n_concepts + 1, dtype=np.int64)
        np.cumsum(np.bincount(target, minlength=n_concepts), out=indptr[1:])
        starts = np.append(np.flatnonzero(first), len(edges))
        is_used = np.bincount(relation, minlength=n_relations) > 0
        number = np.cumsum(is_used) - 1
        return (
            tuple(name for name, used in zip(names, is_used) if used),
            CSR(indptr, source.astype(np.int32)),
            CSR(_small(starts, len(edges)), _small(number, n_relations)[relation]),
        )

    @property
    def n_nodes(self) -> int:
        return self.terminology.n_concepts

    @property
    def n_edges(self) -> int:
        return len(self.edge_relations.indices)

    @cached_property
    def n_isolated(self) -> int:
        """Number of concepts without edges."""
        met = self.neighbors.counts > 0
        met[self.neighbors.indices] = True
        return int((~met).sum())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the terminology's digest, the names of the relations, the edges and the names of neighbors."""
        sha = hashlib.sha256("\0".join([self.terminology.digest, *self.relations]).encode())
        for array in (*self.neighbors, *self.edge_relations, *self.names):
            sha.update(f"\0{len(array)}:".encode() + np.ascontiguousarray(array, dtype="<i8").tobytes())
        return sha.hexdigest()

    def __repr__(self) -> str:
        return (
            f"ConceptGraph({self.n_nodes:,} concepts ({self.n_isolated:,} isolated), {self.n_edges:,} edges, "
            f"{len(self.relations):,} relations)"
        )


def _names(terminology: Terminology, languages: Sequence[str] | None) -> CSR:
    """Concept to the text ids of its names in some languages."""
    if languages is None:
        return terminology.concept_texts
    terms = terminology.terms
    for language in languages:
        if language not in terminology.languages:
            raise InputError(f"languages: no name has the language {language!r}; there are {terminology.languages}")
    spoken = pc.is_in(terms["language"], value_set=pa.array(list(languages), pa.string())).to_numpy()
    concept, text = (terms[column].to_numpy()[spoken] for column in ("concept", "text"))
    return CSR.from_pairs(concept, text, terminology.n_concepts)


def _relation_names(relation_names: list[str], groups: Mapping[str, str]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of all relations that edges may have, and the index of each given one and of its inverse among them."""
    if groups and not groups.keys() & set(relation_names):
        raise InputError(
            f"groups: none of {len(groups)} relations exists, e.g. {min(groups)!r}; there are {relation_names}"
        )
    grouped = [groups.get(name, name) for name in relation_names]
    inverses = [inverse_name(name) for name in grouped]
    names = sorted({*grouped, *inverses})
    place = {name: i for i, name in enumerate(names)}
    forward, backward = (
        np.array([place[name] for name in edge_names], dtype=np.int64) for edge_names in (grouped, inverses)
    )
    return names, forward, backward


def _packed(edges: tuple[np.ndarray, np.ndarray, np.ndarray], n_concepts: int, n_relations: int) -> np.ndarray:
    """(target, source, relation) as one integer each, int64 ``[E]``."""
    target, source, relation = edges
    out = target.astype(np.int64)
    for column, size in ((source, n_concepts), (relation, n_relations)):
        out *= size
        out += column
    return out


def _shuffled(edges: np.ndarray, n_concepts: int, n_relations: int, seed: int) -> np.ndarray:
    """Packed edges, sorted, with their sources permuted; without those that now lead from a concept to itself."""
    pair, relation = np.divmod(edges, n_relations)
    target, source = np.divmod(pair, n_concepts)
    sources, place = np.unique(source, return_inverse=True)
    source = np.random.default_rng(seed).permutation(sources)[place]
    apart = source != target
    edges = _packed((target[apart], source[apart], relation[apart]), n_concepts, n_relations)
    edges.sort()
    return edges


def _first_of_run(values: np.ndarray) -> np.ndarray:
    """Which values differ from the one before, boolean ``[N]``."""
    first = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first


def _small(values: np.ndarray, largest: int) -> np.ndarray:
    """Values from 0 to ``largest`` in the smallest of three types of integers that hold them."""
    return values.astype(next(kind for kind in (np.int16, np.int32, np.int64) if largest <= np.iinfo(kind).max))
