"""Steps between an annotated corpus and the strings to look up. Every change is one of the steps named here.

The published figures of NCBI disease and BC5CDR are measured after BioSyn's preprocessing. Each of its parts is a
step, so that a figure states the steps before it. A step is a function from a :class:`LinkingDataset` to a new one
with the step's name in ``steps`` and its tally in ``tallies``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from st_biomed.errors import InputError, check_name, unknown_name
from st_biomed.linking_data.preparation.composites import split_composites
from st_biomed.linking_data.preparation.expansion import expand_abbreviations
from st_biomed.linking_data.preparation.names import add_mentions, merge_names
from st_biomed.linking_data.preparation.refined import refine
from st_biomed.linking_data.preparation.spelling import correct_spelling
from st_biomed.linking_data.preparation.surface import lower_case, remove_punctuation
from st_biomed.linking_data.preparation.unknown import drop_unknown
from st_biomed.linking_data.records import LinkingDataset
from st_biomed.settings.keyword_options import check_types

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
"""Steps by name, in their usual order."""

BIOSYN = ("expand_abbreviations", "split_composites", "lower_case", "remove_punctuation", "merge_names")
"""BioSyn's preprocessing without the spelling list (only for NCBI disease), mentions of concepts that the dictionary
lacks, and the training mentions in the dictionary."""


def prepare(dataset: LinkingDataset, steps: Iterable[str] | Mapping[str, Mapping[str, Any] | None]) -> LinkingDataset:
    """Apply some steps in the given order.

    Args:
        dataset: The data set after reading.
        steps: Names of ``STEPS``, or name to its arguments: ``{"correct_spelling": {"path": "list.txt"}}``.

    Raises:
        InputError: An unknown or repeated step, an unknown or missing argument, an argument of another type, or an error
            of a step.
    """
    names = list(steps)
    for i, name in enumerate(names):
        check_name("step", name, STEPS)
        if name in names[:i]:
            raise InputError(f"steps: {name!r} is repeated, each step may be given once")
    named = steps if isinstance(steps, Mapping) else dict.fromkeys(names)
    for name, step_arguments in named.items():
        arguments = dict(step_arguments or {})
        _, *known = inspect.signature(STEPS[name]).parameters.values()
        for argument in arguments:
            if argument not in {parameter.name for parameter in known}:
                raise unknown_name(f"argument of step {name!r}", argument, [parameter.name for parameter in known])
        for parameter in known:
            if parameter.default is parameter.empty and parameter.name not in arguments:
                raise InputError(f"step {name!r} needs {parameter.name}=")
        check_types(f"step {name!r}", STEPS[name], arguments)
        dataset = STEPS[name](dataset, **arguments)
    return dataset
