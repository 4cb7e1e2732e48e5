"""Semantic tags: what stands in parentheses at the end of a fully specified name, e.g. ``(disorder)``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.readers.snomed.concepts import Concepts
from st_biomed.records import Rows, Tally

_TAGGED = r"^(?P<name>.*[^\s]) \((?P<tag>[^()]*[^()\s])\)$"


class SemanticTags:
    """The tag of each concept: that of its English fully specified name, or else of another one.

    Args:
        labeled: Whether the label of a concept is needed, boolean ``[C]``.
    """

    def __init__(self, concepts: Concepts, labeled: np.ndarray) -> None:
        self._concepts, self._labeled = concepts, labeled
        self._labels: dict[int, tuple[int, str]] = {}
        self._found: list[tuple[np.ndarray, np.ndarray, pa.Array]] = []
        self._n_untagged = 0

    def take(self, names: pa.Array, concepts: np.ndarray, ranks: np.ndarray) -> pa.Array:
        """Fully specified names without their tags, which are kept; a name without a tag stays as it is.

        Args:
            names: Strings ``[N]``.
            concepts: Indices of their concepts, ``[N]``.
            ranks: Whose tag is taken: the lowest of a concept, int64 ``[N]``.
        """
        parts = pc.extract_regex(names, _TAGGED)
        tagged = parts.is_valid()
        parts, mask = parts.filter(tagged), tagged.to_numpy(zero_copy_only=False)
        self._n_untagged += len(names) - len(parts)
        self._found.append((concepts[mask], ranks[mask], parts.field("tag").dictionary_encode()))
        bare = pc.replace_with_mask(names, tagged, parts.field("name"))
        for row in np.flatnonzero(self._labeled[concepts]).tolist():
            label = int(ranks[row]), bare[row].as_py()
            concept = int(concepts[row])
            self._labels[concept] = min(self._labels.get(concept, label), label)
        return bare

    def label(self, concept: int) -> str:
        """The fully specified name of a labeled concept without its tag; empty if it has none."""
        return self._labels.get(concept, (0, ""))[1]

    def rows(self, known: np.ndarray, tally: Tally) -> Iterator[Rows]:
        """The types of concepts with a kept name; notes how many names have no tag."""
        if self._n_untagged:
            tally.note(f"{self._n_untagged:,} fully specified names have no semantic tag")
        best = np.full(len(known), np.iinfo(np.int64).max)
        for concepts, ranks, _ in self._found:
            np.minimum.at(best, concepts, ranks)
        for concepts, ranks, tags in self._found:
            keep = known[concepts] & (best[concepts] == ranks)
            if keep.any():
                columns = {"code": self._concepts.curies(concepts[keep]), "type": tags.filter(pa.array(keep))}
                yield Rows("types", columns)
