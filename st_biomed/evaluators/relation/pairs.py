"""Related and unrelated pairs of concepts, drawn from a terminology."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from st_biomed.csr import CSR
from st_biomed.errors import InputError, check_name
from st_biomed.records import Tally
from st_biomed.terminology.hierarchical_relations import PARENT_RELATIONS
from st_biomed.terminology.subset import mask
from st_biomed.training_data.draws import draw_distinct, pair_of

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology

KEYS = ("names", "codes")

_TRIES = 20  # candidates for each pair that is wanted: enough unless more than 95% of them are related

ConceptPairs = tuple[np.ndarray, np.ndarray]
"""Heads and tails, concept indices ``[N]`` each."""


class NamedPairs(NamedTuple):
    """Text ids of pairs of concepts, or the concepts themselves if they are identified by codes.

    Attributes:
        row: The pair of concepts, ``[M]``, sorted.
        left, right: Ids of head and tail, ``[M]`` each.
    """

    row: np.ndarray
    left: np.ndarray
    right: np.ndarray


class RelationPairSampler:
    """Draws pairs, identically in every process.

    Args:
        terminology: Concepts, names, relations, parents and types.
        concepts: Indices of concepts, or a mask ``[C]``, that both ends of every pair belong to, e.g. concepts held
            out of training, or concepts with a vector in a table; all by default. Relatedness is always determined in
            the whole terminology. With names as keys, concepts without a name are left out.
        keys: ``"names"`` or ``"codes"``: the content of a pair.
        names_per_pair: Number of name pairs per pair of concepts, drawn without repeats from all their names; by
            default one, the preferred names.
        seed: Random seed. The pairs drawn for a relation do not depend on the other relations.

    Raises:
        InputError: An argument out of range, or fewer than two concepts.
    """

    def __init__(
        self,
        terminology: Terminology,
        *,
        concepts: np.ndarray | Sequence[int] | None = None,
        keys: str = "names",
        names_per_pair: int | None = None,
        seed: int = 0,
    ) -> None:
        check_name("value of keys", keys, KEYS)
        if names_per_pair is not None and (names_per_pair < 1 or keys == "codes"):
            raise InputError(f"names_per_pair must be at least 1, with keys='names', found {names_per_pair}")
        if seed < 0:
            raise InputError(f"seed must not be negative, found {seed}")
        self.terminology, self.keys, self.names_per_pair, self.seed = terminology, keys, names_per_pair, seed
        self._chosen = mask(concepts, terminology.n_concepts, "concepts")
        if keys == "names":
            self._chosen = self._chosen & terminology.has_name
        if self._chosen.sum() < 2:
            raise InputError(f"concepts: at least two are needed, found {int(self._chosen.sum())}")
        rows, parents = terminology.relations, terminology.parents
        ends = [(rows["head"], rows["tail"]), (parents["child"], parents["parent"])]
        self._edges = np.concatenate([self._edge(a.to_numpy(), b.to_numpy()) for a, b in ends])
        self._edges.sort()  # repeats stay: looking up needs order alone
        column = rows["relation"].unify_dictionaries().combine_chunks()
        with_rows, relation = np.unique(column.indices.to_numpy(), return_inverse=True)
        self.relations: list[str] = column.dictionary.take(pa.array(with_rows)).to_pylist()
        self._rows = CSR.from_pairs(relation, np.arange(len(relation)), len(self.relations))

    # ------------------------------------------------------------------ concepts

    def positives(self, relations: Sequence[str], most: int, tally: Tally) -> ConceptPairs:
        """Distinct unordered pairs with one of some relations, with both ends among the selected concepts.

        ``isa`` and ``inverse_isa`` include the parents of the terminology, to which readers map the ``isa`` of a
        source.

        Args:
            relations: Names; unknown relations have no pairs.
            most: Maximum number of pairs, chosen uniformly if there are more: those with the smallest random numbers. A
                pair has one number, whichever relation it is drawn for, so a relation and its inverse have the same
                sample.
            tally: Counts the rows that were read, kept and dropped.
        """
        rows = self.terminology.relations
        found = [np.empty((2, 0), dtype=np.int64)]
        for relation in relations:
            if relation in self.relations:
                relation_rows = self._rows.row(self.relations.index(relation))
                found.append(
                    np.stack([rows[end].to_numpy()[relation_rows].astype(np.int64) for end in ("head", "tail")])
                )
            if relation in PARENT_RELATIONS:
                ends = (self.terminology.parents[end].to_numpy() for end in PARENT_RELATIONS[relation])
                found.append(np.stack(list(ends)).astype(np.int64))
        pairs = np.concatenate(found, axis=1)
        inside = pairs[:, self._chosen[pairs].all(axis=0)]
        edge, first = np.unique(self._edge(*inside), return_index=True)
        kept = first if len(first) <= most else first[np.argsort(self._random_numbers(edge), kind="stable")[:most]]
        tally.read(pairs.shape[1])
        tally.drop("of other concepts", pairs.shape[1] - inside.shape[1])
        tally.drop("repeated or reversed", inside.shape[1] - len(first))
        tally.drop(f"beyond {most:,} of a relation", len(first) - len(kept))
        tally.keep(len(kept))
        heads, tails = inside[:, np.sort(kept)]
        return heads, tails

    def _edge(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """A number for each unordered pair of concepts, int64 ``[N]``."""
        first, second = first.astype(np.int64), second.astype(np.int64)
        return np.minimum(first, second) * self.terminology.n_concepts + np.maximum(first, second)

    def _random_numbers(self, edge: np.ndarray) -> np.ndarray:
        """A random number for each number of a pair, uint64 ``[N]``: SplitMix64 (Steele, Lea and Flood 2014, figure 17)."""
        number = edge.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        number += self._rng("sample", "").integers(2**64, dtype=np.uint64)
        number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return number ^ (number >> np.uint64(31))

    def random(self, n: int) -> ConceptPairs:
        """Candidates for ``n`` pairs: distinct unordered pairs of different concepts in random order."""
        rng = self._rng("random", "")
        concepts = np.flatnonzero(self._chosen)
        total = len(concepts) * (len(concepts) - 1) // 2
        number = np.arange(total) if total <= n * _TRIES else np.unique(rng.integers(total, size=n * _TRIES))
        i, j = pair_of(rng.permutation(number))
        return concepts[i], concepts[j]

    def type_matched(self, pairs: ConceptPairs, n: int, label: str) -> ConceptPairs:
        """Candidates for ``n`` pairs, with repeats: each has the semantic types of a random given pair.

        The head is any concept with a type of that pair's head, the tail any concept with a type of its tail; one of
        several types is drawn. Concepts without a type count as one further type.

        Args:
            pairs: The given pairs, at least one.

        Raises:
            InputError: No concept has a type.
        """
        rng = self._rng("type-matched", label)
        which = rng.integers(len(pairs[0]), size=n * _TRIES)
        types, concepts = self._type_tables
        ends = []
        for end in pairs:
            wanted = end[which]
            kind = types.indices[types.indptr[wanted] + rng.integers(types.counts[wanted])]
            ends.append(concepts.indices[concepts.indptr[kind] + rng.integers(concepts.counts[kind])])
        return ends[0], ends[1]

    def _rng(self, purpose: str, label: str) -> np.random.Generator:
        """An independent generator for one purpose and label, whatever was drawn before."""
        return np.random.default_rng([self.seed, zlib.crc32(f"{purpose} {label}".encode())])

    @cached_property
    def _type_tables(self) -> tuple[CSR, CSR]:
        """Concept to its types, and type to its concepts among those chosen."""
        rows = self.terminology.types
        if not rows.num_rows:
            raise InputError(f"types: none in {self.terminology!r}, which type-matched pairs need")
        column = rows["type"].unify_dictionaries().combine_chunks()
        n_types = len(column.dictionary)
        concept, kind = rows["concept"].to_numpy().astype(np.int64), column.indices.to_numpy().astype(np.int64)
        untyped = np.setdiff1d(np.arange(self.terminology.n_concepts), concept)
        concept, kind = np.append(concept, untyped), np.append(kind, np.full(len(untyped), n_types))
        inside = self._chosen[concept]
        of_concept = CSR.from_pairs(concept, kind, self.terminology.n_concepts)
        return of_concept, CSR.from_pairs(kind[inside], concept[inside], n_types + 1)

    # ------------------------------------------------------------------ names

    def named(self, pairs: ConceptPairs, label: str) -> NamedPairs:
        """The names, or codes, of pairs of concepts; ``label`` names the draw of names."""
        heads, tails = pairs
        row = np.arange(len(heads))
        if self.keys == "codes":
            return NamedPairs(row, heads, tails)
        if self.names_per_pair is None:
            preferred = self.terminology.preferred_texts
            return NamedPairs(row, preferred[heads], preferred[tails])
        names = self.terminology.concept_texts
        row, value = draw_distinct(
            self._rng("names", label), names.counts[heads] * names.counts[tails], self.names_per_pair
        )
        of_head, of_tail = np.divmod(value, names.counts[tails[row]])
        left = names.indices[names.indptr[heads[row]] + of_head]
        return NamedPairs(row, left, names.indices[names.indptr[tails[row]] + of_tail])

    def related(self, named: NamedPairs) -> np.ndarray:
        """Whether two names can name the same concept, or two concepts connected by a relation or a parent, boolean
        ``[M]``.

        All concepts of a name count, not only the one it was drawn for.
        """
        if self.keys == "codes":
            return self._joined(named.left, named.right)
        concepts_of = self.terminology.text_concepts
        place, left = concepts_of.take(named.left)
        entry, right = concepts_of.take(named.right[place])
        joined = self._joined(left[entry], right)
        out = np.zeros(len(named.left), dtype=bool)
        out[place[entry[joined]]] = True
        return out

    def _joined(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Whether two concepts are the same or share an edge, boolean ``[N]``."""
        edge = self._edge(first, second)
        place = np.searchsorted(self._edges, edge)
        return (first == second) | (np.append(self._edges, -1)[place] == edge)

    def unrelated(self, pairs: ConceptPairs, n: int, label: str, tally: Tally) -> NamedPairs:
        """The first ``n`` unrelated pairs in order, or fewer if there are not enough.

        Args:
            label: Name of the draw of names.
            tally: Counts the candidates that were examined, kept, and related.
        """
        named = self.named(pairs, label)
        bad = np.zeros(len(pairs[0]), dtype=bool)
        bad[named.row[self.related(named)]] = True
        good = np.flatnonzero(~bad)[:n]
        looked_at = len(bad) if len(good) < n else int(good[-1]) + 1
        tally.read(looked_at)
        tally.keep(len(good))
        tally.drop("related", looked_at - len(good))
        keep = np.isin(named.row, good)
        return NamedPairs(*(part[keep] for part in named))

    def strings(self, named: NamedPairs) -> list[tuple[str, str]]:
        """The pairs as names or codes, ``[M]``."""
        table = self.terminology.codes if self.keys == "codes" else self.terminology.strings
        return [(table[a], table[b]) for a, b in zip(named.left.tolist(), named.right.tolist())]
