"""The sources that concepts can be compared in."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from st_biomed.csr import CSR
from st_biomed.terminology import Terminology


def comparable_sources(terminology: Terminology) -> CSR:
    """Concept to the sources it can be compared in: those of its edges, otherwise those of its names."""
    parents, terms = terminology.parents, terminology.terms
    numbers = {name: i for i, name in enumerate(terminology.sources)}
    edge_source, term_source = (_numbered(table["source"], numbers) for table in (parents, terms))
    child, parent, concept = (column.to_numpy() for column in (parents["child"], parents["parent"], terms["concept"]))
    placed = np.zeros(terminology.n_concepts, dtype=bool)
    placed[child] = placed[parent] = True
    loose = ~placed[concept]
    rows = np.concatenate([child, parent, concept[loose]])
    return CSR.from_pairs(rows, np.concatenate([edge_source, edge_source, term_source[loose]]), terminology.n_concepts)


def deepest_in_sources(sources: CSR, depth: np.ndarray, n_sources: int) -> np.ndarray:
    """Depth of the deepest concept in any source a concept belongs to, ``[C]``.

    Args:
        sources: Concept to its sources.
        depth: Depth of each concept, ``[C]``.
    """
    rows = np.repeat(np.arange(sources.n_rows), sources.counts)
    deepest = np.zeros(n_sources, dtype=np.int64)
    np.maximum.at(deepest, sources.indices, depth[rows])
    out = np.zeros(sources.n_rows, dtype=np.int64)
    np.maximum.at(out, rows, deepest[sources.indices])
    return out


def _numbered(column: pa.ChunkedArray, numbers: dict[str, int]) -> np.ndarray:
    """A dictionary-encoded column of names as int32 ``[N]``, by the numbers of the names."""
    column = column.unify_dictionaries().combine_chunks()
    # A part of a table keeps values that no row of it has.
    of_entry = np.array([numbers.get(name, -1) for name in column.dictionary.to_pylist()], dtype=np.int32)
    return of_entry[column.indices.to_numpy()]
