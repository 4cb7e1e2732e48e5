"""Pairs of texts at each distance of a hierarchy, drawn without replacement and identically in every process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from tqdm import tqdm

from st_biomed.csr import CSR
from st_biomed.errors import InputError

if TYPE_CHECKING:
    from st_biomed.hierarchy import Hierarchy

_LISTED = 1_000_000  # candidates of one distance; up to here all are listed, beyond, that many are drawn
_BLOCK = 256  # pairs whose distances are looked up together, as the diagonal of one matrix


class _Candidates(NamedTuple):
    """Pairs in both orders, not written out: ``anchor[e]`` with each of ``partners[start[e] : start[e] + size[e]]``."""

    anchor: np.ndarray
    start: np.ndarray
    size: np.ndarray
    partners: np.ndarray


def draw_pairs(
    hierarchy: Hierarchy,
    texts: np.ndarray | None = None,
    *,
    pairs_per_class: int = 800,
    distances: Sequence[int] | None = None,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw distinct unordered pairs of different strings at each distance.

    The distance of every pair is ``hierarchy.distance`` of its two texts, so a far pair cannot be a near pair by
    another path. Up to a million candidates of a distance are listed and drawn uniformly. If there are more, a million
    are sampled, in which a pair that is related in several ways (e.g. by two common parents) is more likely by that
    factor. With a level function, every pair is a candidate for every distance and is found by its level before that
    function.

    Args:
        hierarchy: The source of the distances. For held-out texts, pass the whole hierarchy and ``texts``; in a
            reduced hierarchy, pairs whose relation was removed would count as far.
        texts: Text ids to draw from, or a boolean mask ``[T]``; all by default.
        pairs_per_class: Number of pairs at each distance; all pairs if there are fewer.
        distances: The distances; by default ``0..max_distance``.
        seed: Random seed; the draw of one distance does not depend on the other distances.

    Returns:
        ``(pairs, distances)``: text ids ``[N, 2]``, the smaller first, and int64 ``[N]``, sorted by distance and ids.

    Raises:
        InputError: No pair at one of the distances (named), text ids or distances out of range.
    """
    if pairs_per_class < 1:
        raise InputError(f"pairs_per_class must be at least 1, found {pairs_per_class}")
    if seed < 0:
        raise InputError(f"seed must not be negative, found {seed}")
    far = hierarchy.max_distance
    wanted = range(far + 1) if distances is None else sorted(set(distances))
    if not len(wanted) or not all(0 <= level <= far for level in wanted):
        raise InputError(f"distances must be from 0 to {far} in this hierarchy, found {list(wanted)}")
    ids = _text_ids(texts, hierarchy.terminology.n_texts)
    drawn = []
    for level in tqdm(wanted, desc="pairs", unit=" distances", delay=2, disable=None, leave=False):
        rng = np.random.default_rng([seed, level])
        before = [level] if hierarchy.level_function is None else range(hierarchy.far + 1)
        pairs = np.concatenate([_list_or_draw(_candidates(hierarchy, ids, at), rng) for at in before])
        pairs = np.unique(pairs, axis=0)
        pairs = _first_at(hierarchy, pairs[rng.permutation(len(pairs))], level, pairs_per_class)
        if not len(pairs):
            raise InputError(
                f"no pair at distance {level} of {hierarchy.distance_type} among {len(ids):,} texts; "
                f"distances= selects those to draw (here {list(wanted)})"
            )
        drawn.append(pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))])
    return np.concatenate(drawn), np.repeat(np.array(wanted, dtype=np.int64), [len(pairs) for pairs in drawn])


def _text_ids(texts: np.ndarray | None, n_texts: int) -> np.ndarray:
    """Sorted distinct text ids from ids, a mask or nothing."""
    if texts is None:
        return np.arange(n_texts)
    texts = np.asarray(texts)
    if texts.dtype == bool and texts.shape == (n_texts,):
        return np.flatnonzero(texts)
    if texts.dtype.kind in "iu" and texts.ndim == 1 and (not len(texts) or 0 <= texts.min() <= texts.max() < n_texts):
        return np.unique(texts).astype(np.int64)
    raise InputError(f"texts: expected ids from 0 to {n_texts - 1} or a mask [{n_texts}], found others")


def _candidates(hierarchy: Hierarchy, ids: np.ndarray, level: int) -> _Candidates:
    """All ordered pairs that can be at a level before any level function, by the keys (concept, parent) they share."""
    if level == hierarchy.far:
        nothing = np.zeros(len(ids), dtype=np.int64)
        return _Candidates(ids, nothing, nothing + len(ids), ids)
    terminology = hierarchy.terminology
    row, concept = terminology.text_concepts.take(ids)
    texts_of = CSR.from_pairs(concept, ids[row], terminology.n_concepts)
    itself = CSR(np.arange(terminology.n_concepts + 1), np.arange(terminology.n_concepts))
    ways = [(itself, texts_of)]
    if level > 0:
        ways = [
            (keys_of, concepts_with.compose(texts_of)) for keys_of, concepts_with in hierarchy.partner_tables(level)
        ]
    parts, base = [], 0
    for keys_of, texts_with in ways:
        entry, key = keys_of.take(concept)
        parts.append((ids[row[entry]], base + texts_with.indptr[key], texts_with.counts[key], texts_with.indices))
        base += len(texts_with.indices)
    return _Candidates(*(np.concatenate(part) for part in zip(*parts)))


def _list_or_draw(candidates: _Candidates, rng: np.random.Generator) -> np.ndarray:
    """Distinct unordered pairs of different texts ``[M, 2]``: all of them, or a million draws where there are more."""
    ends = np.cumsum(candidates.size)
    total = int(ends[-1]) if len(ends) else 0
    which = np.arange(total) if total <= _LISTED else rng.integers(total, size=_LISTED)
    entry = np.searchsorted(ends, which, side="right")
    offset = which - (ends - candidates.size)[entry]
    a, b = candidates.anchor[entry], candidates.partners[candidates.start[entry] + offset].astype(np.int64)
    once = a < b  # each pair is there in both orders
    width = 1 + int(b.max(initial=0))
    keys = np.sort(a[once] * width + b[once])
    first = np.r_[True, keys[1:] != keys[:-1]][: len(keys)]
    return np.stack(np.divmod(keys[first], width), axis=1)


def _first_at(hierarchy: Hierarchy, pairs: np.ndarray, level: int, n: int) -> np.ndarray:
    """The first ``n`` pairs that really are at the distance, fewer where there are no more."""
    import torch

    found: list[np.ndarray] = []
    for start in range(0, len(pairs), _BLOCK):
        block = pairs[start : start + _BLOCK]
        labels = torch.from_numpy(block)
        found.extend(block[(hierarchy.distance(labels[:, 0], labels[:, 1]).diagonal() == level).numpy()])
        if len(found) >= n:
            break
    return np.array(found[:n], dtype=np.int64).reshape(-1, 2)
