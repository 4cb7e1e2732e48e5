"""Checks of the arguments of a loss, made when it is created and not at the first batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from st_biomed.errors import InputError

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology
    from st_biomed.terminology.lookup import ConceptLookup


def number(
    name: str, value: object, *, above: float | None = None, least: float | None = None, most: float = math.inf
) -> float:
    """A finite number within bounds.

    Args:
        above: The number must be larger than this.
        least: The number must not be smaller than this.
        most: The number must not be larger than this.

    Raises:
        InputError: It is not a number, not finite, or out of bounds.
    """
    allowed = "a finite number"
    if above is not None:
        allowed = f"a number above {above:g}"
    elif least is not None:
        allowed = f"a number of at least {least:g}"
    if most < math.inf:
        allowed += f" and at most {most:g}"
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"{name} must be {allowed}, found {value!r}")
    if (above is not None and value <= above) or (least is not None and value < least) or value > most:
        raise InputError(f"{name} must be {allowed}, found {value!r}")
    return float(value)


def numbers(name: str, value: object, length: int, **bounds: float) -> tuple[float, ...]:
    """One number for all, or a sequence of exactly ``length`` numbers; the bounds are those of :func:`number`.

    Raises:
        InputError: A wrong length, or an entry that :func:`number` rejects.
    """
    if not isinstance(value, Sequence) or isinstance(value, str):
        return (number(name, value, **bounds),) * length
    if len(value) != length:
        raise InputError(f"{name} must be one number or {length} numbers, found {len(value)}")
    return tuple(number(f"{name}[{i}]", entry, **bounds) for i, entry in enumerate(value))


def check_kind(name: str, value: object, kind: type) -> None:
    """Reject an object of another class.

    Raises:
        InputError: It is one.
    """
    if not isinstance(value, kind):
        raise InputError(f"{name} must be a {kind.__name__}, found {type(value).__name__}")


def concept_lookup(lookup: ConceptLookup | Terminology | None) -> ConceptLookup | None:
    """The lookup itself, or one made from a terminology.

    Raises:
        InputError: It is neither.
    """
    from st_biomed.terminology import Terminology
    from st_biomed.terminology.lookup import ConceptLookup

    if lookup is None or isinstance(lookup, ConceptLookup):
        return lookup
    if isinstance(lookup, Terminology):
        return ConceptLookup(lookup)
    raise InputError(f"lookup must be a ConceptLookup, a Terminology or None, found {type(lookup).__name__}")
