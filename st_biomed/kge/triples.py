"""Triples of a terminology, without those that make link prediction trivial or impossible to learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from st_biomed.errors import InputError, check_name
from st_biomed.records import Tally
from st_biomed.settings.checks import COUNT, check_value, within

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology

ISA = "isa"
"""The relation of a child to its parent; it is merged with a relation of the same name in the terminology."""

LEAST_TRIPLES = 25
"""The paper filters rare relations but states no threshold; of 25 triples the smallest part (4%) gets one."""

MIRROR_SHARE = 0.97
"""The paper filters inverse relations but states no threshold: that of Toutanova and Chen (2015) for FB15k-237."""


class TripleOptions(NamedTuple):
    """Selection of the triples of a terminology for a graph.

    Attributes:
        parents: Whether to use its parents, as relation :data:`ISA`.
        inverses: Names of a relation and of its inverse, as declared by the source; the triples of the second are
            reversed and added to the first. A relation is the inverse of at most one other, and then has none itself.
        mirror_share: One of two relations is dropped if at least this share of the larger one's pairs are pairs of the
            other, reversed or not. A relation is symmetric if this share of its pairs exists in both directions.
        least_triples: Relations with fewer triples are dropped.
    """

    relations: bool = True
    parents: bool = True
    inverses: Sequence[tuple[str, str]] = ()
    mirror_share: float = MIRROR_SHARE
    least_triples: int = LEAST_TRIPLES

    def check(self) -> None:
        """Reject options out of range.

        Raises:
            InputError: Neither relations nor parents, a share or a number out of range, or a relation that is its own
                inverse, the inverse of two others, or both an inverse and one that has an inverse.
        """
        if not self.relations and not self.parents:
            raise InputError("relations and parents: one of them is needed for a graph, found neither")
        check_value("least_triples", self.least_triples, COUNT)
        check_value("mirror_share", self.mirror_share, within("(0, 1]"))
        for pair in self.inverses:
            if isinstance(pair, str) or len(pair) != 2:
                raise InputError(f"inverses: expected pairs of relations, found {pair!r}")
        turned = [inverse for _, inverse in self.inverses]
        for name, inverse in self.inverses:
            if name == inverse:
                raise InputError(
                    f"inverses: {name!r} cannot be its own inverse; symmetric relations are detected automatically"
                )
            if turned.count(inverse) > 1:
                raise InputError(
                    f"inverses: each relation is turned round once, found {inverse!r} as an inverse twice"
                )
            if name in turned:
                raise InputError(
                    f"inverses: a relation is an inverse or has inverses, found {name!r} as both; give each pair once"
                )


PAPER = TripleOptions()
"""Relations and parents, with the paper's filters."""


class Triples(NamedTuple):
    """The selected triples.

    Attributes:
        entities: Codes of the concepts with a triple, sorted.
        relations: Names of the relations with a triple, sorted.
        triples: (head, relation, tail) as indices into these, int64 ``[T, 3]``, sorted.
        tally: Triples kept, and dropped by reason.
        dropped: Name of each dropped relation to the reason.
    """

    entities: tuple[str, ...]
    relations: tuple[str, ...]
    triples: np.ndarray
    tally: Tally
    dropped: dict[str, str]


