"""CONCEPT: which concepts are read, and their names, types and codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError, check_name
from st_biomed.files.column_blocks import Block
from st_biomed.readers._columns import among
from st_biomed.readers._curies import canonical_prefix
from st_biomed.readers.omop.tables import Tables
from st_biomed.records import STANDARD, Rows

ABSENT, NOT_READ = -1, -2
"""The places of ids that are not in CONCEPT, and of those whose concept is not read."""

FILTERS = {"vocabularies": "vocabulary_id", "domains": "domain_id", "concept_classes": "concept_class_id"}
"""Options that limit the concepts, and their columns."""

_PAGE = 16  # bits of an id within its page; ids go up to 2^31, but those that are in use lie together
_DIGITS = 10  # of the largest id


class _Block(NamedTuple):
    """Some concepts: the place of the first, their columns, and whether they are standard."""

    start: int
    columns: dict[str, pa.Array]
    standard: np.ndarray


class Concepts:
    """The concepts that are read, in the order of the file; the place of a concept is its index in it.

    Attributes:
        ids: Concept ids, int64 ``[C]``.
        vocabulary: Index of the vocabulary of each concept, int32 ``[C]``.
    """

    def __init__(
        self,
        blocks: list[_Block],
        listed: np.ndarray,
        ids: np.ndarray,
        vocabularies: list[str],
        vocabulary: np.ndarray,
    ) -> None:
        self.blocks, self.ids, self.vocabularies, self.vocabulary = blocks, ids, vocabularies, vocabulary
        pages = np.unique(listed >> _PAGE)
        self._page = np.full(1 << (31 - _PAGE), -1, dtype=np.int64)
        self._page[pages] = np.arange(len(pages))
        self._place = np.full(
            (len(pages) << _PAGE) + 1, ABSENT, dtype=np.int32
        )  # the last entry is that of other pages
        self._place[self._slot(listed)] = NOT_READ
        self._place[self._slot(ids)] = np.arange(len(ids), dtype=np.int32)
        n_digits = 1 + np.searchsorted(10 ** np.arange(1, _DIGITS), ids, side="right")
        order = np.lexsort((n_digits, ids * 10 ** (_DIGITS - n_digits)))  # the order of their digits as text
        self._rank = np.empty(len(ids), dtype=np.int32)
        self._rank[order] = np.arange(len(ids))
        self._codes = _curies(ids[order])

    def _slot(self, ids: np.ndarray) -> np.ndarray:
        page = self._page[ids >> _PAGE]
        return np.where(page < 0, -1, (page << _PAGE) + (ids & ((1 << _PAGE) - 1)))

    def places(self, ids: np.ndarray) -> np.ndarray:
        """The places of some ids, ``ABSENT`` or ``NOT_READ``, int32 ``[N]``."""
        return self._place[self._slot(ids)]

    def codes(self, places: np.ndarray) -> pa.Array:
        """The CURIEs of some concepts; all columns share one sorted dictionary, which is never sorted again."""
        return pa.DictionaryArray.from_arrays(self._rank[places], self._codes)

    def only(self, known: np.ndarray) -> None:
        """Count the other concepts as not read; boolean ``[C]``."""
        self._place[self._slot(self.ids[~known])] = NOT_READ

    def sources(self, places: np.ndarray) -> pa.Array:
        """The sources of the vocabularies of some concepts."""
        names = pa.array([source_name(name) for name in self.vocabularies], pa.string())
        return pa.DictionaryArray.from_arrays(self.vocabulary[places], names)

    def rows(self, types: str, *, mark_standard: bool) -> Iterator[Rows]:
        """Semantic types, and codes as cross-references.

        Call it once: every block is released after it is yielded.

        Args:
            mark_standard: Whether standard concepts have the type ``STANDARD``, too.
        """
        self.blocks.reverse()
        while self.blocks:
            start, columns, standard = self.blocks.pop()
            places = np.arange(start, start + len(standard))
            known = self.places(self.ids[places]) >= 0
            yield from self._types(places, columns[types], known)
            if mark_standard:
                yield from self._types(places, repeated(STANDARD, len(places)), known & standard)
            keep = known & pc.not_equal(columns["code"], "").to_numpy(zero_copy_only=False)
            if keep.any():
                prefixes = pa.array(
                    [canonical_prefix("_".join(name.split())) for name in self.vocabularies], pa.string()
                )
                of_code = prefixes.take(pa.array(self.vocabulary[places[keep]]))
                codes = pc.binary_join_element_wise(of_code, columns["code"].filter(pa.array(keep)), ":")
                yield self.xrefs(places[keep], codes, "xref")

    def xrefs(self, places: np.ndarray, targets: pa.Array, predicate: str) -> Rows:
        """Cross-references of some concepts, which are of the sources of their vocabularies."""
        same = {"predicate": repeated(predicate, len(places)), "source": self.sources(places)}
        return Rows("xrefs", {"code": self.codes(places), "target": targets} | same)

    def _types(self, places: np.ndarray, types: pa.Array, keep: np.ndarray) -> Iterator[Rows]:
        if keep.any():
            yield Rows("types", {"code": self.codes(places[keep]), "type": types.filter(pa.array(keep))})


def read_concepts(
    tables: Tables, wanted: Mapping[str, Sequence[str]], *, standard: bool, named: bool, types: str
) -> Concepts:
    """Read CONCEPT.

    Args:
        wanted: A key of ``FILTERS`` to the values to keep; empty for all.
        named: Whether the concepts' names, which are English, are kept.

    Raises:
        InputError: With file and line: a concept that is listed twice or has no vocabulary or type. No concept has a
            requested vocabulary, domain or class.
    """
    blocks: list[_Block] = []
    listed: list[np.ndarray] = []
    lines: list[Sequence[int]] = []
    ids = [np.empty(0, np.int64)]
    index: dict[str, int] = {}
    vocabulary = [np.empty(0, np.int32)]
    met: dict[str, set[str]] = {option: set() for option in FILTERS}
    start = 0
    for block in tables.blocks("CONCEPT"):
        size, number = len(block.lines), block["concept_id"].to_numpy()
        listed.append(number)
        lines.append(block.lines)
        for option, column in FILTERS.items():
            met[option].update(block[column].dictionary.to_pylist())
        is_standard = among(block["standard_concept"], ("S",))
        conditions: dict[str, np.ndarray | None] = {
            "the id 0, which stands for no concept": number != 0,
            "invalid": among(block["invalid_reason"], ("",)),
        }
        for option, column in FILTERS.items():
            values = wanted.get(option)
            conditions[f"other {option.replace('_', ' ')}"] = among(block[column], values) if values else None
        conditions["not standard"] = is_standard if standard else None
        conditions["without a name"] = pc.not_equal(block["concept_name"], "").to_numpy(zero_copy_only=False)
        keep = tables.filter_rows("CONCEPT", size, conditions)
        _check_filled(tables, block, keep, ("vocabulary_id", types))
        n_kept = int(keep.sum())
        if named:
            tables.tally.keep(n_kept)
        else:
            tables.tally.drop("CONCEPT: names in other languages", n_kept)
        if not n_kept:
            continue
        ids.append(number[keep])
        mask = pa.array(keep)
        of_block = [index.setdefault(name, len(index)) for name in block["vocabulary_id"].dictionary.to_pylist()]
        vocabulary.append(np.array(of_block, np.int32)[block["vocabulary_id"].indices.to_numpy()[keep]])
        columns = {"code": block["concept_code"].filter(mask), types: block[types].filter(mask)}
        if named:
            columns["name"] = block["concept_name"].filter(mask)
        blocks.append(_Block(start, columns, is_standard[keep]))
        start += n_kept
    for option, values in wanted.items():
        for value in values:
            check_name(f"value of option {option} (no row of CONCEPT has it)", value, met[option])
    every = np.concatenate([np.empty(0, np.int64), *listed])
    _check_once(tables, every, lines)
    return Concepts(blocks, every, np.concatenate(ids), list(index), np.concatenate(vocabulary))


def _check_filled(tables: Tables, block: Block, keep: np.ndarray, columns: Sequence[str]) -> None:
    for column in columns:
        for row in np.flatnonzero(keep & among(block[column], ("",)))[:1]:
            raise InputError(f"{tables.where('CONCEPT', block.lines[row])}: {column} is empty")


def _check_once(tables: Tables, ids: np.ndarray, lines: Sequence[Sequence[int]]) -> None:
    order = np.argsort(ids, kind="stable")
    again = order[1:][np.diff(ids[order]) == 0]
    if len(again):
        row = at = int(again.min())
        for some in lines:
            if row < len(some):
                raise InputError(f"{tables.where('CONCEPT', some[row])}: concept {ids[at]} is listed twice")
            row -= len(some)


def curies(ids: np.ndarray) -> pa.Array:
    """Concept ids as dictionary-encoded CURIEs."""
    distinct, index = np.unique(ids, return_inverse=True)
    return pa.DictionaryArray.from_arrays(index.astype(np.int32), _curies(distinct))


def _curies(ids: np.ndarray) -> pa.Array:
    return pc.binary_join_element_wise("OMOP", pa.array(ids).cast(pa.string()), ":")


def repeated(value: str, size: int) -> pa.Array:
    """A dictionary-encoded column of one value."""
    return pa.DictionaryArray.from_arrays(np.zeros(size, np.int32), pa.array([value], pa.string()))


def source_name(vocabulary: str) -> str:
    """The source of the names of a vocabulary, e.g. ``OMOP_SNOMED``."""
    return f"OMOP_{'_'.join(vocabulary.split())}"
