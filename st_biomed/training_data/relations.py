"""Pairs of names of related concepts (HiPrBERT's relation pairs), drawn once as integers."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from datasets import Dataset, DatasetInfo

from st_biomed.arrow_strings import take_strings
from st_biomed.errors import InputError, check_integer, unknown_name
from st_biomed.records import Tally
from st_biomed.terminology import Terminology
from st_biomed.terminology.hierarchical_relations import PARENT_RELATIONS
from st_biomed.training_data.columns import description
from st_biomed.training_data.draws import draw_distinct
from st_biomed.training_data.relation_lookup import relation_label


def relation_pairs(
    terminology: Terminology,
    relations: Sequence[str] | None = None,
    *,
    max_concept_pairs: int = 100_000,
    names_per_pair: int = 5,
    inverses: bool = True,
    parents: bool = False,
    seed: int = 0,
    tally: Tally | None = None,
) -> Dataset:
    """Draw name pairs for each relation.

    The two names of a row are positives of each other, because they belong to the same pair of concepts. A row has a
    label for each name, which encodes the name, its concept and the other concept;
    :class:`~st_biomed.training_data.relation_lookup.RelationLookup` decodes them.

    Args:
        relations: Names of the relations, at least one; all by default.
        max_concept_pairs: Maximum number of concept pairs per relation, chosen at random (100,000 in the paper).
        names_per_pair: Maximum number of name pairs per concept pair, chosen at random without repeats (5 in the
            paper).
        inverses: Whether two concepts are drawn for each of their relations (in UMLS every relation has its inverse);
            otherwise only for the first relation in alphabetical order.
        parents: Whether each parent is a pair of ``isa`` (child and parent) and of ``inverse_isa`` (parent and child),
            beside relations of these names. HiPrBERT's 28 relations have both, which UMLS states as REL = PAR and CHD;
            the reader ``umls`` makes parents of these.
        seed: Random seed, from 0 on. The names drawn for a relation do not depend on the other relations.
        tally: Counts relation rows read, concept pairs kept, and dropped rows by reason.

    Returns:
        Columns ``name_a`` (head), ``name_b`` (tail) and ``label`` (two int64), sorted by relation and concepts: shuffle them in
        training. ``info.description`` is ``"terminology:<digest>"``.

    Raises:
        InputError: No relations and, with ``parents``, no parents; an empty list of relations, an unknown relation, or a
            number that is not an integer in its range.
    """
    check_integer("max_concept_pairs", max_concept_pairs)
    check_integer("names_per_pair", names_per_pair)
    check_integer("seed", seed, 0)
    if relations is not None and not len(relations):
        raise InputError("relations must be the names of at least one relation, or None for all, found none")
    tally = Tally() if tally is None else tally
    seen = np.empty(0, dtype=np.int64)
    texts_a: list[np.ndarray] = []
    texts_b: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    for relation, head, tail in _concept_pairs(terminology, relations, parents):
        tally.read(len(head))
        rng = np.random.default_rng([seed, zlib.crc32(relation.encode())])
        named = terminology.has_name[head] & terminology.has_name[tail]
        tally.drop("of a concept without a name", int((~named).sum()))
        head, tail = head[named], tail[named]
        chosen, key = _distinct_pairs(head, tail, terminology.n_concepts, tally, directed=inverses)
        if not inverses:
            new = ~np.isin(key[chosen], seen)
            tally.drop("under another relation too", int((~new).sum()))
            chosen = chosen[new]
            seen = np.concatenate([seen, key[chosen]])
        if len(chosen) > max_concept_pairs:
            tally.drop(f"beyond {max_concept_pairs:,} of a relation", len(chosen) - max_concept_pairs)
            chosen = np.sort(rng.choice(chosen, max_concept_pairs, replace=False))
        tally.keep(len(chosen))
        drawn = _draw_names(rng, terminology, head[chosen], tail[chosen], names_per_pair)
        for column, values in zip((texts_a, texts_b, labels), drawn):
            column.append(values)
    if not sum(map(len, labels)):
        raise InputError(f"relations: no pair of concepts with names that differ is left ({tally})")
    texts = terminology.texts["text"]
    table = pa.table(
        {
            "name_a": take_strings(texts, np.concatenate(texts_a)),
            "name_b": take_strings(texts, np.concatenate(texts_b)),
            "label": pa.FixedSizeListArray.from_arrays(pa.array(np.concatenate(labels).reshape(-1)), 2),
        }
    )
    return Dataset(table, info=DatasetInfo(description=description(terminology)))


def _distinct_pairs(
    head: np.ndarray, tail: np.ndarray, n_concepts: int, tally: Tally, *, directed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The first row of each pair of concepts, sorted by pair, and a number for the pair of every row."""
    ends = (head, tail) if directed else (np.minimum(head, tail), np.maximum(head, tail))
    key = ends[0] * n_concepts + ends[1]
    _, first = np.unique(key, return_index=True)
    tally.drop("repeated", len(head) - len(first))
    return first, key


def _draw_names(
    rng: np.random.Generator, terminology: Terminology, head: np.ndarray, tail: np.ndarray, names_per_pair: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Text ids of both names and the labels ``[N, 2]`` of name pairs of each pair of concepts."""
    names, n_concepts = terminology.concept_texts, terminology.n_concepts
    n_names = names.counts
    row, name_pair = draw_distinct(rng, n_names[head] * n_names[tail], names_per_pair)
    rank_a, rank_b = np.divmod(name_pair, n_names[tail[row]])
    head, tail = head[row], tail[row]
    name_a, name_b = names.indptr[head] + rank_a, names.indptr[tail] + rank_b
    text_a, text_b = names.indices[name_a], names.indices[name_b]
    labels = np.stack([relation_label(name_a, tail, n_concepts), relation_label(name_b, head, n_concepts)], axis=1)
    differ = text_a != text_b  # one string for both concepts teaches nothing
    return text_a[differ], text_b[differ], labels[differ]


def _concept_pairs(
    terminology: Terminology, relations: Sequence[str] | None, parents: bool
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, heads and tails (int64) of each relation in alphabetical order."""
    rows, above = terminology.relations, terminology.parents
    of_parents = PARENT_RELATIONS if parents and above.num_rows else {}
    if not rows.num_rows and not of_parents:
        raise InputError(f"no relations in {terminology!r}: relation pairs need at least one")
    column = rows["relation"].unify_dictionaries().combine_chunks()
    names = column.dictionary.to_pylist()
    known = {*names, *of_parents}
    wanted = sorted(known if relations is None else set(relations))
    for relation in wanted:
        if relation not in known:
            raise unknown_name("relation", relation, sorted(known))
    code = column.indices.to_numpy()
    order = np.argsort(code, kind="stable")
    sizes = np.bincount(code, minlength=len(names))
    ends = np.cumsum(sizes)
    head, tail = (rows[end].to_numpy() for end in ("head", "tail"))
    for relation in wanted:
        own_rows = order[:0]
        if relation in names:
            i = names.index(relation)
            own_rows = order[ends[i] - sizes[i] : ends[i]]
        pairs = [np.stack([head[own_rows], tail[own_rows]])]
        if relation in of_parents:
            pairs.append(np.stack([above[end].to_numpy() for end in of_parents[relation]]))
        first, second = np.concatenate(pairs, axis=1).astype(np.int64)
        yield relation, first, second
