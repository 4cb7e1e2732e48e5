"""The concepts of a release."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.readers.snomed.identifiers import distinct
from st_biomed.readers.snomed.release import Release

PREFIX = "SNOMEDCT"


class Concepts:
    """All concepts, active or not, by their index: the place of the identifier among the sorted ones.

    Attributes:
        identifiers: int64 ``[C]``, sorted.
        active: Whether a concept is active, boolean ``[C]``.
    """

    def __init__(self, release: Release) -> None:
        self._release = release
        rows = [(rows.numbers("id"), rows.at) for rows in release.rows("Concept")]
        self.identifiers = distinct(release.identifiers("Concept"))
        latest = release.current("Concept")
        self.active = np.zeros(len(self.identifiers), dtype=bool)
        for identifiers, at in rows:
            self.active[self.index(identifiers[latest[at]])] = True

    def index(self, identifiers: np.ndarray) -> np.ndarray:
        """Indices of identifiers, int32 ``[N]``; -1 for those of no concept."""
        if not len(self.identifiers):
            return np.full(len(identifiers), -1, dtype=np.int32)
        at = np.searchsorted(self.identifiers, identifiers)
        at[at == len(self.identifiers)] = 0
        return np.where(self.identifiers[at] == identifiers, at, -1).astype(np.int32)

    def count(self, known: np.ndarray) -> None:
        """Count the rows of active concepts.

        Args:
            known: Whether a concept has a kept name, boolean ``[C]``.
        """
        n_kept = int((self.active & known).sum())
        self._release.tally.keep(n_kept)
        self._release.tally.drop("Concept: without a kept name", int(self.active.sum()) - n_kept)

    def conditions(self, known: np.ndarray, *ends: np.ndarray) -> dict[str, np.ndarray | None]:
        """Why a row between concepts is not kept: a description of the failing rows to boolean ``[N]``.

        Args:
            known: Whether a concept has a kept name, boolean ``[C]``.
            *ends: Indices of the concepts of each row, ``[N]`` each.
        """
        is_active, is_known = np.append(self.active, False), np.append(known, False)  # the last one is that of -1
        return {
            "of a concept that is in no file": np.all([index >= 0 for index in ends], axis=0),
            "of an inactive concept": np.all([is_active[index] for index in ends], axis=0),
            "of a concept without a kept name": np.all([is_known[index] for index in ends], axis=0),
        }

    def curies(self, index: np.ndarray) -> pa.DictionaryArray:
        """Indices of concepts as dictionary-encoded CURIEs."""
        places = np.zeros(len(self.identifiers), dtype=np.int32)
        places[index] = 1
        numbers = pa.array(self.identifiers[np.flatnonzero(places)]).cast(pa.string())
        at = (np.cumsum(places, dtype=np.int32) - 1)[index]
        return pa.DictionaryArray.from_arrays(at, pc.binary_join_element_wise(PREFIX, numbers, ":"))


def constant(value: str, size: int) -> pa.DictionaryArray:
    """A column of one value."""
    return pa.DictionaryArray.from_arrays(np.zeros(size, dtype=np.int32), pa.array([value]))
