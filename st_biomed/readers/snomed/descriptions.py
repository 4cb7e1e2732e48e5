"""Descriptions: names and text definitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import check_name
from st_biomed.readers._normalizers import single_spaced_column
from st_biomed.readers.snomed.concepts import PREFIX, Concepts, constant
from st_biomed.readers.snomed.identifiers import DEFINITION, FULLY_SPECIFIED, SYNONYM
from st_biomed.readers.snomed.language_sets import Preferences
from st_biomed.readers.snomed.release import Release
from st_biomed.readers.snomed.semantic_tags import SemanticTags
from st_biomed.records import Rows

_TYPES = (FULLY_SPECIFIED, SYNONYM, DEFINITION)
_FULL, _SYNONYM, _DEFINITION, _OTHER = range(4)  # places in it
_ROWS_OF_A_BLOCK = 1 << 18


class _Texts(NamedTuple):
    """Active descriptions, ``[N]`` each: place in the file, identifier, concept's index, type, language, rank and text."""

    at: np.ndarray
    identifiers: np.ndarray
    concepts: np.ndarray
    types: np.ndarray
    languages: np.ndarray
    ranks: np.ndarray
    texts: pa.Array

    def filter(self, keep: np.ndarray) -> _Texts:
        *arrays, texts = self
        return _Texts._make([*(array[keep] for array in arrays), texts.filter(pa.array(keep))])


_NONE = _Texts._make([*np.zeros((6, 0), np.int64), pa.array([], pa.string())])


