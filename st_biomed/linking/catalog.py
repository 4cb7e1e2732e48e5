"""The content of an index: names, their concepts, and label, semantic types and parents of every concept."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.linking.origins import ORIGINS, Origins
from st_biomed.linking_data.records import LinkingDictionary
from st_biomed.records import SourceInfo
from st_biomed.terminology import Terminology

NAMES, CONCEPTS = "names.parquet", "concepts.parquet"
TABLES = (NAMES, CONCEPTS, ORIGINS)
_DIGESTED = 1 << 16


class Catalog:
    """N distinct names of C concepts.

    Args:
        names: The names, arrow strings ``[N]``, each once.
        name_concepts: Name to its concepts by index: N rows.
        concepts: Ids, ``[C]``.
        labels: Label of each concept, ``[C]``; empty for a concept without a name.
        types: Semantic types of each concept, ``[C]``; ``None`` if types are unknown.
        sources: Sources of the names.
        parents: Concept to its parents by index: C rows; ``None`` if there is no hierarchy.
        origins: Language and source of each entry of ``name_concepts``; ``None`` if they are unknown.
    """

    def __init__(
        self,
        names: pa.Array,
        name_concepts: CSR,
        concepts: list[str],
        labels: list[str],
        types: list[list[str]] | None,
        sources: Sequence[SourceInfo] = (),
        parents: CSR | None = None,
        origins: Origins | None = None,
    ) -> None:
        self.names = names.cast(pa.large_string())
        self.name_concepts, self.concepts, self.labels, self.types = name_concepts, concepts, labels, types
        self.sources, self.parents, self.origins = list(sources), parents, origins

    @classmethod
    def of(cls, source: Terminology | LinkingDictionary | Catalog) -> Catalog:
        """The catalog of a terminology or a dictionary.

        Raises:
            InputError: An object of another kind, or no names to index.
        """
        if isinstance(source, Catalog):
            return source
        if isinstance(source, Terminology):
            made = cls._of_terminology(source)
        elif isinstance(source, LinkingDictionary):
            made = cls._of_dictionary(source)
        else:
            raise InputError(f"expected a Terminology or a LinkingDictionary, found {type(source).__name__}")
        if not len(made):
            raise InputError("the terminology holds no name, at least one is needed")
        return made

    @classmethod
    def _of_terminology(cls, terminology: Terminology) -> Catalog:
        """Labels are the preferred terms. Concepts without a name are there as parents; nothing finds them."""
        texts = terminology.texts["text"].combine_chunks()
        types: list[list[str]] | None = None
        if terminology.types.num_rows:
            types = [[] for _ in range(terminology.n_concepts)]
            for concept, name in zip(terminology.types["concept"].to_pylist(), terminology.types["type"].to_pylist()):
                types[concept].append(name)
        preferred = pa.array(terminology.preferred_texts, mask=~terminology.has_name)
        labels = texts.take(preferred).fill_null("").to_pylist()
        parents = None
        if terminology.parents.num_rows:
            child, parent = (terminology.parents[end].to_numpy() for end in ("child", "parent"))
            parents = CSR.from_pairs(child, parent, terminology.n_concepts)
        sources = list(terminology.sources.values())
        table, origins = terminology.text_concepts, Origins.of(terminology)
        return cls(texts, table, terminology.codes, labels, types, sources, parents, origins)

    @classmethod
    def _of_dictionary(cls, dictionary: LinkingDictionary) -> Catalog:
        """Equal names become one, in the order in which they first stand there; the label is an id's first name."""
        place: dict[str, int] = {}
        rows = np.array([place.setdefault(name, len(place)) for name in dictionary.names], dtype=np.int64)
        entries, ids = dictionary.entry_ids.take(np.arange(len(dictionary)))
        labels = [""] * len(dictionary.ids)
        for entry, number in zip(entries[::-1].tolist(), ids[::-1].tolist()):
            labels[number] = dictionary.names[entry]
        table = CSR.from_pairs(rows[entries], ids, len(place))
        return cls(pa.array(list(place), pa.large_string()), table, dictionary.ids, labels, None)

    def __len__(self) -> int:
        """Number of names, N."""
        return len(self.names)

    @cached_property
    def n_named(self) -> int:
        """Number of concepts with a name."""
        return int(np.count_nonzero(np.bincount(self.name_concepts.indices)))

    def texts(self, rows: np.ndarray | slice) -> list[str]:
        """The names of some rows."""
        chosen = self.names[rows] if isinstance(rows, slice) else self.names.take(pa.array(rows))
        return chosen.to_pylist()

    def of_types(self, types: Sequence[str]) -> np.ndarray:
        """Concepts with one of some semantic types, boolean ``[C]``.

        Raises:
            InputError: Types are unknown, or no concept has one of them.
        """
        if self.types is None:
            raise InputError("types: the index has no semantic types, because its source has none")
        wanted, known = set(types), {name for names in self.types for name in names}
        missing = [name for name in types if name not in known]
        if missing or not wanted:
            shown = ", ".join(sorted(known)[:20])
            raise InputError(f"types: no concept has type {missing[0] if missing else ''!r}; there are {shown}")
        return np.array([not wanted.isdisjoint(names) for names in self.types])

    def place(self, code: str) -> int | None:
        """The index of a concept by its code; ``None`` if no concept has it."""
        return self._places.get(code)

    @cached_property
    def concept_names(self) -> CSR:
        """Concept to its names by index: C rows."""
        rows = np.repeat(np.arange(len(self)), self.name_concepts.counts)
        return CSR.from_pairs(self.name_concepts.indices, rows, len(self.concepts))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {code: i for i, code in enumerate(self.concepts)}

    def names_with(self, entries: np.ndarray) -> CSR:
        """Name to those of its concepts that are allowed: N rows, from a mask ``[E]`` over ``name_concepts``."""
        rows = np.repeat(np.arange(len(self)), self.name_concepts.counts)[entries]
        indptr = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=len(self)), out=indptr[1:])
        return CSR(indptr, self.name_concepts.indices[entries])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of names, concepts, labels, types, parents and origins in their order."""
        sha = hashlib.sha256()
        for start in range(0, len(self), _DIGESTED):
            sha.update("\0".join([*self.texts(slice(start, start + _DIGESTED)), ""]).encode())
        for array in self.name_concepts:
            sha.update(array.astype("<i8").tobytes())
        for strings in (self.concepts, self.labels, *(self.types or ())):
            sha.update("\0".join([*strings, "\n"]).encode())
        for array in self.parents or ():
            sha.update(array.astype("<i8").tobytes())
        if self.origins is not None:
            sha.update("\0".join(self.origins.words()).encode())
            sha.update(self.origins.of_entry.astype("<i8").tobytes())
        return sha.hexdigest()

    # ------------------------------------------------------------------ on disk

    def save(self, folder: Path) -> None:
        """Write :data:`TABLES`."""
        names = {"name": self.names, "concepts": _lists(self.name_concepts)}
        unknown = pa.nulls(len(self), pa.large_list(pa.int32()))
        if self.origins is not None:
            unknown = _lists(CSR(self.name_concepts.indptr, self.origins.of_entry))
        pq.write_table(pa.table({**names, "origins": unknown}), folder / NAMES)
        n = len(self.concepts)
        types = pa.array([None] * n if self.types is None else self.types, pa.list_(pa.string()))
        parents = pa.nulls(n, pa.large_list(pa.int32())) if self.parents is None else _lists(self.parents)
        table = pa.table({"concept": self.concepts, "label": self.labels, "types": types, "parents": parents})
        pq.write_table(table, folder / CONCEPTS)
        Origins.save(self.origins, folder)

    @classmethod
    def load(cls, folder: Path, sources: Sequence[SourceInfo] = ()) -> Catalog:
        """Load a catalog written by :meth:`save`.

        Raises:
            InputError: A missing or damaged file.
        """
        tables = {}
        for file in (NAMES, CONCEPTS):
            try:
                tables[file] = pq.read_table(folder / file).combine_chunks()
            except (OSError, pa.ArrowInvalid) as error:
                raise InputError(f"{folder / file}: missing or damaged; build the index again") from error
        names, concepts = tables[NAMES], tables[CONCEPTS]
        types = None if concepts["types"].null_count else concepts["types"].to_pylist()
        ids, labels = concepts["concept"].to_pylist(), concepts["label"].to_pylist()
        parents = None if concepts["parents"].null_count else _rows(concepts["parents"])
        origins = None
        if not names["origins"].null_count:
            origins = Origins.load(folder, _rows(names["origins"]).indices)
        table = _rows(names["concepts"])
        return cls(names["name"].combine_chunks(), table, ids, labels, types, sources, parents, origins)


def _lists(rows: CSR) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array(rows.indptr), pa.array(rows.indices.astype(np.int32)))


def _rows(column: pa.ChunkedArray) -> CSR:
    """The rows that :func:`_lists` was given."""
    lists = column.combine_chunks()
    return CSR(lists.offsets.to_numpy().astype(np.int64), lists.values.to_numpy())
