"""Grouping nodes: concepts without a name that have a concept with a name below them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.csr import CSR
from st_biomed.records import Tally


def with_groupings(
    tables: dict[str, pa.Table], groupings: pa.ChunkedArray, parents: dict[str, pa.ChunkedArray], tally: Tally
) -> dict[str, pa.Table]:
    """Concepts and terms after grouping nodes got their place among the concepts.

    A grouping node without a concept with a name below it is dropped and counted, and so are repeated ones, and those that
    terms name.

    Args:
        tables: ``concepts``, ``texts`` and ``terms`` of the concepts with a name.
        groupings: Codes of the grouping nodes in any order.
        parents: The columns ``child`` and ``parent`` with codes.
    """
    named = tables["concepts"]["code"].combine_chunks()
    distinct = groupings.unique().cast(pa.string())
    tally.drop("repeated groupings", len(groupings) - len(distinct))
    nameless = distinct.filter(pc.invert(pc.is_in(distinct, value_set=named)))
    tally.drop("groupings that have a name", len(distinct) - len(nameless))
    codes = pa.concat_arrays([named, nameless])
    codes = codes.take(pc.sort_indices(codes))
    child, parent = (_places(parents[end], codes) for end in ("child", "parent"))
    known = (child >= 0) & (parent >= 0)
    has_name = pc.is_in(codes, value_set=named).to_numpy(zero_copy_only=False)
    kept = has_name | above_names(has_name, ~has_name, child[known], parent[known])
    codes = codes.filter(pa.array(kept))
    n_kept = len(codes) - len(named)
    tally.keep(n_kept)
    tally.drop("groupings without a named concept below them", len(nameless) - n_kept)
    note_groupings(n_kept, tally)
    concept = pc.index_in(named, codes).to_numpy()[tables["terms"]["concept"].to_numpy()]
    terms = tables["terms"].set_column(0, "concept", pa.array(concept))
    return {**tables, "concepts": pa.table({"code": codes}), "terms": terms}


def above_names(has_name: np.ndarray, nameless: np.ndarray, child: np.ndarray, parent: np.ndarray) -> np.ndarray:
    """Nameless concepts above a concept with a name, boolean ``[C]``.

    Only paths over nameless concepts are followed: a concept with a name on a path is a start of its own.

    Args:
        has_name: Concepts with a name, boolean ``[C]``.
        nameless: The nameless concepts to choose from, boolean ``[C]``.
        child, parent: Concept indices of every edge.
    """
    inside = (has_name | nameless)[child] & nameless[parent]
    return CSR.from_pairs(child[inside], parent[inside], len(has_name)).reach(np.flatnonzero(has_name))


def note_groupings(n: int, tally: Tally) -> None:
    """Note how many grouping nodes there are, if there are any."""
    if n:
        tally.note(f"{n:,} nameless grouping nodes" if n > 1 else "1 nameless grouping node")


def _places(column: pa.ChunkedArray, codes: pa.Array) -> np.ndarray:
    """The places of dictionary-encoded values among codes, ``[N]``; -1 where a value is no code."""
    places = [np.empty(0, np.int32)]
    for chunk in column.chunks:
        of_value = pc.index_in(chunk.dictionary, codes).fill_null(-1).to_numpy()
        places.append(of_value[chunk.indices.to_numpy()])
    return np.concatenate(places)
