"""Options of readers that are lists: a sequence in Python, ``"A,B"`` on the command line."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from st_biomed.errors import unknown_name


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