class Descriptions:
    """The kept descriptions.

    Attributes:
        known: Whether a concept has a kept name, boolean ``[C]``.

    Args:
        preferences: The descriptions that dialects prefer.
        tags: Takes the tags of fully specified names of all languages.
        languages: Languages to keep, the first ones preferred; empty for all, English preferred.

    Raises:
        InputError: No active description has a requested language.
    """

    def __init__(
        self,
        release: Release,
        concepts: Concepts,
        preferences: Preferences,
        tags: SemanticTags,
        languages: Sequence[str],
        *,
        definitions: bool,
    ) -> None:
        self._release, self._concepts, self._preferences, self._tags = release, concepts, preferences, tags
        self._languages = list(dict.fromkeys([*languages, "en"]))
        self._n_asked = len(languages)
        self._with_definitions = definitions
        if definitions and not release.has("TextDefinition"):
            release.tally.note("no sct2_TextDefinition_Snapshot file: no text definitions were read")
        met: set[str] = set()
        kept: list[_Texts] = []
        for kind in ("Description", *(("TextDefinition",) if definitions else ())):
            blocks = list(self._read(kind, met))
            current = release.current(kind)
            kept += [self._kept(kind, block.filter(current[block.at])) for block in blocks]
        for language in languages:
            check_name("value of option languages (no active description has it)", language, met)
        self._names = self._distinct("names", [block.filter(block.types != _DEFINITION) for block in kept])
        self.known = np.zeros(len(concepts.identifiers), dtype=bool)
        self.known[self._names.concepts] = True
        definitions_kept = [block.filter(block.types == _DEFINITION) for block in kept]
        self._definitions = self._distinct(
            "definitions", [block._replace(texts=single_spaced_column(block.texts)) for block in definitions_kept]
        )
        preferences.count(np.concatenate([self._names.identifiers, self._definitions.identifiers]))

    def rows(self) -> Iterator[Rows]:
        """Names and definitions."""
        best = np.full(len(self.known), np.iinfo(np.int64).max)
        np.minimum.at(best, self._names.concepts, self._names.ranks)
        for columns, names in self._columns(self._names):
            is_best = (best[names.concepts] == names.ranks).astype(np.int32)
            kinds = pa.DictionaryArray.from_arrays(is_best, pa.array(["synonym", "preferred"]))
            yield Rows("terms", {**columns, "kind": kinds})
        for columns, _ in self._columns(self._definitions):
            yield Rows("definitions", columns)

    def _read(self, kind: str, met: set[str]) -> Iterator[_Texts]:
        for rows in self._release.rows(kind, "conceptId", "languageCode", "typeId", "term"):
            type_ids, identifiers = rows.numbers("typeId"), rows.numbers("id")
            types = np.full(len(type_ids), _OTHER, dtype=np.int8)
            for number, type_id in enumerate(_TYPES):
                types[type_ids == type_id] = number
            codes = rows.strings("languageCode")
            at = codes.indices.to_numpy()
            spoken = [code.strip().lower() for code in codes.dictionary.to_pylist()]
            met.update(spoken[code] for code in np.flatnonzero(np.bincount(at)).tolist())
            self._languages += [code for code in dict.fromkeys(spoken) if code not in self._languages]
            languages = np.array([self._languages.index(code) for code in spoken], dtype=np.int64)[at]
            yield _Texts(
                rows.at,
                identifiers,
                self._concepts.index(rows.numbers("conceptId")),
                types,
                languages.astype(np.int16),
                self._ranks(identifiers, types, languages, rows.at),
                pc.utf8_trim_whitespace(rows.strings("term")),
            )

    def _ranks(self, identifiers: np.ndarray, types: np.ndarray, languages: np.ndarray, at: np.ndarray) -> np.ndarray:
        """The order of the names of a concept, the lowest of which is preferred, int64 ``[N]``.

        A synonym that a requested dialect prefers; the language; a synonym that a dialect prefers, a fully specified
        name, any other synonym; the dialect; the place in the file.
        """
        dialect = self._preferences.ranks(identifiers).astype(np.int64)
        n_dialects = self._preferences.n_ranks
        level = np.where(types == _FULL, n_dialects, np.where(dialect < n_dialects, dialect, n_dialects + 1))
        asked = np.minimum(level, n_dialects - 1) if self._preferences.asked else 0
        language = languages if self._n_asked else np.minimum(languages, 1)
        return asked << 55 | language << 47 | level << 40 | dialect << 33 | at

    def _kept(self, kind: str, block: _Texts) -> _Texts:
        """The kept ones among current descriptions. Fully specified names lose their tags."""
        in_file = block.concepts >= 0
        active = in_file & self._concepts.active[block.concepts] if in_file.any() else in_file
        filled = pc.not_equal(block.texts, "").to_numpy(zero_copy_only=False)
        full = active & filled & (block.types == _FULL) & (kind == "Description")
        if full.any():
            english = (block.languages == self._languages.index("en")).astype(np.int64)
            ranks = (1 - english) << 62 | block.ranks & (1 << 40) - 1
            bare = self._tags.take(block.texts.filter(pa.array(full)), block.concepts[full], ranks[full])
            block = block._replace(texts=pc.replace_with_mask(block.texts, pa.array(full), bare))
        conditions = {
            "of another type": block.types == _DEFINITION if kind == "TextDefinition" else block.types != _OTHER,
            "definitions": None if self._with_definitions else block.types != _DEFINITION,
            "other languages": block.languages < self._n_asked if self._n_asked else None,
            "of a concept that is in no file": in_file,
            "of an inactive concept": active,
            "empty": filled,
        }
        return block.filter(self._release.filter_rows(kind, len(full), conditions))

    def _distinct(self, what: str, blocks: list[_Texts]) -> _Texts:
        """Each text of a concept in a language once, with the lowest rank, sorted by concept; definitions of known ones."""
        columns = list(zip(*(blocks or [_NONE])))
        texts = pa.chunked_array(columns[-1], pa.string()).dictionary_encode()
        words = texts.chunk(0).dictionary if texts.num_chunks else pa.array([], pa.string())
        text = np.concatenate([np.empty(0, np.int64), *(chunk.indices.to_numpy() for chunk in texts.chunks)])
        at, identifiers, concepts, types, languages, ranks = map(np.concatenate, columns[:-1])
        key = (concepts.astype(np.int64) * len(self._languages) + languages) * max(1, len(words)) + text.astype(
            np.int64
        )
        order = np.lexsort((ranks, key))
        first = np.ones(len(order), dtype=bool)
        first[1:] = key[order][1:] != key[order][:-1]
        tally = self._release.tally
        tally.drop(f"repeated {what} of a concept", int((~first).sum()))
        order = order[first]
        if what == "definitions":
            known = self.known[concepts[order]]
            tally.drop("definitions of a concept without a kept name", int((~known).sum()))
            order = order[known]
        tally.keep(len(order))
        rest = (column[order] for column in (at, identifiers, concepts, types, languages, ranks))
        return _Texts._make([*rest, pa.DictionaryArray.from_arrays(text[order].astype(np.int32), words)])

    def _columns(self, every: _Texts) -> Iterator[tuple[dict[str, pa.Array], _Texts]]:
        """A block of columns at a time, and the descriptions that it has."""
        languages = pa.array(self._languages)
        for start in range(0, len(every.at), _ROWS_OF_A_BLOCK):
            some = _Texts._make(column[start : start + _ROWS_OF_A_BLOCK] for column in every)
            columns = {
                "code": self._concepts.curies(some.concepts),
                "text": some.texts.dictionary.take(some.texts.indices),
                "language": pa.DictionaryArray.from_arrays(some.languages.astype(np.int32), languages),
                "source": constant(PREFIX, len(some.at)),
            }
            yield columns, some
