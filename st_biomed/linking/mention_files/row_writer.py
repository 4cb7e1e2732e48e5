"""What every writer of linked mentions does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from st_biomed.linking.concept_search import Match
from st_biomed.linking.mention_files.mention_rows import MentionRow


class RowWriter(ABC):
    """Writes mentions with their concepts, one after the other; a context that writes the end where all went well."""

    @abstractmethod
    def write(self, row: MentionRow, matches: Sequence[Match]) -> None:
        """Write a mention; without a concept (NIL), a table has one line of rank 0."""

    @abstractmethod
    def close(self) -> None:
        """Write what is left: the header where there is no row, the last rows of parquet."""

    def abandon(self) -> None:  # noqa: B027 - most writers keep nothing back
        """Write nothing more."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.abandon()
            return
        try:
            self.close()
        except BaseException:
            self.abandon()
            raise
