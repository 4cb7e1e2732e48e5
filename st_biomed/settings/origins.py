"""The origin of an option's value: a default, a configuration, one that it extends, or the command line.

A value that a configuration sets may lose its use by a later choice: ``--distillation 0`` ends that of the
``distillation_removed`` of a file. It is a mistake only if nothing after it made that choice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeVar

Filled = TypeVar("Filled")

_ATTRIBUTE = "_origins"


def with_origins(instance: Filled, places: Iterable[Collection[str]]) -> Filled:
    """The same instance, which knows the origins of its values.

    Args:
        instance: A dataclass of options.
        places: The names that each place sets, e.g. those of a file and then those of the command line; later places
            override earlier ones.
    """
    ranks = {name: rank for rank, names in enumerate(places, start=1) for name in names}
    vars(instance)[_ATTRIBUTE] = ranks
    return instance


def later(instance: Any, name: str, others: Collection[str]) -> bool:
    """Whether one of other options was set in a later place than an option; without known origins, none was.

    Args:
        instance: A dataclass of options.
        name: The option.
        others: The other options.
    """
    ranks: dict[str, int] = vars(instance).get(_ATTRIBUTE, {})
    return any(ranks.get(other, 0) > ranks.get(name, 0) for other in others)


def carry_origins(old: Any, new: Filled, changed: Collection[str]) -> Filled:
    """A changed copy of an instance, with the origins of the original; the changed values are the latest.

    Args:
        old: The original.
        new: The copy.
        changed: Names of the changed options.
    """
    ranks: dict[str, int] = vars(old).get(_ATTRIBUTE, {})
    vars(new)[_ATTRIBUTE] = ranks | dict.fromkeys(changed, max(ranks.values(), default=0) + 1)
    return new
