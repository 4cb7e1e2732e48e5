"""Distinct rows of a table."""

from __future__ import annotations

from collections.abc import Iterable

from st_biomed.records import Tally


class Once:
    """Distinguishes new rows from repeated ones, and counts both.

    Args:
        reason: The reason to drop a repeated row.
    """

    def __init__(self, tally: Tally, reason: str) -> None:
        self._tally, self._reason = tally, reason
        self._seen: set[tuple[str, ...]] = set()

    def knows(self, rows: Iterable[tuple[str, ...]]) -> None:
        """Mark rows as seen without counting them."""
        self._seen.update(rows)

    def reads(self, *row: str) -> bool:
        """:meth:`keeps` for a row that is not yet counted as read."""
        self._tally.read()
        return self.keeps(*row)

    def keeps(self, *row: str) -> bool:
        """Whether a row is new and therefore kept; a row that was seen before is dropped."""
        if row in self._seen:
            self._tally.drop(self._reason)
            return False
        self._seen.add(row)
        self._tally.keep()
        return True
