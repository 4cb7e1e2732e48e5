"""The exception for user errors. Its message is a single line, which the command line prints unchanged."""

from __future__ import annotations

import difflib
import errno
import heapq
import math
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from numbers import Real
from typing import Any

_LISTED = 40  # names that a line may list; of more it names the nearest
_NEAREST = 3
_SHOWN = 80  # characters of a value
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class InputError(ValueError):
    """A file, an option or an argument is invalid.

    The message is one line: the file and line or the argument, what was found, and what is allowed. The command line
    and the recipes print it and exit with code 2; in Python it is an ordinary ``ValueError``.
    """


def unknown_name(kind: str, found: object, allowed: Iterable[str]) -> InputError:
    """The error for a name that is not in a closed list. It shows the list, or the nearest names of a long list.

    Args:
        kind: The kind of name, e.g. ``"preset"``.
    """
    names = sorted(allowed)
    if len(names) > _LISTED:
        *some, last = map(repr, nearest(str(found), names))
        return InputError(f"unknown {kind} {shown(found)}; did you mean {', '.join(some)} or {last}?")
    hint = did_you_mean(str(found), names, "; ")
    return InputError(f"unknown {kind} {shown(found)}: allowed are {', '.join(map(repr, names))}{hint}")


def check_name(kind: str, found: object, allowed: Collection[str]) -> str:
    """A name from a closed list, as it was given.

    Raises:
        InputError: :func:`unknown_name`.
    """
    if not isinstance(found, str) or found not in allowed:
        raise unknown_name(kind, found, allowed)
    return found


def did_you_mean(found: str, names: Iterable[str], before: str = ": ") -> str:
    """``": did you mean 'MiniLM'?"`` if a name is near, regardless of case; otherwise an empty string."""
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(found.lower(), folded, n=1)
    return f"{before}did you mean {folded[near[0]]!r}?" if near else ""


def check_integer(name: str, value: object, least: int = 1, *, or_none: bool = False) -> None:
    """Reject a value that is not an integer of at least ``least``.

    Args:
        or_none: Whether ``None`` is also allowed.

    Raises:
        InputError: The value is not allowed.
    """
    if or_none and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(
            f"{name} must be an integer of at least {least}{' or None' if or_none else ''}, found {value!r}"
        )


def check_number(
    name: str, value: object, *, above: float | None = None, least: float | None = None, most: float = math.inf
) -> float:
    """A finite number within bounds.

    Args:
        above: The number must be larger than this.
        least: The number must not be smaller than this.
        most: The number must not be larger than this.

    Raises:
        InputError: It is not a number, not finite, or out of bounds.
    """
    allowed = "a finite number"
    if above is not None:
        allowed = f"a number above {above:g}"
    elif least is not None:
        allowed = f"a number of at least {least:g}"
    if most < math.inf:
        allowed += f" and at most {most:g}"
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise InputError(f"{name} must be {allowed}, found {value!r}")
    number = float(value)
    if (above is not None and number <= above) or (least is not None and number < least) or number > most:
        raise InputError(f"{name} must be {allowed}, found {value!r}")
    return number


def check_numbers(name: str, value: object, length: int, **bounds: float) -> tuple[float, ...]:
    """One number for all, or a sequence of exactly ``length`` numbers; the bounds are those of :func:`check_number`.

    Raises:
        InputError: A wrong length, or an entry that :func:`check_number` rejects.
    """
    if not isinstance(value, Sequence) or isinstance(value, str):
        return (check_number(name, value, **bounds),) * length
    if len(value) != length:
        raise InputError(f"{name} must be one number or {length} numbers, found {len(value)}")
    return tuple(check_number(f"{name}[{i}]", entry, **bounds) for i, entry in enumerate(value))


