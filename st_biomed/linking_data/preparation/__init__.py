"""Steps between a corpus as it is annotated and the strings that are looked up. Nothing is done that is not named here.

The published figures of NCBI disease and BC5CDR are measured after BioSyn's preprocessing; each of its parts is a
step, so that a figure says which were taken. A step is a function from a :class:`LinkingDataset` to a new one that has
the step's name in ``steps`` and its tally in ``tallies``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from st_biomed.errors import InputError, unknown_name
from st_biomed.linking_data.preparation.composites import split_composites
from st_biomed.linking_data.preparation.expansion import expand_abbreviations
from st_biomed.linking_data.preparation.names import add_mentions, merge_names
from st_biomed.linking_data.preparation.refined import refine
from st_biomed.linking_data.preparation.spelling import correct_spelling
from st_biomed.linking_data.preparation.surface import lower_case, remove_punctuation
from st_biomed.linking_data.preparation.unknown import drop_unknown
from st_biomed.linking_data.records import LinkingDataset

__all__ = [
    "BIOSYN",
    "STEPS",
    "add_mentions",
    "correct_spelling",
    "drop_unknown",
    "expand_abbreviations",
    "lower_case",
    "merge_names",
    "prepare",
    "refine",
    "remove_punctuation",
    "split_composites",
]

STEPS: dict[str, Callable[..., LinkingDataset]] = {
    step.__name__: step
    for step in (
        expand_abbreviations,
        split_composites,
        correct_spelling,
        lower_case,
        remove_punctuation,
        merge_names,
        drop_unknown,
        add_mentions,
        refine,
    )
}
"""Step by name, in the order in which they are usually taken."""

BIOSYN = ("expand_abbreviations", "split_composites", "lower_case", "remove_punctuation", "merge_names")
"""BioSyn's preprocessing but for the spelling list (NCBI disease only), the mentions of concepts that the dictionary lacks, and the
training mentions in the dictionary."""


def prepare(dataset: LinkingDataset, steps: Iterable[str] | Mapping[str, Mapping[str, Any] | None]) -> LinkingDataset:
    """Take some steps, in the order in which they are named.

    Args:
        dataset: As it was read.
        steps: Names of ``STEPS``, or name to its arguments: ``{"correct_spelling": {"path": "list.txt"}}``.

    Raises:
        InputError: An unknown step or argument, a missing argument, or whatever a step finds wrong.
    """
    named = steps if isinstance(steps, Mapping) else dict.fromkeys(steps)
    for name, given in named.items():
        if name not in STEPS:
            raise unknown_name("step", name, STEPS)
        arguments = dict(given or {})
        _, *known = inspect.signature(STEPS[name]).parameters.values()
        for argument in arguments:
            if argument not in {one.name for one in known}:
                raise unknown_name(f"argument of step {name!r}", argument, [one.name for one in known])
        for one in known:
            if one.default is one.empty and one.name not in arguments:
                raise InputError(f"step {name!r} needs {one.name}=")
        dataset = STEPS[name](dataset, **arguments)
    return dataset
