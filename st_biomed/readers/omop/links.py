"""CONCEPT_RELATIONSHIP and CONCEPT_ANCESTOR: parents, relations and cross-references."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import check_name
from st_biomed.readers._columns import among
from st_biomed.readers.omop.concepts import ABSENT, Concepts, curies
from st_biomed.readers.omop.tables import Tables
from st_biomed.records import Rows

PARENTS = ("is_a", "ancestors")
"""The choices of parents."""

_IS_A, _MAPS_TO = "Is a", "Maps to"
_INVERSES = ("Subsumes", "Mapped from")  # of these two; every relationship is listed in both directions


def link_rows(
    tables: Tables, concepts: Concepts, *, relations: Sequence[str] | None, inverses: bool, parents: Collection[str]
) -> Iterator[Rows]:
    """Read CONCEPT_RELATIONSHIP and CONCEPT_ANCESTOR.

    Args:
        relations: The relationships that are relations; ``None`` for all.
        inverses: Whether to keep both of two inverse relations.
        parents: Members of ``PARENTS``.

    Raises:
        InputError: An option needs a table that is missing; no row has a requested relation.
    """
    if relations:
        tables.need("CONCEPT_RELATIONSHIP", "relations needs")
    second_of_pair = set() if inverses else _second_of_inverse_pairs(tables)
    has_parent = np.zeros(len(concepts.ids), dtype=bool)
    met: set[str] = set()
    for block in tables.blocks("CONCEPT_RELATIONSHIP"):
        names = block["relationship_id"]
        met.update(names.dictionary.to_pylist())
        ids = [block[end].to_numpy() for end in ("concept_id_1", "concept_id_2")]
        head, tail = map(concepts.places, ids)
        is_a = among(names, (_IS_A,) if "is_a" in parents else ())
        maps = among(names, (_MAPS_TO,))
        others = ~among(names, (_IS_A, _MAPS_TO, *_INVERSES))
        related = others if relations is None else among(names, relations)
        keep = tables.filter_rows(
            "CONCEPT_RELATIONSHIP",
            len(head),
            {
                "invalid": among(block["invalid_reason"], ("",)),
                "of a concept to itself": ids[0] != ids[1],
                "inverses of Is a and Maps to": ~among(names, _INVERSES) | related,
                "not asked for": is_a | maps | related,
                "inverse relations": is_a | maps | ~among(names, second_of_pair),
                "of a concept that is not in CONCEPT": (head != ABSENT) & (tail != ABSENT),
                "of a concept that is not read": (head >= 0) & ((tail >= 0) | maps),
            },
        )
        tables.tally.keep(int(keep.sum()))
        rows = keep & is_a
        if rows.any():
            has_parent[head[rows]] = True
            yield _parents(concepts, head[rows], tail[rows])
        rows = keep & maps
        if rows.any():
            yield concepts.xrefs(head[rows], curies(ids[1][rows]), _MAPS_TO)
        rows = keep & related & ~is_a & ~maps
        if rows.any():
            ends = {"head": concepts.codes(head[rows]), "tail": concepts.codes(tail[rows])}
            rest = {"relation": names.filter(pa.array(rows)), "source": _sources(concepts, head[rows], tail[rows])}
            yield Rows("relations", ends | rest)
    for name in relations or ():
        check_name("value of option relations (no row of CONCEPT_RELATIONSHIP has it)", name, met)
    if "ancestors" in parents:
        yield from _ancestors(tables, concepts, has_parent)


def _ancestors(tables: Tables, concepts: Concepts, has_parent: np.ndarray) -> Iterator[Rows]:
    """Parents of concepts that have none yet, boolean ``[C]``: their ancestors one level above."""
    for block in tables.blocks("CONCEPT_ANCESTOR"):
        above, below = (block[end].to_numpy() for end in ("ancestor_concept_id", "descendant_concept_id"))
        parent, child = concepts.places(above), concepts.places(below)
        keep = tables.filter_rows(
            "CONCEPT_ANCESTOR",
            len(above),
            {
                "not one level apart": block["min_levels_of_separation"].to_numpy() == 1,
                "of a concept to itself": above != below,
                "of a concept that is not in CONCEPT": (parent != ABSENT) & (child != ABSENT),
                "of a concept that is not read": (parent >= 0) & (child >= 0),
                "of a concept with an Is a": ~np.append(has_parent, [False, False])[child],
            },
        )
        tables.tally.keep(int(keep.sum()))
        if keep.any():
            yield _parents(concepts, child[keep], parent[keep])


def _parents(concepts: Concepts, children: np.ndarray, parents: np.ndarray) -> Rows:
    ends = {"child": concepts.codes(children), "parent": concepts.codes(parents)}
    return Rows("parents", ends | {"source": _sources(concepts, children, parents)})


def _sources(concepts: Concepts, head: np.ndarray, tail: np.ndarray) -> pa.Array:
    """The vocabulary that both ends are of, otherwise OMOP itself."""
    of_head = concepts.sources(head)
    names = pa.concat_arrays([of_head.dictionary, pa.array(["OMOP"])])
    same = concepts.vocabulary[head] == concepts.vocabulary[tail]
    index = np.where(same, of_head.indices.to_numpy(), len(names) - 1)
    return pa.DictionaryArray.from_arrays(index.astype(np.int32), names)


def _second_of_inverse_pairs(tables: Tables) -> set[str]:
    """The second by name of each two relationships that are inverse in RELATIONSHIP."""
    tables.need("RELATIONSHIP", "inverses=false needs for the pairs of inverse relations")
    pairs: set[tuple[str, str]] = set()
    for block in tables.blocks("RELATIONSHIP"):
        pairs.update(zip(*(pc.cast(column, pa.string()).to_pylist() for column in block.values())))
    return {max(pair) for pair in pairs if all(pair) and pair[0] != pair[1]}
