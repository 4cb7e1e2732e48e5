"""Relationships: parents (is a) and attributes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from st_biomed.errors import InputError
from st_biomed.readers._curies import relation_name
from st_biomed.readers.snomed.concepts import PREFIX, Concepts, constant
from st_biomed.readers.snomed.identifiers import DEFINING, IS_A, distinct
from st_biomed.readers.snomed.release import Release
from st_biomed.readers.snomed.semantic_tags import SemanticTags
from st_biomed.records import Rows

VIEWS = {"inferred": "Relationship", "stated": "StatedRelationship", "none": ""}
"""Views of the relationships, and the kind of file of each."""

_ROWS_OF_A_BLOCK = 1 << 19


class Relationships:
    """The defining relationships of a view.

    Attributes:
        attributes: Whether a concept is the type of a relationship, boolean ``[C]``.

    Args:
        view: A key of ``VIEWS``.

    Raises:
        InputError: There is no such file, or no active row in it.
    """

    def __init__(self, release: Release, concepts: Concepts, view: str) -> None:
        self._release, self._concepts, self._kind = release, concepts, VIEWS[view]
        self.attributes = np.zeros(len(concepts.identifiers), dtype=bool)
        self._types: dict[int, int] = {}  # identifier of a type to its number
        self._rows = np.empty((3, 0), dtype=np.int32)
        if not self._kind:
            return
        release.need(self._kind, f", which view={view} needs; view=none reads no relationships")
        blocks, defining, places = [], [], []
        for rows in release.rows(self._kind, "sourceId", "typeId", "destinationId", "characteristicTypeId"):
            ends = (concepts.index(rows.numbers(column)) for column in ("sourceId", "destinationId"))
            blocks.append(np.stack([*ends, self._numbered(rows.numbers("typeId"))]))
            defining.append(rows.numbers("characteristicTypeId") == DEFINING[view])
            places.append(rows.at)
        current = release.current(self._kind)
        if not current.any():
            hint = "an extension is read with the edition that it extends: also=FOLDER"
            if view == "stated":
                hint = "stated relationships are OWL axioms in releases since 2019, take view=inferred"
            raise InputError(f"no active row in the {self._kind} files; {hint}")
        keep = current[np.concatenate(places)]
        every, is_defining = np.concatenate(blocks, axis=1)[:, keep], np.concatenate(defining)[keep]
        release.tally.drop(f"{self._kind}: not defining", int((~is_defining).sum()))
        self._rows = every[:, is_defining]
        index = concepts.index(np.array(list(self._types), dtype=np.int64))
        self.attributes[index[index >= 0]] = True

    def _numbered(self, types: np.ndarray) -> np.ndarray:
        known = distinct(types)
        numbers = [self._types.setdefault(identifier, len(self._types)) for identifier in known.tolist()]
        return np.array(numbers, dtype=np.int32)[np.searchsorted(known, types)]

    def rows(self, known: np.ndarray, tags: SemanticTags) -> Iterator[Rows]:
        """Parents and relations of known concepts, each once whatever its relationship groups.

        Args:
            known: Whether a concept has a kept name, boolean ``[C]``.
            tags: The labels of the attributes.
        """
        if not self._kind:
            return
        source, destination, kind = self._rows
        conditions = self._concepts.conditions(known, source, destination)
        conditions["of a concept to itself"] = source != destination
        keep = self._release.filter_rows(self._kind, len(source), conditions)
        n_concepts, n_types = len(known), len(self._types)
        packed = (kind[keep].astype(np.int64) * n_concepts + source[keep]) * n_concepts + destination[keep]
        once = distinct(packed)
        self._release.tally.drop(f"{self._kind}: repeated in another group", len(packed) - len(once))
        self._release.tally.keep(len(once))
        names = pa.array([self._name(tags, identifier) for identifier in self._types], pa.string())
        parents = self._types.get(IS_A, n_types)
        for start in range(0, len(once), _ROWS_OF_A_BLOCK):
            rest, destination = np.divmod(once[start : start + _ROWS_OF_A_BLOCK], n_concepts)
            kind, source = np.divmod(rest, n_concepts)
            is_a = kind == parents
            if is_a.any():
                yield Rows("parents", self._columns(child=source[is_a], parent=destination[is_a]))
            if not is_a.all():
                columns = self._columns(head=source[~is_a], tail=destination[~is_a])
                relation = pa.DictionaryArray.from_arrays(kind[~is_a].astype(np.int32), names)
                yield Rows("relations", {**columns, "relation": relation})

    def _name(self, tags: SemanticTags, identifier: int) -> str:
        index = int(self._concepts.index(np.array([identifier]))[0])
        return relation_name(f"{PREFIX}:{identifier}", tags.label(index))

    def _columns(self, **ends: np.ndarray) -> dict[str, pa.Array]:
        columns = {name: self._concepts.curies(index) for name, index in ends.items()}
        return {**columns, "source": constant(PREFIX, len(next(iter(ends.values()))))}