def check_dropout(name: str, value: object) -> float:
    """A probability of dropout, from 0 to below 1.

    Raises:
        InputError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < 1:
        raise InputError(f"{name} must be at least 0 and below 1, found {value!r}")
    return float(value)


def check_several(name: str, value: object, what: str = "strings") -> None:
    """Reject one string in place of several: its members would be its letters.

    Args:
        what: The word for the members.

    Raises:
        InputError: It is a string.
    """
    if isinstance(value, str):
        raise InputError(f"{name}: expected a list of {what}, found {shown(value)}")


def check_instance(name: str, value: object, expected: type) -> None:
    """Reject an object of another class.

    Raises:
        InputError: It is one.
    """
    if not isinstance(value, expected):
        raise InputError(f"{name} must be a {expected.__name__}, found {type(value).__name__}")


def nearest(found: str, names: Iterable[str], n: int = _NEAREST) -> list[str]:
    """The most similar names, best first.

    A name that contains the written name, or whose words begin with its letters (``lr``), ranks above all others.
    """
    written = _bare(found)

    def likeness(name: str) -> float:
        own = _bare(name)
        likely = bool(written) and (written in own or written == "".join(word[:1] for word in own.split("_")))
        return likely + difflib.SequenceMatcher(None, written, own).ratio()

    return heapq.nlargest(n, names, key=likeness)


def _bare(name: str) -> str:
    return name[:_SHOWN].lower().replace("-", "_").strip("_")


def shown(value: object) -> str:
    """A value as shown in a message; long values are shortened."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text):,} characters)"


def one_line(error: object) -> str:
    """A message with line breaks and control characters (e.g. of a path) written as escapes."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], str(error))


def print_error(error: object) -> None:
    """Print an error as the last line of the standard error, after any progress bar that is on the screen."""
    progress: Any = sys.modules.get("tqdm")
    for bar in list(getattr(getattr(progress, "tqdm", None), "_instances", ())):
        bar.close()
    print(f"error: {one_line(error)}", file=sys.stderr)


_OF_THE_DISK = {
    errno.ENOSPC: "no space is left on the disk; free some or choose another folder",
    errno.EDQUOT: "the disk quota is used up; free some or choose another folder",
    errno.EFBIG: "the file would be larger than this process may write",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission is missing",
    errno.EPERM: "permission is missing",
    errno.EIO: "the disk failed",
    errno.EISDIR: "is a folder, expected a file",
    errno.ENOTDIR: "a parent of it is a file, expected a folder",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EBUSY: "is in use by the system; choose a folder below it",
}
_IN_A_MESSAGE = re.compile(r"(?:os error|errno[:= ]*)\s*(\d+)", re.IGNORECASE)
_CUT_SHORT = re.compile(
    r"inline_container.*(?:unexpected pos|file write failed)|PytorchStreamWriter failed|^\d+ requested and \d+ written$"
)
"""Messages of torch and numpy for a file that could not be written completely; they do not state the cause."""


def disk_error(error: BaseException) -> InputError | None:
    """The one-line error for a full, read-only or inaccessible disk; ``None`` for any other error.

    Libraries wrap system errors in their own, so the text and the causes of an error are examined too. Any other error
    that was raised while a system error was handled is a bug and is not converted.
    """
    seen: BaseException | None = error
    written = f"{notes[-1]}: " if (notes := getattr(error, "__notes__", ())) else ""  # see files.replacing
    while seen is not None:
        code = seen.errno if isinstance(seen, OSError) else None
        if code is None and (match := _IN_A_MESSAGE.search(str(seen))):
            code = int(match[1])
        first_line = (str(seen).strip().splitlines() or [type(seen).__name__])[0]
        if code in _OF_THE_DISK:
            where = getattr(seen, "filename", None)
            return InputError(
                f"{where}: {_OF_THE_DISK[code]}" if where else f"{written}{_OF_THE_DISK[code]} ({first_line})"
            )
        if isinstance(seen, OSError | RuntimeError) and _CUT_SHORT.search(first_line):
            return InputError(
                f"{written}a file was not written to its end, no space is left or it is too large ({first_line})"
            )
        of_a_library = isinstance(seen, OSError | RuntimeError) and not seen.__suppress_context__
        seen = seen.__cause__ or (seen.__context__ if of_a_library else None)
    return None
