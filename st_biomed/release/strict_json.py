"""Strict JSON: no repeated keys, only valid numbers, and every value of its type."""

from __future__ import annotations

import json
import math
import reprlib
from collections import Counter
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict


def strict_json(text: str) -> Any:
    """Parse a JSON text.

    Raises:
        ValueError: It is not JSON, a key occurs twice in an object, or there is a NaN or an infinity.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refused)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def misfit(value: Any, wanted: Any, where: str = "") -> str:
    """The first value that is not of its type, in words; empty if there is none.

    Args:
        wanted: A typed dictionary, ``dict[str, X]``, ``list[X]``, a plain type or several, or ``Any``. A dictionary
            may have other keys.
    """
    origin, arguments = get_origin(wanted), get_args(wanted)
    parts: dict[str, tuple[Any, Any]] = {}
    if is_typeddict(wanted) or origin is dict:
        if not isinstance(value, dict):
            return f"{where} must be an object, found {reprlib.repr(value)}"
        hints = _hints(wanted) if is_typeddict(wanted) else dict.fromkeys(value, arguments[-1])
        if missing := [name for name in hints if name not in value]:
            return f"{where or 'the record'} lacks {', '.join(missing)}"
        parts = {f"{where}.{name}".strip("."): (value[name], kind) for name, kind in hints.items()}
    elif origin is list:
        if not isinstance(value, list):
            return f"{where} must be a list, found {reprlib.repr(value)}"
        parts = {f"{where}[{i}]": (member, arguments[0]) for i, member in enumerate(value)}
    elif wanted is not Any and not any(_is_a(value, kind) for kind in arguments or (wanted,)):
        names = " or ".join("null" if kind is NoneType else kind.__name__ for kind in arguments or (wanted,))
        return f"{where} must be {names}, found {reprlib.repr(value)}"
    return next(filter(None, (misfit(member, kind, name) for name, (member, kind) in parts.items())), "")


_hints = cache(get_type_hints)


def _is_a(value: Any, kind: Any) -> bool:
    """Whether a value is of a plain type: an integer is a number, a boolean is not."""
    if isinstance(value, bool):
        return kind is bool
    if kind is float:
        return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return isinstance(value, kind)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object with distinct keys."""
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"key {twice!r} occurs twice")
    return content


def _refused(constant: str) -> float:
    raise ValueError(f"{constant} is not a number of JSON")
