"""Options of readers and formats: what a function takes, and lists, which are ``"A,B"`` on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any, get_args, get_type_hints

from st_biomed.errors import InputError, unknown_name


def keyword_options(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The keyword-only parameters of a function besides the tally, which the caller gives."""
    parameters = inspect.signature(function).parameters
    return {k: p for k, p in parameters.items() if p.kind is p.KEYWORD_ONLY and k != "tally"}


def refuse_unknown(whose: str, options: Iterable[str], known: Collection[str]) -> None:
    """Refuse an option that there is not.

    Args:
        whose: What takes the options, e.g. ``"reader 'obo'"``.
        options: Those given.
        known: Those there are.

    Raises:
        InputError: With the options that there are.
    """
    for option in options:
        if option not in known:
            if not known:
                raise InputError(f"{whose} takes no options, found {option!r}")
            raise unknown_name(f"option of {whose}", option, known)


def listed(option: str, value: str | Iterable[str], allowed: Collection[str] | None = None) -> tuple[str, ...]:
    """The distinct members of an option in their order.

    Args:
        option: What to call it in an error.
        value: A sequence, or its members with commas between.
        allowed: What the members may be; anything by default.

    Raises:
        InputError: A member is none of the allowed ones.
    """
    members = [member.strip() for member in (value.split(",") if isinstance(value, str) else value)]
    for member in members:
        if member and allowed is not None and member not in allowed:
            raise unknown_name(option, member, allowed)
    return tuple(dict.fromkeys(filter(None, members)))


def parsed(function: Callable[..., Any], pairs: Iterable[str], label: str = "option") -> dict[str, Any]:
    """``["key=value"]`` as keyword arguments of a function, each of the type that it declares.

    Args:
        function: Declares the options, see :func:`keyword_options`; one that it does not declare stays text.
        pairs: What a person wrote.
        label: What stands before a key in an error.

    Raises:
        InputError: Not of this form, a key twice, or a value of another type.
    """
    texts: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"{label} must have the form key=value, found {pair!r}")
        if key in texts:
            raise InputError(f"{label} {key} is given twice; a list is written {key}={texts[key]},{value}")
        texts[key] = value
    known, hints = keyword_options(function), get_type_hints(function)
    return {
        key: _value(f"{label} {key}", value, hints[key], known[key]) if key in known else value
        for key, value in texts.items()
    }


def _value(label: str, value: str, hint: Any, option: inspect.Parameter) -> Any:
    kinds = get_args(hint) or (hint,)
    if bool in kinds:
        if value.lower() not in ("true", "false"):
            raise InputError(f"{label} must be true or false, found {value!r}")
        return value.lower() == "true"
    convert: Callable[[str], Any] = next((kind for kind in (int, float) if kind in kinds), str)
    try:
        return convert(value)
    except ValueError:
        raise InputError(f"{label} must be a number like {option.default}, found {value!r}") from None
