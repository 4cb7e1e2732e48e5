"""A dataclass filled from a YAML file, with checks of its types: benchmarks, published figures, saved settings."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar, get_type_hints

from st_biomed.errors import InputError, unknown_name
from st_biomed.settings.checks import check_value
from st_biomed.settings.declared_types import fits, in_words

Filled = TypeVar("Filled")


def fill_dataclass(cls: type[Filled], values: Any, where: str, **fixed: Any) -> Filled:
    """A dataclass from the settings of a YAML file, checked against the types of its fields.

    Args:
        cls: The dataclass; its fields are strings, numbers, booleans, and lists and mappings of these.
        values: Key to value.
        where: File and place, for messages.
        **fixed: Fields that are not in the file.

    Raises:
        InputError: An unknown or missing key, or a value of another type.
    """
    if not isinstance(values, dict):
        raise InputError(f"{where}: contains {values!r}, expected `name: value` lines")
    types = get_type_hints(cls)
    known = {argument.name: argument for argument in fields(cls) if argument.name not in fixed}  # type: ignore[arg-type]
    for key, value in values.items():
        if key not in known:
            raise InputError(f"{where}: {unknown_name('key', key, known)}")
        if not fits(value, types[key]):
            raise InputError(f"{where}: {key} must be {in_words(types[key])}, found {value!r}")
        check_value(f"{where}: {key}", value, known[key].metadata.get("check"))
    for key, argument in known.items():
        if key not in values and argument.default is MISSING and argument.default_factory is MISSING:
            raise InputError(f"{where}: {key} is missing")
    return cls(**fixed, **values)