def parse_inverses(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs from arguments of the form ``NAME=INVERSE``.

    Raises:
        InputError: Another form.
    """
    pairs = [text.split("=") for text in arguments]
    for text, pair in zip(arguments, pairs):
        if len(pair) != 2 or not all(pair):
            raise InputError(f"inverses are written NAME=INVERSE, found {text!r}")
    return [(name, inverse) for name, inverse in pairs]


def terminology_triples(terminology: Terminology, options: TripleOptions = PAPER) -> Triples:
    """The triples of a terminology after the paper's filters: "we filter out rare and inverse relations" (3.1).

    These are dropped, in this order: triples with equal ends, repeated triples, declared inverses (after reversal),
    relations that duplicate another relation in either direction, the second direction of symmetric relations, and
    rare relations. Of two relations, the one with more triples is kept, then the one with the shorter name.

    Raises:
        InputError: An option out of range, a declared inverse that is not a relation, or no remaining triple.
    """
    options.check()
    names, stated = unfiltered_triples(terminology, relations=options.relations, parents=options.parents)
    triples = stated.T.astype(np.int64)
    tally, dropped = Tally(), dict[str, str]()
    tally.read(len(triples))
    loops = triples[:, 0] == triples[:, 2]
    tally.drop("with equal ends", int(loops.sum()))
    triples = _distinct(triples[~loops], tally, "repeated")
    triples = _turn_inverses(triples, names, options.inverses, tally, dropped)
    triples = _drop_mirrors(triples, names, options.mirror_share, tally, dropped)
    triples = _drop_rare(triples, names, options.least_triples, tally, dropped)
    tally.keep(len(triples))
    if not len(triples):
        raise InputError(f"graph: no triple is left (triples: {tally})")
    concepts, ends = np.unique(triples[:, [0, 2]], return_inverse=True)
    kinds, kind = np.unique(triples[:, 1], return_inverse=True)
    ends = ends.reshape(-1, 2)
    entities = terminology.concepts["code"].take(pa.array(concepts)).to_pylist()
    numbered = np.stack([ends[:, 0], kind, ends[:, 1]], axis=1).astype(np.int64)
    return Triples(tuple(entities), tuple(names[i] for i in kinds), numbered, tally, dropped)


def unfiltered_triples(
    terminology: Terminology, *, relations: bool = True, parents: bool = True
) -> tuple[list[str], np.ndarray]:
    """The unfiltered triples of a terminology.

    Args:
        parents: Whether to use its parents, as relation :data:`ISA`; where a relation has this name, they are one.

    Returns:
        Names of the relations, sorted, and (heads, relations, tails) by concept index and name, int32
        ``[3, T]``: the rows of the relations, then those of the parents.
    """
    of_relations = terminology.relations if relations else terminology.relations.slice(0, 0)
    of_parents = terminology.parents if parents else terminology.parents.slice(0, 0)
    column = of_relations["relation"].unify_dictionaries().combine_chunks()
    entry, values = column.indices.to_numpy(), column.dictionary.to_pylist()
    used_entries = np.flatnonzero(
        np.bincount(entry, minlength=len(values))
    ).tolist()  # a part of a table keeps every value
    names = sorted({*(values[i] for i in used_entries), *([ISA] if len(of_parents) else [])})
    of_entry = np.zeros(len(values), dtype=np.int32)
    of_entry[used_entries] = [names.index(values[i]) for i in used_entries]
    triples = np.empty((3, len(of_relations) + len(of_parents)), dtype=np.int32)
    stated, placed = triples[:, : len(of_relations)], triples[:, len(of_relations) :]
    stated[0], stated[1], stated[2] = of_relations["head"].to_numpy(), of_entry[entry], of_relations["tail"].to_numpy()
    placed[0], placed[2] = of_parents["child"].to_numpy(), of_parents["parent"].to_numpy()
    placed[1] = names.index(ISA) if len(of_parents) else 0
    return names, triples


def _distinct(triples: np.ndarray, tally: Tally, reason: str) -> np.ndarray:
    """The triples sorted, each once."""
    if not len(triples):
        return triples
    n_relations, width = int(triples[:, 1].max()) + 1, int(triples[:, [0, 2]].max()) + 1
    key = np.unique((triples[:, 0] * n_relations + triples[:, 1]) * width + triples[:, 2])
    tally.drop(reason, len(triples) - len(key))
    rest, tail = np.divmod(key, width)
    head, relation = np.divmod(rest, n_relations)
    return np.stack([head, relation, tail], axis=1)


def _turn_inverses(
    triples: np.ndarray,
    names: list[str],
    inverses: Sequence[tuple[str, str]],
    tally: Tally,
    dropped: dict[str, str],
) -> np.ndarray:
    """Turn the triples of declared inverses round."""
    triples = triples.copy()
    for name, inverse in inverses:
        for relation in (name, inverse):
            check_name("relation among the inverses", relation, names)
        rows = triples[:, 1] == names.index(inverse)
        triples[rows] = triples[rows][:, ::-1]
        triples[rows, 1] = names.index(name)
        dropped[inverse] = f"declared inverse of {name}, turned round"
    return _distinct(triples, tally, "stated by a declared inverse, too")


def _drop_mirrors(
    triples: np.ndarray, names: list[str], share: float, tally: Tally, dropped: dict[str, str]
) -> np.ndarray:
    """Drop relations that another one makes superfluous, and one direction of symmetric relations."""
    if not len(triples):
        return triples
    size = np.bincount(triples[:, 1], minlength=len(names))
    same, turned = _shared_pairs(triples, len(names))
    kept: list[int] = []
    removed = np.zeros(len(names), dtype=bool)
    for relation in sorted(np.flatnonzero(size).tolist(), key=lambda i: (-size[i], len(names[i]), names[i])):
        for other in kept:
            if max(same[relation, other], turned[relation, other]) >= share * size[other]:
                mirrors = turned[relation, other] > same[relation, other]
                removed[relation] = True
                dropped[names[relation]] = f"{'mirrors' if mirrors else 'says the same as'} {names[other]}"
                tally.drop(f"of relations that {'mirror' if mirrors else 'repeat'} another", int(size[relation]))
                break
        else:
            kept.append(relation)
    symmetric = turned.diagonal() >= share * np.maximum(size, 1)
    heads, kinds, tails = triples.T
    width = int(triples[:, [0, 2]].max()) + 1
    pairs = (heads * len(names) + kinds) * width + tails
    backwards = (tails * len(names) + kinds) * width + heads
    second = symmetric[kinds] & (heads > tails) & np.isin(backwards, pairs) & ~removed[kinds]
    tally.drop("second directions of symmetric relations", int(second.sum()))
    return triples[~removed[kinds] & ~second]


def _shared_pairs(triples: np.ndarray, n_relations: int) -> tuple[np.ndarray, np.ndarray]:
    """How many pairs of entities two relations share, as they are and turned round, both ``[R, R]``."""
    heads, kinds, tails = triples.T
    width = int(triples[:, [0, 2]].max()) + 1
    distinct, place = np.unique(np.r_[heads * width + tails, tails * width + heads], return_inverse=True)
    ones, shape = np.ones(len(triples), dtype=np.int64), (n_relations, len(distinct))
    as_is = csr_array((ones, (kinds, place[: len(triples)])), shape=shape)
    turned = csr_array((ones, (kinds, place[len(triples) :])), shape=shape)
    return (as_is @ as_is.T).toarray(), (as_is @ turned.T).toarray()


def _drop_rare(triples: np.ndarray, names: list[str], least: int, tally: Tally, dropped: dict[str, str]) -> np.ndarray:
    size = np.bincount(triples[:, 1], minlength=len(names))
    rare = (size > 0) & (size < least)
    dropped |= {names[i]: f"rare ({size[i]} of at least {least} triples)" for i in np.flatnonzero(rare).tolist()}
    tally.drop("of rare relations", int(size[rare].sum()))
    return triples[~rare[triples[:, 1]]]
