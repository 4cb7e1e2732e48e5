"""Values of an option that a file does not have: misspelled ones would be ignored without a word."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from st_biomed.records import Tally


def note_unmet(tally: Tally, option: str, wanted: Iterable[str], met: Collection[str], what: str) -> None:
    """Note each wanted value that nothing in the file has.

    Args:
        option: Its name.
        met: The values in the file.
        what: What would have the value, e.g. ``"no synonym has type"``.
    """
    found = ", ".join(sorted(filter(None, met))) or "none"
    for value in wanted:
        if value not in met:
            tally.note(f"{option}: {what} {value!r}; found {found}")
