"""The rows of a table without repetitions."""

from __future__ import annotations

from collections.abc import Iterable

from st_biomed.records import Tally


class DuplicateFilter:
    """Keeps the first of equal rows, and counts those that are kept and dropped.

    Args:
        reason: The reason to drop a repeated row.
    """

    def __init__(self, tally: Tally, reason: str) -> None:
        self._tally, self._reason = tally, reason
        self._seen: set[tuple[str, ...]] = set()

    def mark_seen(self, rows: Iterable[tuple[str, ...]]) -> None:
        """Mark rows as seen without counting them."""
        self._seen.update(rows)

    def read(self, *row: str) -> bool:
        """:meth:`keep` for a row that is not yet counted as read."""
        self._tally.read()
        return self.keep(*row)

    def keep(self, *row: str) -> bool:
        """Keep a row if it is new and drop it otherwise; whether it was kept."""
        if row in self._seen:
            self._tally.drop(self._reason)
            return False
        self._seen.add(row)
        self._tally.keep()
        return True
