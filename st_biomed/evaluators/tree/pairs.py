"""Pairs of texts at each distance of a hierarchy, drawn without replacement and identically in every process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from st_biomed.csr import CSR
from st_biomed.errors import InputError, check_instance
from st_biomed.evaluators.text_ids import text_ids
from st_biomed.hierarchy import Hierarchy

_LISTED = 1_000_000  # candidates of one distance; up to here all are listed, beyond, that many are drawn
_LISTED_OF_CONCEPT = 10_000  # the same of one distance and anchor concept
_BLOCK = 256  # pairs whose distances are looked up together, as the diagonal of one matrix


class _Candidates(NamedTuple):
    """Pairs in both orders, not written out: ``anchor[e]``, as a name of ``concept[e]``, with each of
    ``partners[start[e] : start[e] + size[e]]``."""

    anchor: np.ndarray
    concept: np.ndarray
    start: np.ndarray
    size: np.ndarray
    partners: np.ndarray


def draw_pairs(
    hierarchy: Hierarchy,
    texts: np.ndarray | None = None,
    *,
    pairs_per_class: int = 800,
    pairs_per_concept: int = 0,
    anchors: np.ndarray | None = None,
    distances: Sequence[int] | None = None,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw distinct unordered pairs of different strings at each distance.

    The distance of every pair is ``hierarchy.distance`` of its two texts, so a far pair cannot be a near pair by
    another path. Up to a million candidates of a distance are listed and drawn uniformly. If there are more, a million
    are sampled, in which a pair that is related in several ways (e.g. by two common parents) is more likely by that
    factor. With a level function, every pair is a candidate for every distance and is found by its level before that
    function.

    So drawn, a concept has as many pairs as it has names times those of its relatives, and a few large trees can have
    most. With ``pairs_per_concept``, each concept is an anchor and has that many pairs of its names at each distance,
    drawn uniformly from all of its own (beyond ten thousand candidates, from that many). HiPrBERT's published notebook
    (generate_pretraining_data.ipynb) takes five, from at most ten names on each side, and keeps a pair that is drawn from
    both ends twice; its pairs at the largest distance may be nearer.

    Args:
        hierarchy: The source of the distances. For held-out texts, pass the whole hierarchy and ``texts``; in a
            reduced hierarchy, pairs whose relation was removed would count as far.
        texts: Text ids to draw from, or a boolean mask ``[T]``; all by default.
        pairs_per_class: Number of pairs at each distance; all pairs if there are fewer.
        pairs_per_concept: Largest number of pairs at each distance with one concept as anchor; 0 for any. A concept can be
            in more pairs, those of other anchors.
        anchors: Indices of the concepts that are anchors, with ``pairs_per_concept``; by default all with one of the texts.
            Held-out texts may also be names of concepts that are not held out.
        distances: The distances; by default ``0..max_distance``.
        seed: Random seed; the draw of one distance does not depend on the other distances.

    Returns:
        ``(pairs, distances)``: text ids ``[N, 2]``, the smaller first, and int64 ``[N]``, sorted by distance and ids.

    Raises:
        InputError: No hierarchy, no pair at one of the distances (named), text ids or distances out of range.
    """
    check_instance("hierarchy", hierarchy, Hierarchy)
    if pairs_per_class < 1:
        raise InputError(f"pairs_per_class must be at least 1, found {pairs_per_class}")
    if pairs_per_concept < 0:
        raise InputError(f"pairs_per_concept must not be negative, found {pairs_per_concept}")
    if seed < 0:
        raise InputError(f"seed must not be negative, found {seed}")
    far = hierarchy.max_distance
    wanted = range(far + 1) if distances is None else sorted(set(distances))
    if not len(wanted) or not all(0 <= level <= far for level in wanted):
        raise InputError(f"distances must be from 0 to {far} in this hierarchy, found {list(wanted)}")
    ids = text_ids(texts, hierarchy.terminology.n_texts)
    drawn = []
    for level in tqdm(wanted, desc="pairs", unit=" distances", delay=2, disable=None, leave=False):
        rng = np.random.default_rng([seed, level])
        before = [level] if hierarchy.level_function is None else range(hierarchy.far + 1)
        candidates = [_candidates(hierarchy, ids, at, bool(pairs_per_concept)) for at in before]
        if pairs_per_concept:
            pairs = _of_each_concept(hierarchy, candidates, level, pairs_per_concept, seed, anchors)
            pairs = pairs[rng.permutation(len(pairs))][:pairs_per_class]
        else:
            pairs = np.concatenate([_list_or_draw(part, rng) for part in candidates])
            pairs = np.unique(pairs, axis=0)
            pairs = _first_at(hierarchy, pairs[rng.permutation(len(pairs))], level, pairs_per_class)
        if not len(pairs):
            raise InputError(
                f"no pair at distance {level} of {hierarchy.distance_type} among {len(ids):,} texts; "
                f"distances= selects those to draw (here {list(wanted)})"
            )
        drawn.append(pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))])
    return np.concatenate(drawn), np.repeat(np.array(wanted, dtype=np.int64), [len(pairs) for pairs in drawn])


