"""The types of distance, as the keys of every level."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.csr import CSR
from st_biomed.errors import InputError, check_integer, check_name
from st_biomed.hierarchy.ancestors import AncestorGraph
from st_biomed.hierarchy.keys import Level, lca_levels
from st_biomed.hierarchy.kinships import ancestor_steps, check_order
from st_biomed.hierarchy.level_functions import LEVEL_FUNCTIONS, largest_split
from st_biomed.hierarchy.sources import deepest_in_sources
from st_biomed.terminology import Terminology

if TYPE_CHECKING:
    from torch import Tensor

    from st_biomed.hierarchy.pairs import BatchPairs

logger = logging.getLogger(__name__)

DISTANCES = ("sibling_parent", "lca_depth", "decimals", "hops")


def sources_by_distance_type(
    distance: str, source_distances: Mapping[str, str], sources: Sequence[str]
) -> dict[str, list[str] | None]:
    """Distance type to the sources of parents it is applied to; ``None`` for all, if there is one distance type.

    Args:
        distance: The distance type of sources that have none of their own.
        source_distances: Source to distance type.

    Raises:
        InputError: An unknown distance type or source.
    """
    for distance_type in (distance, *source_distances.values()):
        check_name("distance", distance_type, DISTANCES)
    for source in source_distances:
        check_name("source of source_distances", source, sources)
    if not source_distances:
        return {distance: None}
    distance_types = {source: source_distances.get(source, distance) for source in sources}
    return {
        distance_type: [source for source in sources if distance_types[source] == distance_type]
        for distance_type in sorted(set(distance_types.values()))
    }


def largest_levels(
    distance_types: Collection[str],
    n_kinships: int,
    max_distance: int | None,
    level_function: Callable[[BatchPairs], Tensor] | None,
) -> tuple[int, int]:
    """The level of unrelated concepts, which all distance types share, before and after the level function.

    Args:
        max_distance: The largest level after it; a function of
            :data:`~st_biomed.hierarchy.level_functions.LEVEL_FUNCTIONS` tells that itself.

    Raises:
        InputError: ``max_distance`` differs from the kinships', is out of range, or no largest level of the function.
    """
    check_integer("max_distance", max_distance, or_none=True)
    if max_distance is not None and max_distance > 127:
        raise InputError(f"max_distance must lie in 1..127, found {max_distance}")
    splits = level_function in LEVEL_FUNCTIONS.values()
    if "sibling_parent" in distance_types:
        far = n_kinships + 1
    elif splits and max_distance is not None:
        far = (max_distance + 1) // 2
    else:
        far = max_distance or 3
    largest = largest_split(far) if splits else far
    if max_distance in (None, largest) or (level_function is not None and not splits):
        return far, max_distance or largest
    if "sibling_parent" in distance_types:
        raise InputError(f"max_distance follows from levels ({largest}) for sibling_parent, found {max_distance}")
    raise InputError(
        f"max_distance must be odd with {getattr(level_function, '__name__', '')}, which makes 2 D - 1 levels of D, "
        f"found {max_distance}"
    )


def levels_of(
    terminology: Terminology,
    graph: AncestorGraph,
    concept_sources: CSR,
    distance_types: Mapping[str, Sequence[str] | None],
    kinships: Sequence[str | Sequence[str]],
    far: int,
) -> list[list[Level]]:
    """The keys of each level from 1 to ``far - 1``.

    Args:
        concept_sources: Concept to the sources it can be compared in.
        distance_types: Distance type to the sources whose parents it is applied to; ``None`` for all.
        kinships: For ``sibling_parent``: the kinships from near to far.
        far: The level of unrelated concepts.

    Raises:
        InputError: An unknown kinship, one that is there twice, a level without one, or kinships in an impossible order.
    """
    steps_of = [ancestor_steps(level) for level in kinships]
    stated = [step for level in steps_of for step in level]
    if not all(steps_of) or len(set(stated)) < len(stated):
        raise InputError(f"levels must have a kinship each, and each kinship once, found {list(kinships)!r}")
    levels: list[list[Level]] = [[] for _ in range(1, far)]
    for distance_type, sources in distance_types.items():
        own = graph if sources is None else _graph_of(terminology, sources)
        if distance_type == "sibling_parent":
            steps = steps_of
            check_order(steps)
        elif distance_type == "hops":
            steps = [[(i, hops - i) for i in range(hops // 2 + 1)] for hops in range(1, far)]
        else:
            deepest = _deepest(distance_type, terminology, own, concept_sources, sources, far)
            found = lca_levels(own, deepest, far, most_steps=1 if distance_type == "decimals" else None)
            levels = [[*ways, *more] for ways, more in zip(levels, found)]
            continue
        levels = [[*ways, *(Level(own.up(i), own.up(j)) for i, j in level)] for ways, level in zip(levels, steps)]
    return levels


def _graph_of(terminology: Terminology, sources: Sequence[str]) -> AncestorGraph:
    """The parents of some sources."""
    rows = terminology.parents
    kept = rows.filter(pc.is_in(rows["source"], value_set=pa.array(list(sources), pa.string())))
    return AncestorGraph(kept["child"].to_numpy(), kept["parent"].to_numpy(), terminology.concepts["code"])


def _deepest(
    distance_type: str,
    terminology: Terminology,
    graph: AncestorGraph,
    concept_sources: CSR,
    sources: Sequence[str] | None,
    far: int,
) -> np.ndarray:
    """Depth of the deepest concept in any of the sources a concept belongs to, ``[C]``; warns if nearly all related
    pairs are at one level."""
    names = list(terminology.sources)
    if sources is not None:
        numbers = [i for i, name in enumerate(names) if name in sources]
        row = np.repeat(np.arange(concept_sources.n_rows), concept_sources.counts)
        kept = np.isin(concept_sources.indices, numbers)
        concept_sources = CSR.from_pairs(row[kept], concept_sources.indices[kept], concept_sources.n_rows)
    deepest = deepest_in_sources(concept_sources, graph.depth, len(names))
    if (most := int(deepest.max(initial=0))) > far:
        logger.warning(
            "%s: the deepest concept is at depth %d, and only common ancestors at depth %d or deeper count as nearer "
            "than level %d: nearly all related pairs are at that level; set max_distance (up to %d) or another distance for "
            "this source (source_distances)",
            distance_type,
            most,
            most - far + 2,
            far - 1,
            most + 1,
        )
    return deepest
