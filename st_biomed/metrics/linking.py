"""Accuracy of entity linking: acc@k, reciprocal ranks and recall of each mention, from ranked dictionary entries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from st_biomed.csr import CSR, position_in_row
from st_biomed.errors import InputError
from st_biomed.metrics.linking_gold import Gold

_ROWS = 8192  # strings at once: some 10 MB of id lists at 64 candidates


def first_hits(ranked: np.ndarray, candidate_ids: CSR, gold: Gold) -> np.ndarray:
    """Rank of the first correct candidate of each string, from 1; infinity if there is none.

    Args:
        ranked: Candidates of each string, best first: rows of ``candidate_ids``, padded with -1, ``[P, K]``.
        candidate_ids: Candidate to its ids, by their index in the dictionary.
        gold: The correct answers for the same P strings.

    Returns:
        float64 ``[P]``.
    """
    if len(ranked) != gold.sets.n_rows:
        raise InputError(f"ranked: expected {gold.sets.n_rows:,} rows, found {len(ranked):,}")
    hits = np.full(len(ranked), np.inf)
    for start in range(0, len(ranked), _ROWS):
        block = ranked[start : start + _ROWS]
        row, rank = np.nonzero(block >= 0)
        owner, ids = candidate_ids.take(block[row, rank])
        right = np.zeros(len(row), dtype=bool)
        slot = gold.sets.indptr[start + row]  # one set after another: few strings have more than one
        while (open_ := slot < gold.sets.indptr[start + row + 1]).any():
            sets = gold.sets.indices[np.where(open_, slot, 0)]
            shared = np.bincount(owner[_contains(gold.ids, sets[owner], ids)], minlength=len(row))
            if gold.exact:
                of_candidate = np.bincount(owner, minlength=len(row))
                match = (shared == of_candidate) & (shared == gold.ids.counts[sets])
            else:
                match = shared > 0
            right |= match & open_
            slot = slot + 1
        np.minimum.at(hits, start + row[right], rank[right] + 1.0)
    return hits


def distinct_entries(ranked: np.ndarray, keys: CSR, depth: int) -> np.ndarray:
    """Names ranked as concepts: entries without a new concept are removed, so a concept has the rank of its best name.

    This is max-pooling over names, for entries that may have several ids: an entry is kept if one of its keys is not
    among those of earlier entries. The first entry is always kept, so accuracy at 1 is the same for names and
    concepts.

    Args:
        ranked: Entries, best first, padded with -1, ``[P, K]``.
        keys: Entry to the keys that distinguish concepts: its ids, or one number for the set of them.
        depth: Maximum number of entries.

    Returns:
        Entries, padded with -1, ``[P, depth]``.
    """
    out = np.full((len(ranked), depth), -1, dtype=np.int64)
    width = int(keys.indices.max(initial=0)) + 1
    for start in range(0, len(ranked), _ROWS):
        block = ranked[start : start + _ROWS]
        row, rank = np.nonzero(block >= 0)
        owner, key = keys.take(block[row, rank])
        first = np.unique(row[owner] * width + key, return_index=True)[1]
        new = np.unique(owner[first])  # in the order of rows and ranks
        row, rank = row[new], rank[new]
        place = position_in_row(row)
        kept = place < depth
        out[start + row[kept], place[kept]] = block[row[kept], rank[kept]]
    return out


def mention_ranks(part_ranks: np.ndarray, gold: Gold) -> np.ndarray:
    """Rank of each mention, ``[N]``: that of its worst part, because all parts must be correct."""
    ranks = np.zeros(len(gold.mentions))
    np.maximum.at(ranks, gold.owner, part_ranks)
    return ranks


def share_of_parts(part_ranks: np.ndarray, gold: Gold, k: int) -> np.ndarray:
    """Share of the parts of each mention with a correct candidate among the k best, ``[N]``."""
    found = np.bincount(gold.owner, weights=part_ranks <= k, minlength=len(gold.mentions))
    return found / np.bincount(gold.owner, minlength=len(gold.mentions))


def linking_metrics(
    part_ranks: np.ndarray, gold: Gold, *, depth: int, ks: Iterable[int] = (1, 5), recall_ks: Iterable[int] = (20, 64)
) -> dict[str, float]:
    """Means over mentions.

    ``acc@k``: all parts of the mention are correct within the k best. ``mrr@K``: one over the mention's rank, 0 beyond
    the K ranked candidates. ``recall@k``: share of the mention's parts that are correct within the k best, the upper
    bound of a re-ranker of k candidates; for mentions with one part it equals acc@k.

    Args:
        part_ranks: From :func:`first_hits`, ``[P]``.
        depth: K, the number of ranked candidates.
        ks, recall_ks: The k of accuracy and of recall.

    Raises:
        InputError: A k beyond the depth.
    """
    ks, recall_ks = list(ks), list(recall_ks)
    if (deepest := max([*ks, *recall_ks], default=0)) > depth:
        raise InputError(f"ks: found {deepest}, but only {depth} candidates were ranked")
    ranks = mention_ranks(part_ranks, gold)
    metrics = {f"acc@{k}": float((ranks <= k).mean()) for k in ks}
    metrics[f"mrr@{depth}"] = float((1 / ranks).mean())
    metrics |= {f"recall@{k}": float(share_of_parts(part_ranks, gold, k).mean()) for k in recall_ks}
    return metrics


def unsettled(concepts: np.ndarray, part_ranks: np.ndarray, ks: Sequence[int]) -> int:
    """Strings whose rank among concepts is unknown below max(ks): no hit, and fewer than max(ks) ranked concepts.

    Args:
        concepts: From :func:`distinct_entries`, ``[P, depth]``.
        part_ranks: Their :func:`first_hits`, ``[P]``.
        ks: The reported k.
    """
    return int((np.isinf(part_ranks) & ((concepts >= 0).sum(axis=1) < max(ks))).sum())


def _contains(sets: CSR, row: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Whether each value is in the row of ``sets`` beside it, boolean ``[M]``."""
    width = max(int(sets.indices.max(initial=0)), int(value.max(initial=0))) + 1
    keys = np.repeat(np.arange(sets.n_rows), sets.counts) * width + sets.indices  # rows are sorted, and so are these
    wanted = row * width + value
    place = np.searchsorted(keys, wanted)
    return np.append(keys, -1)[place] == wanted
