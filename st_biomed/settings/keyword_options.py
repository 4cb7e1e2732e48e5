"""Options of readers and formats: the keywords of a function, and lists, written ``"A,B"`` on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar, get_args, get_type_hints

from st_biomed.errors import InputError, shown, unknown_name
from st_biomed.settings.declared_types import fits, in_words

Member = TypeVar("Member")


def keyword_options(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The keyword-only parameters of a function except the tally, which the caller passes."""
    parameters = inspect.signature(function).parameters
    return {k: p for k, p in parameters.items() if p.kind is p.KEYWORD_ONLY and k != "tally"}


def refuse_unknown(whose: str, options: Iterable[str], known: Collection[str]) -> None:
    """Reject unknown options.

    Args:
        whose: The owner of the options, e.g. ``"reader 'obo'"``.

    Raises:
        InputError: With the existing options.
    """
    for option in options:
        if option not in known:
            if not known:
                raise InputError(f"{whose} takes no options, found {option!r}")
            raise unknown_name(f"option of {whose}", option, known)


def listed(option: str, value: str | Iterable[str], allowed: Collection[str] | None = None) -> tuple[str, ...]:
    """The distinct members of an option in their order.

    Args:
        value: A sequence, or its members separated by commas.
        allowed: The allowed members; any by default.

    Raises:
        InputError: A value that is no text and no texts, or a member that is not allowed.
    """
    found = value.split(",") if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
    if not all(isinstance(member, str) for member in found):
        raise InputError(f"{option} must be texts, found {shown(value)}")
    members = [member.strip() for member in found]
    for member in members:
        if member and allowed is not None and member not in allowed:
            raise unknown_name(option, member, allowed)
    return tuple(dict.fromkeys(filter(None, members)))


def unless_none(names: Iterable[Member]) -> list[Member]:
    """The members of a list; a single ``none`` stands for no member, in place of those of a configuration."""
    members = list(names)
    return [] if members in (["none"], [""]) else members


def check_types(whose: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Reject options of another type than the function declares; unknown options are not checked.

    Args:
        whose: The owner of the options, e.g. ``"step 'refine'"``.

    Raises:
        InputError: With the type.
    """
    known, hints = keyword_options(function), get_type_hints(function)
    for option, value in options.items():
        if option in known and not fits(value, hints[option]):
            raise InputError(f"{whose}: {option} must be {in_words(hints[option])}, found {shown(value)}")


def parsed(function: Callable[..., Any], pairs: Iterable[str], label: str = "option") -> dict[str, Any]:
    """Convert ``["key=value"]`` to keyword arguments of a function, each of the type that it declares.

    Args:
        function: The function that declares the options, see :func:`keyword_options`; undeclared options stay text.
        label: The text before a key in errors.

    Raises:
        InputError: Another form, a repeated key, or a value of another type.
    """
    texts: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"{label} must have the form key=value, found {pair!r}")
        if key in texts:
            raise InputError(f"{label} {key} is given twice; write a list as {key}={texts[key]},{value}")
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
