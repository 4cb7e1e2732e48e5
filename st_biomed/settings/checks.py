"""Small checks of the values of options, written beside the option, in its field or its annotation.

In a dataclass: ``alpha: float = field(default=2.0, metadata=about("what it is", above(0)))``. In a command:
``recall: Annotated[float, typer.Option(help="..."), within("(0, 1]")]``. Values that no option accepts, such as NaN,
are rejected without a check.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Collection
from dataclasses import MISSING as _NONE
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

from st_biomed.errors import InputError, shown, unknown_name
from st_biomed.files import check_writable
from st_biomed.settings.declared_types import fits, in_words
from st_biomed.settings.origins import later

LARGEST = 2**31 - 1
"""The largest value of a whole number, unless its check has another."""

LARGEST_SEED = 2**32 - 1
"""The largest seed of NumPy."""

_LONGEST_NAME, _LONGEST_PATH = 255, 4095  # bytes, on all common file systems


@dataclass(frozen=True)
class Check:
    """The requirement on one value.

    Args:
        wrong: From the option's name and a value to the error message; ``None`` for a valid value.
    """

    wrong: Callable[[str, Any], str | None]


def about(help: str, check: Check) -> dict[str, Any]:
    """The metadata of a field: its text in ``--help``, and the check of its value."""
    return {"help": help, "check": check}


def check_value(name: str, value: Any, check: Check | None = None) -> None:
    """Reject an invalid value of an option.

    Args:
        name: The name of the option as users write it.
        value: The value, or a list whose members are checked; ``None`` means that it is not given.

    Raises:
        InputError: No option accepts the value, or the check rejects it.
    """
    for member in value if isinstance(value, list | tuple) else [value]:
        if member is not None and (line := _never(name, member) or (check.wrong(name, member) if check else None)):
            raise InputError(line)


def check_fields(instance: Any) -> None:
    """Reject values of another type or that fail the checks of a dataclass, for its ``__post_init__``.

    Raises:
        InputError: Another type than the annotation's, or as in :func:`check_value`.
    """
    types = get_type_hints(type(instance))
    for option in fields(instance):
        value, declared = getattr(instance, option.name), types[option.name]
        if not fits(value, declared):
            raise InputError(f"{option.name} must be {in_words(declared)}, found {value!r}")
        check_value(option.name, value, option.metadata.get("check"))


def check_unused(instance: Any, names: Collection[str], where: str, by: Collection[str] = ()) -> None:
    """Reject options that have another value than their default although nothing reads them.

    Args:
        instance: A dataclass of options.
        names: The options that are not read.
        where: The choice by which they are not, e.g. ``"graph sage"``.
        by: The options of this choice. A value is allowed if it is from a file, and one of them was set after it: in a
            file that extends this one, or on the command line.

    Raises:
        InputError: With the first of them.
    """
    for option in fields(instance):
        if option.name not in names or later(instance, option.name, by):
            continue
        default = option.default if option.default_factory is _NONE else option.default_factory()
        if (value := getattr(instance, option.name)) != default:
            raise InputError(f"{option.name}: is not used with {where}, found {shown(value)}")


def _never(name: str, value: Any) -> str | None:
    """The reason that no option accepts a value."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"{name} must be a finite number, found {value}"
    if isinstance(value, int) and abs(value) > LARGEST_SEED:
        return f"{name} is out of range, found {shown(value)}"
    if isinstance(value, str | Path):
        if "\0" in str(value):
            return f"{name} contains a NUL character, found {shown(str(value))}"
        if any("\ud800" <= letter <= "\udfff" for letter in str(value)):
            return f"{name} contains bytes that are not UTF-8, found {shown(str(value))}"
    return _too_long(name, value) if isinstance(value, Path) else None


# ---------------------------------------------------------------------- numbers


def at_least(low: int, high: int = LARGEST) -> Check:
    """A number from ``low`` to ``high``."""

    def wrong(name: str, value: Any) -> str | None:
        if value < low:
            return f"{name} must be at least {low}, found {shown(value)}"
        return None if value <= high else f"{name} must be at most {high}, found {shown(value)}"

    return Check(wrong)


