"""Whether a value has the type that an annotation declares, and that type in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

_SEVERAL = (Iterable, Sequence)
_NUMBERS = {int: Integral, float: Real}
_IN_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    dict: "a mapping",
}


def fits(value: Any, declared: Any) -> bool:
    """Whether a value has a declared type; the members of an iterator are not looked at.

    Whole numbers are also real ones, numbers of NumPy included; truth values are no numbers, and one text is not
    several.
    """
    origin, arguments = get_origin(declared), get_args(declared)
    if origin in (Union, UnionType):
        return any(fits(value, alternative) for alternative in arguments)
    if origin in _SEVERAL:
        return (
            isinstance(value, Iterable)
            and not isinstance(value, str | bytes)
            and (not isinstance(value, Collection) or all(fits(member, arguments[0]) for member in value))
        )
    if origin is list:
        return isinstance(value, list) and all(fits(member, arguments[0]) for member in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(key, arguments[0]) for key in value)
    if declared is Any:
        return True
    return isinstance(value, _NUMBERS.get(declared, declared)) and (declared is bool or not isinstance(value, bool))


def in_words(declared: Any) -> str:
    """A declared type for a message, without ``None``, e.g. ``"a whole number or text"``."""
    kinds = get_args(declared) if get_origin(declared) in (Union, UnionType) else (declared,)
    several = any(get_origin(kind) in _SEVERAL for kind in kinds)
    # what takes texts takes one, too
    words = [_one_in_words(kind) for kind in kinds if kind is not NoneType and not (several and kind is str)]
    return " or ".join(dict.fromkeys(words))


def _one_in_words(kind: Any) -> str:
    origin = get_origin(kind)
    if origin in _SEVERAL:
        return "texts"
    if origin is list:
        return f"a list of {in_words(get_args(kind)[0]).removeprefix('a ')}s"
    return _IN_WORDS.get(origin or kind, getattr(kind, "__name__", str(kind)))
