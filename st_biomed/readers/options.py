"""Options of readers and formats: what a function takes, and lists, which are ``"A,B"`` on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any

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