def above(low: float) -> Check:
    """A number above ``low``."""
    return Check(lambda name, value: None if value > low else f"{name} must be above {low:g}, found {shown(value)}")


def within(interval: str) -> Check:
    """A number in an interval, e.g. ``"[0, 1)"``: at least 0 and below 1."""
    low, high = map(float, interval[1:-1].split(","))
    words = f"{'at least' if interval[0] == '[' else 'above'} {low:g} and "
    words += f"{'at most' if interval[-1] == ']' else 'below'} {high:g}"

    def wrong(name: str, value: Any) -> str | None:
        inside = (low <= value if interval[0] == "[" else low < value) and (
            value <= high if interval[-1] == "]" else value < high
        )
        return None if inside else f"{name} must be {words}, found {shown(value)}"

    return Check(wrong)


def share_or_number(interval: str) -> Check:
    """A share in an interval as of :func:`within`, or a whole number from 1."""
    share = within(interval)

    def wrong(name: str, value: Any) -> str | None:
        if 1 <= value <= LARGEST and value == round(value):
            return None
        line = share.wrong(name, value)
        return line and line.replace(", found", ", or a whole number, found")

    return Check(wrong)


COUNT = at_least(1)
SIZE = at_least(0)
WEIGHT = at_least(0)
SEED = at_least(0, LARGEST_SEED)
PROCESSES = at_least(1, 1024)
DROPOUT = within("[0, 1)")


# ---------------------------------------------------------------------- words


def one_of(*allowed: str, called: str | None = None) -> Check:
    """A name of a closed list.

    Args:
        called: The word for a name in messages; by default the option's name.
    """

    def wrong(name: str, value: Any) -> str | None:
        return None if value in allowed else str(unknown_name(called or name.lstrip("-"), value, allowed))

    return Check(wrong)


def _no_expression(name: str, value: str) -> str | None:
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        return f"{name}: {shown(value)} is not a regular expression: {error}"
    return None


PATTERN = Check(_no_expression)
"""A regular expression."""


def _no_mapping(name: str, value: Any) -> str | None:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            return f"{name}: {shown(value)} is not JSON: {error}"
    return None if isinstance(value, dict) else f"{name} must be a JSON object like '{{\"name\": 1}}', found {value!r}"


MAPPING = Check(_no_mapping)
"""A JSON object."""


# ---------------------------------------------------------------------- files and folders


def _too_long(name: str, value: str | Path) -> str | None:
    names = os.fsencode(str(value)).split(b"/")
    if max(map(len, names)) > _LONGEST_NAME or sum(map(len, names)) + len(names) > _LONGEST_PATH:
        return f"{name} is too long for a path, found {shown(str(value))}"
    return None


def _no_path(name: str, value: str | Path) -> str | None:
    return _too_long(name, value) or (None if str(value).strip() else f"{name} is empty, expected a name or a path")


PATH = Check(_no_path)
"""A path, or the name of a terminology, a benchmark or a model."""


def _no_folder(name: str, value: str | Path) -> str | None:
    try:
        if (line := _too_long(name, value)) is None and str(value):
            check_writable(value)
    except InputError as error:
        line = f"{name}: {error}"
    return line


FOLDER = Check(_no_folder)
"""A folder to write to; empty for none."""


def _no_file(name: str, value: str | Path) -> str | None:
    try:
        if (line := _no_path(name, value)) is None:
            check_writable(value, file=True)
            if Path(value).exists() and not Path(value).is_file():
                line = f"{name}: {value}: is a device or a pipe, expected a file to write"
    except InputError as error:
        line = f"{name}: {error}"
    return line


FILE = Check(_no_file)
"""A file to write."""


def check_last_seed(last: int) -> None:
    """Raise InputError if the last of consecutive seeds is too large, before anything is trained.

    Raises:
        InputError: It is larger than :data:`LARGEST_SEED`.
    """
    if last > LARGEST_SEED:
        raise InputError(f"seed: each run has the next one, up to {last}; the largest is {LARGEST_SEED}")
