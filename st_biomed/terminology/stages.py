"""Tallies of what was done to a terminology, each under the name of its stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from st_biomed.records import Tally


def with_stage(tallies: Mapping[str, Tally], name: str, tally: Tally) -> dict[str, Tally]:
    """The tallies and one more; ``(2)`` follows the name of a stage that is the second of its name."""
    stage, times = name, 1
    while stage in tallies:
        times += 1
        stage = f"{name} ({times})"
    return {**tallies, stage: tally}


def merged_stages(parts: Iterable[tuple[Mapping[str, Tally], Collection[str]]]) -> dict[str, Tally]:
    """The tallies of all parts under names of their own.

    Args:
        parts: Tallies by stage, and the names of the sources of a part, which tell equal stages apart.
    """
    parts = list(parts)
    every = Counter(stage for tallies, _ in parts for stage in tallies)
    stages: dict[str, Tally] = {}
    for tallies, sources in parts:
        for stage, tally in tallies.items():
            name = stage if every[stage] == 1 else f"{stage} of {', '.join(sources)}"
            stages = with_stage(stages, name, tally)
    return stages


def added_stages(tallies: Mapping[str, Tally], parts: Iterable[Mapping[str, Tally]]) -> dict[str, Tally]:
    """The stages that no part brought along, whatever their names.

    Args:
        parts: The tallies of what the terminology was made from.
    """
    brought = {id(tally) for part in parts for tally in part.values()}
    return {stage: tally for stage, tally in tallies.items() if id(tally) not in brought}