def _candidates(hierarchy: Hierarchy, ids: np.ndarray, level: int, by_concept: bool = False) -> _Candidates:
    """All ordered pairs that can be at a level before any level function, by the keys (concept, parent) they share."""
    terminology = hierarchy.terminology
    row, concept = terminology.text_concepts.take(ids)
    if level == hierarchy.far:
        first = np.unique(row, return_index=True)[1]  # a text is an anchor once, unless the draw is by concept
        anchor = np.arange(len(row)) if by_concept else first
        nothing = np.zeros(len(anchor), dtype=np.int64)
        return _Candidates(ids[row[anchor]], concept[anchor], nothing, nothing + len(ids), ids)
    texts_of = CSR.from_pairs(concept, ids[row], terminology.n_concepts)
    itself = CSR(np.arange(terminology.n_concepts + 1), np.arange(terminology.n_concepts))
    ways = [(itself, texts_of)]
    if level > 0:
        ways = [
            (keys_of, concepts_with.compose(texts_of)) for keys_of, concepts_with in hierarchy.partner_tables(level)
        ]
    parts = []
    for keys_of, texts_with in ways:
        entry, key = keys_of.take(concept)
        start, size = texts_with.indptr[key], texts_with.counts[key]
        parts.append(_Candidates(ids[row[entry]], concept[entry], start, size, texts_with.indices))
    return _joined(parts)


def _joined(parts: Sequence[_Candidates]) -> _Candidates:
    """Candidates one after the other."""
    bases = np.cumsum([0, *(len(part.partners) for part in parts)])
    moved = (part._replace(start=base + part.start) for base, part in zip(bases, parts))
    return _Candidates(*(np.concatenate(columns) for columns in zip(*moved)))


def _of_each_concept(
    hierarchy: Hierarchy,
    candidates: Sequence[_Candidates],
    level: int,
    n: int,
    seed: int,
    anchors: np.ndarray | None,
) -> np.ndarray:
    """Distinct pairs at a distance, sorted ``[M, 2]``: up to ``n`` with each concept as anchor.

    Each concept has random numbers of its own, so that its pairs do not depend on the other concepts.
    """
    whole = _joined(candidates)
    order = np.argsort(whole.concept, kind="stable")
    if anchors is not None:
        order = order[np.isin(whole.concept[order], anchors)]
    concepts, starts = np.unique(whole.concept[order], return_index=True)
    found = [np.empty((0, 2), dtype=np.int64)]
    for concept, entries in zip(concepts.tolist(), np.split(order, starts[1:])):
        rng = np.random.default_rng([seed, level, concept])
        columns = {name: getattr(whole, name)[entries] for name in ("anchor", "concept", "start", "size")}
        own = whole._replace(**columns)
        pairs = _list_or_draw(own, rng, _LISTED_OF_CONCEPT, both_orders=False)
        found.append(_first_at(hierarchy, pairs[rng.permutation(len(pairs))], level, n, min(_BLOCK, 8 * n)))
    return np.unique(np.concatenate(found), axis=0)


def _list_or_draw(
    candidates: _Candidates, rng: np.random.Generator, most: int | None = None, both_orders: bool = True
) -> np.ndarray:
    """Distinct unordered pairs of different texts ``[M, 2]``: all of them, or ``most`` draws where there are more.

    Args:
        most: By default a million.
        both_orders: Whether the candidates have each pair in both orders, of which one is left out.
    """
    most = _LISTED if most is None else most
    ends = np.cumsum(candidates.size)
    total = int(ends[-1]) if len(ends) else 0
    which = np.arange(total) if total <= most else rng.integers(total, size=most)
    entry = np.searchsorted(ends, which, side="right")
    offset = which - (ends - candidates.size)[entry]
    a, b = candidates.anchor[entry], candidates.partners[candidates.start[entry] + offset].astype(np.int64)
    if not both_orders:
        a, b = np.minimum(a, b), np.maximum(a, b)
    once = a < b
    width = 1 + int(b.max(initial=0))
    keys = np.sort(a[once] * width + b[once])
    first = np.r_[True, keys[1:] != keys[:-1]][: len(keys)]
    return np.stack(np.divmod(keys[first], width), axis=1)


def _first_at(hierarchy: Hierarchy, pairs: np.ndarray, level: int, n: int, size: int = _BLOCK) -> np.ndarray:
    """The first ``n`` pairs that really are at the distance, looked up ``size`` at a time; fewer where there are no more."""
    import torch

    found: list[np.ndarray] = []
    for start in range(0, len(pairs), size):
        block = pairs[start : start + size]
        labels = torch.from_numpy(block)
        found.extend(block[(hierarchy.distance(labels[:, 0], labels[:, 1]).diagonal() == level).numpy()])
        if len(found) >= n:
            break
    return np.array(found[:n], dtype=np.int64).reshape(-1, 2)
