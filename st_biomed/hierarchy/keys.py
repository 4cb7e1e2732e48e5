"""Keys of concepts: two concepts are at a level if they share a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from st_biomed.csr import CSR, DeviceTables
from st_biomed.hierarchy.ancestors import AncestorGraph


class Level(NamedTuple):
    """Pairs at one level: concept ``a`` has a key in ``keys_a`` that concept ``b`` has in ``keys_b``."""

    keys_a: CSR
    keys_b: CSR


def lca_levels(
    graph: AncestorGraph, deepest: np.ndarray, far: int, most_steps: int | None = None
) -> list[list[Level]]:
    """Ancestors by the level of their depth; a concept is its own ancestor.

    Args:
        graph: The graph of ``C`` concepts.
        deepest: Depth of the deepest concept in any source a concept belongs to, ``[C]``.
        far: The level of unrelated concepts.
        most_steps: A common ancestor counts only if it is at most so many steps above one of the two concepts; by
            default all count.
    """
    rows, ancestors, steps_up = [], [], []
    for steps in range(int(graph.depth.max(initial=0)) + 1):
        rows.append(np.repeat(np.arange(len(deepest)), graph.up(steps).counts))
        ancestors.append(graph.up(steps).indices)
        steps_up.append(np.full(len(ancestors[-1]), steps))
    row, ancestor = np.concatenate(rows), np.concatenate(ancestors)
    level = np.clip(deepest - graph.depth, 1, far - 1)[ancestor]

    def table(kept: np.ndarray) -> CSR:
        return CSR.from_pairs(row[kept], ancestor[kept], len(deepest))

    # A single concept without a hierarchy shares no ancestor but itself, and that pair is at distance 0 already.
    tables = [table(level == at) for at in range(1, far)]
    if most_steps is None:
        return [[Level(keys, keys)] for keys in tables]
    near = np.concatenate(steps_up) <= most_steps
    return [[Level(table(near & (level == at)), keys)] for at, keys in enumerate(tables, 1)]


def device_tables(levels: Sequence[Sequence[Level]], sources: CSR | None) -> list[list[tuple[DeviceTables, ...]]]:
    """The keys of every level for batches, starts ``p`` and contents ``x``; a table of both sides is one object.

    Args:
        levels: The ways to each level.
        sources: Concept to the sources it can be compared in. Keys are then (key, source) pairs, so that concepts of
            different sources share none. By default keys alone.
    """
    made: dict[int, DeviceTables] = {}

    def table(keys: CSR) -> DeviceTables:
        if id(keys) not in made:
            own = keys if sources is None else _of_sources(keys, sources)
            made[id(keys)] = DeviceTables(p=own.indptr, x=own.indices)
        return made[id(keys)]

    return [[(table(level.keys_a), table(level.keys_b)) for level in ways] for ways in levels]


def _of_sources(keys: CSR, sources: CSR) -> CSR:
    """Concept to its pairs of a key and a source, each as one number."""
    rows = np.repeat(np.arange(keys.n_rows), keys.counts)
    position, source = sources.take(rows)
    n_sources = 1 + int(sources.indices.max(initial=0))
    return CSR.from_pairs(rows[position], keys.indices[position].astype(np.int64) * n_sources + source, keys.n_rows)


def inverse(table: CSR) -> CSR:
    """Key to concepts, from concept to keys (keys are also concepts)."""
    return CSR.from_pairs(
        table.indices, np.repeat(np.arange(table.n_rows, dtype=np.int32), table.counts), table.n_rows
    )


def meet(keys_a: CSR, keys_b: CSR, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether row ``a[n]`` of one table and row ``b[n]`` of the other share a key, boolean ``[N]``."""
    pair_a, key_a = keys_a.take(a)
    pair_b, key_b = keys_b.take(b)
    width = 1 + max(int(key_a.max(initial=0)), int(key_b.max(initial=0)))
    out = np.zeros(len(a), dtype=bool)
    out[pair_a[np.isin(pair_a * width + key_a, pair_b * width + key_b)]] = True
    return out
