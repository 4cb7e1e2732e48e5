"""JSON as it was written: every key once, no number that JSON has not, and every value of the type that it is to have."""

from __future__ import annotations

import json
import math
import reprlib
from collections import Counter
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict


def strict_json(text: str) -> Any:
    """The value of a text.

    Raises:
        ValueError: It is not JSON, a key is there twice in an object, or there is a NaN or an infinity.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refused)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def misfit(value: Any, wanted: Any, where: str = "") -> str:
    """Where a value is not of its type, in words; empty where it is.

    Args:
        value: What was read.
        wanted: A typed dictionary, ``dict[str, X]``, ``list[X]``, a plain type or several, or ``Any``. A dictionary may
            have other keys besides.
        where: What it is called.
    """
    origin, arguments = get_origin(wanted), get_args(wanted)
    parts: dict[str, tuple[Any, Any]] = {}
    if is_typeddict(wanted) or origin is dict:
        if not isinstance(value, dict):
            return f"{where} has to be an object, found {reprlib.repr(value)}"
        hints = _hints(wanted) if is_typeddict(wanted) else dict.fromkeys(value, arguments[-1])
        if missing := [name for name in hints if name not in value]:
            return f"{where or 'the record'} lacks {', '.join(missing)}"
        parts = {f"{where}.{name}".strip("."): (value[name], kind) for name, kind in hints.items()}
    elif origin is list:
        if not isinstance(value, list):
            return f"{where} has to be a list, found {reprlib.repr(value)}"
        parts = {f"{where}[{i}]": (one, arguments[0]) for i, one in enumerate(value)}
    elif wanted is not Any and not any(_is_a(value, kind) for kind in arguments or (wanted,)):
        names = " or ".join("null" if kind is NoneType else kind.__name__ for kind in arguments or (wanted,))
        return f"{where} has to be {names}, found {reprlib.repr(value)}"
    return next(filter(None, (misfit(one, kind, name) for name, (one, kind) in parts.items())), "")


_hints = cache(get_type_hints)


def _is_a(value: Any, kind: Any) -> bool:
    """Whether a value is of a plain type: a whole number is a number, a truth value is none."""
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return isinstance(value, kind)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are there once each."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"key {twice!r} is there twice")
    return found


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")
