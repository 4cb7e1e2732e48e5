"""Language reference sets: which synonym a dialect prefers for a concept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from st_biomed.errors import InputError, unknown_name
from st_biomed.readers.snomed.identifiers import GB_ENGLISH, PREFERRED, US_ENGLISH, are_identifiers, distinct
from st_biomed.readers.snomed.release import Release


class Preferences:
    """The descriptions that some dialect prefers.

    Attributes:
        asked: Whether dialects were named.
        n_ranks: Number of dialects in the order of preference, and one for all others.

    Args:
        dialects: Language reference sets to prefer, in this order; by default US English, then GB English.

    Raises:
        InputError: A dialect that is no identifier or that no row has.
    """

    def __init__(self, release: Release, dialects: Sequence[str]) -> None:
        order = [_identifier(dialect) for dialect in dialects] or [US_ENGLISH, GB_ENGLISH]
        self.asked, self.n_ranks = bool(dialects), len(order) + 1
        if self.asked:
            release.need("Language", ", which dialect needs")
        elif not release.has("Language"):
            release.tally.note("no language reference set: fully specified names are the preferred ones")
        kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        met: set[int] = set()
        for rows in release.rows("Language", "refsetId", "referencedComponentId", "acceptabilityId"):
            sets = rows.numbers("refsetId")
            met.update(distinct(sets).tolist())
            ranks = np.full(len(sets), len(order), dtype=np.int8)
            for rank, identifier in enumerate(order):
                ranks[sets == identifier] = rank
            preferred = rows.numbers("acceptabilityId") == PREFERRED
            kept.append((rows.numbers("referencedComponentId")[preferred], ranks[preferred], rows.at[preferred]))
        for dialect in dialects:
            if int(dialect) not in met:
                raise unknown_name("value of option dialect (no active row has it)", dialect, map(str, met))
        current = release.current("Language")
        rows_of = [np.concatenate(column) for column in zip(*kept)] or [np.empty(0, np.int64)] * 3
        descriptions, ranks = (column[current[rows_of[2]]] for column in rows_of[:2])
        release.tally.drop("Language: acceptable, not preferred", int(current.sum()) - len(descriptions))
        order_of_rows = np.lexsort((ranks, descriptions))
        self._release, self._descriptions = release, descriptions[order_of_rows]
        self._ranks = np.append(ranks[order_of_rows], self.n_ranks).astype(np.int8)

    def ranks(self, descriptions: np.ndarray) -> np.ndarray:
        """The place in the order of the first dialect that prefers a description, int8 ``[N]``; ``n_ranks`` for none."""
        at = np.searchsorted(self._descriptions, descriptions)
        found = np.append(self._descriptions, -1)[at] == descriptions
        return self._ranks[np.where(found, at, len(self._descriptions))]

    def count(self, descriptions: np.ndarray) -> None:
        """Count the rows of kept descriptions, int64 ``[N]``."""
        ordered = np.append(distinct(descriptions), -1)
        kept = ordered[np.searchsorted(ordered[:-1], self._descriptions)] == self._descriptions
        self._release.tally.keep(int(kept.sum()))
        self._release.tally.drop("Language: of a description that is not kept", int((~kept).sum()))


def _identifier(dialect: str) -> int:
    if not dialect.isdecimal() or not are_identifiers(np.array([int(dialect[:18])]), 0).all():
        raise InputError(
            f"dialect of reader 'snomed' must be the identifier of a language reference set, found {dialect!r}"
        )
    return int(dialect)
