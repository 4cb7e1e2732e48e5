"""The parents and the names of chosen sources, where a terminology holds several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import check_name
from st_biomed.terminology import Terminology


def with_parents_of(terminology: Terminology, sources: Sequence[str]) -> Terminology:
    """The terminology with the parents of some sources; concepts, names and relations stay.

    UMLS has the parents of all its vocabularies, which contradict each other; in HiPrBERT it gives no hierarchy, and its
    pairs have the distances 0 and 3 only (sections 3.1 and 3.3).

    Args:
        terminology: Concepts, names and parents of several sources.
        sources: Names of sources, or prefixes of the codes of children (``UMLS`` for all of its vocabularies); empty
            for all.

    Raises:
        InputError: A source without a parent.
    """
    kept = rows_of_sources(terminology, "parents", "child", sources, "hierarchy source")
    if kept.all():
        return terminology
    return terminology.without_rows("parents", ~kept, "parents of other sources", "hierarchy sources")


def texts_of_sources(terminology: Terminology, sources: Sequence[str]) -> np.ndarray:
    """Whether each text is a name in some sources, boolean ``[T]``.

    Args:
        terminology: Names of several sources.
        sources: Names of sources, or prefixes of the codes of concepts (``UMLS`` for all of its vocabularies); empty
            for all.

    Raises:
        InputError: A source without a name.
    """
    kept = rows_of_sources(terminology, "terms", "concept", sources, "synonym source")
    out = np.zeros(terminology.n_texts, dtype=bool)
    out[terminology.terms["text"].to_numpy()[kept]] = True
    return out


def texts_named_by(terminology: Terminology, sources: Sequence[str]) -> np.ndarray:
    """Whether each text is a name that some sources state, boolean ``[T]``; others may state it as well. Prefixes of
    codes do not count, as they do in :func:`texts_of_sources`: mentions have the codes of their dictionary.

    Raises:
        InputError: The terminology has no such source.
    """
    found = np.zeros(terminology.n_texts, dtype=bool)
    text, of_term = terminology.terms["text"].to_numpy(), terminology.terms["source"]
    for source in sources:
        check_name("source", source, terminology.sources)
        found[text[pc.equal(of_term, source).to_numpy()]] = True
    return found


def rows_of_sources(terminology: Terminology, table: str, end: str, sources: Sequence[str], kind: str) -> np.ndarray:
    """The rows of a table that belong to some sources, boolean ``[N]``."""
    rows = terminology.tables[table]
    if not sources:
        return np.ones(rows.num_rows, dtype=bool)
    concepts = rows[end].to_numpy()
    prefix = pc.list_element(pc.split_pattern(terminology.concepts["code"], ":", max_splits=1), 0)
    prefix = prefix.combine_chunks().dictionary_encode()
    used = np.unique(prefix.indices.to_numpy()[concepts])
    known = set(rows["source"].unique().to_pylist()) | set(prefix.dictionary.take(pa.array(used)).to_pylist())
    for source in sources:
        check_name(kind, source, known)
    chosen = pa.array(list(sources), pa.string())
    of_row = pc.is_in(rows["source"], value_set=chosen).to_numpy()
    of_concept = pc.is_in(prefix, value_set=chosen).to_numpy(zero_copy_only=False)
    return of_row | of_concept[concepts]
