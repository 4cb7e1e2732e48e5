"""The one exception for a person's mistake: its message is a single line that the command line prints as it is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LISTED = 60  # names that a line may list where it has a better answer


class InputError(ValueError):
    """A file, an option or an argument is not what it has to be.

    The message names the file and line or the argument, what was found and what is allowed, on one line. The command
    line and the recipes print it and end with exit code 2; from Python it is a ``ValueError`` like any other.
    """


def unknown_name(kind: str, found: object, allowed: Iterable[str]) -> InputError:
    """The error for a name that is not in a closed list, with the nearest allowed name.

    Args:
        kind: What the name stands for, e.g. ``"preset"``.
        found: The name that was given.
        allowed: The names that exist.
    """
    names = sorted(allowed)
    near = difflib.get_close_matches(str(found), names, n=1)
    if near and len(names) > _LISTED:
        return InputError(f"unknown {kind} {found!r}; did you mean {near[0]!r}?")
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return InputError(f"unknown {kind} {found!r}: allowed are {', '.join(map(repr, names))}{hint}")
