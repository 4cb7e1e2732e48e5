"""Many sources as one terminology: read, linked, merged, normalized and freed of cycles, with a report of what conflicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError
from st_biomed.records import Tally
from st_biomed.terminology.conflicts import cycles, equal_but_for_case, equal_names, links_that_do_not_hold
from st_biomed.terminology.crosswalk import Crosswalk
from st_biomed.terminology.normalization import normalized
from st_biomed.terminology.stages import added_stages
from st_biomed.terminology.terminology import Terminology
from st_biomed.terminology.union_plan import UnionPlan, UnionSource


class United(NamedTuple):
    """What became of a union.

    Attributes:
        report: What conflicts, ready to be written as JSON: counts by pair of sources, and examples where both may be
            redistributed.
        stages: The tallies of the union itself, without those of its sources.
    """

    terminology: Terminology
    crosswalk: Crosswalk
    report: dict[str, Any]
    stages: dict[str, Tally]


def missing_files(plan: UnionPlan, folder: Path | None = None) -> dict[str, list[Path]]:
    """The files and folders that are not there, by source.

    Args:
        folder: Where paths that are not found as they are lie below.
    """
    placed = [source.below(folder) for source in plan.sources]
    lacking = {source.name: [path for path in source.paths if not path.exists()] for source in placed}
    return {name: paths for name, paths in lacking.items() if paths}


def unite(
    plan: UnionPlan,
    folder: Path | None = None,
    *,
    skip_missing: bool = False,
    progress: Callable[[str, Terminology], None] | None = None,
) -> United:
    """Read the sources of a plan and make one terminology of them.

    Args:
        folder: Where paths that are not found as they are lie below.
        skip_missing: Whether sources without all of their files are left out; else they are refused.
        progress: Called with the name of each source and what was read of it.

    Raises:
        InputError: A file is missing, none is there, or what :meth:`Terminology.read`, :meth:`Crosswalk.between` and
            :meth:`Terminology.merge` refuse, with the source's name.
    """
    lacking = missing_files(plan, folder)
    if lacking and not skip_missing:
        name, paths = next(iter(lacking.items()))
        raise InputError(f"{len(lacking)} of {len(plan.sources)} sources lack files, {name!r} for one: {paths[0]}")
    chosen = [source.below(folder) for source in plan.sources if source.name not in lacking]
    if not chosen:
        raise InputError("no source of the plan has its files")
    parts = []
    for source in chosen:
        parts.append(_read(source))
        if progress is not None:
            progress(source.name, parts[-1])
    if lacking:
        plan = _without_absent_links(plan, parts)
    walk = Crosswalk.between(
        *parts,
        predicates=plan.crosswalk,
        through=plan.through,
        same_name=plan.same_name,
        preferred=plan.preferred_names,
        apart_from=[source.apart_from for source in chosen],
        by_name=[source.by_name for source in chosen],
    )
    whole = walk.merge(*parts)
    of_case = equal_but_for_case(whole)
    circles = cycles(whole, sum(part.n_cyclic_parents for part in parts))
    whole = normalized(whole, plan.normalize)
    if plan.without_cycles:
        whole = whole.without_cycles()
    report = {
        "terminology": whole.digest,
        "sources": {source.name: part.digest for source, part in zip(chosen, parts)},
        "left out": sorted(lacking),
        "equal names of different concepts": equal_names(whole),
        "names equal but for case, before they were normalized": of_case,
        "links that do not hold": links_that_do_not_hold(walk.conflicts, whole.sources),
        "cycles": {**circles, "dropped": plan.without_cycles},
    }
    stages = added_stages(whole.tallies, (part.tallies for part in parts))
    return United(whole, walk, report, stages)


def _read(source: UnionSource) -> Terminology:
    try:
        if not source.reader:
            return Terminology.load(source.path or "")
        return Terminology.read(source.reader, source.path, **source.options)
    except InputError as error:
        raise InputError(f"source {source.name!r}: {error}") from error


def _without_absent_links(plan: UnionPlan, parts: Sequence[Terminology]) -> UnionPlan:
    """The plan without the predicates and prefixes that only the sources that were left out may have."""
    predicates = {name for part in parts for name in part.xrefs["predicate"].unique().to_pylist()}
    followed = tuple(name for name in plan.crosswalk if name in predicates)
    wanted = pa.array(followed, pa.string())
    targets = {
        target.partition(":")[0]
        for part in parts
        for target in part.xrefs.filter(pc.is_in(part.xrefs["predicate"], value_set=wanted))["target"]
        .unique()
        .to_pylist()
    }
    return replace(plan, crosswalk=followed, through=tuple(prefix for prefix in plan.through if prefix in targets))
