"""The names of concepts: that of CONCEPT, and the synonyms of CONCEPT_SYNONYM with their languages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import check_name
from st_biomed.readers.omop.concepts import ABSENT, Concepts, repeated
from st_biomed.readers.omop.tables import Tables
from st_biomed.records import Rows

ENGLISH = "en"
UNDETERMINED = "und"
_CONCEPTS_AT_ONCE = 1 << 20  # whose names are compared with each other
_LANGUAGES = {
    4180186: ENGLISH,
    4182511: "es",
    4180190: "fr",
    4182504: "de",
    4182507: "it",
    4182503: "nl",
    4181536: "pt",
    4175777: "sv",
    4181730: "fi",
    4182948: "zh",
}
"""Concept id of a language to its ISO 639-1 code, as the sources of the OHDSI vocabularies use them."""

_CODES = list(dict.fromkeys([ENGLISH, *_LANGUAGES.values(), UNDETERMINED]))


def term_rows(tables: Tables, concepts: Concepts, languages: Sequence[str]) -> Iterator[Rows]:
    """Read CONCEPT_SYNONYM, and yield the terms; concepts without any are no longer known.

    Args:
        concepts: The concepts, with their names if these are kept.
        languages: ISO 639-1 codes of the names to keep; empty for all.

    Raises:
        InputError: No kept name has a requested language.
    """
    places, language, texts = _read(tables, concepts, languages)
    names = [block.columns["name"] for block in concepts.blocks if "name" in block.columns]
    n_named = sum(map(len, names))
    keep = _first_of_each(names, places, language, texts)
    del names  # so that each block is released after it is yielded
    dropped = int((~keep).sum())
    tables.tally.drop("CONCEPT_SYNONYM: repeated names of a concept", dropped)
    tables.tally.keep(len(keep) - dropped)
    has_name = np.zeros(len(concepts.ids), dtype=bool)
    has_name[:n_named] = True
    title = np.zeros(len(keep), dtype=bool)  # synonyms that are the preferred name: of concepts without another
    rows = np.flatnonzero(keep & ~has_name[places])
    title[rows[np.unique(places[rows], return_index=True)[1]]] = True
    has_name[places[keep]] = True
    concepts.only(has_name)

    for block in concepts.blocks:
        if "name" in block.columns:
            text = block.columns.pop("name")
            yield _terms(concepts, np.arange(block.start, block.start + len(text)), text)
    start = 0
    texts.reverse()
    while texts:
        text = texts.pop()
        part = slice(start, start + len(text))
        start += len(text)
        kept = keep[part]
        if kept.any():
            mask = pa.array(kept)
            yield _terms(concepts, places[part][kept], text.filter(mask), language[part][kept], title[part][kept])


def _read(
    tables: Tables, concepts: Concepts, languages: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, list[pa.Array]]:
    """Synonyms in the requested languages: the place of the concept, the index of the language, and the texts in blocks."""
    places, language = [np.empty(0, np.int32)], [np.empty(0, np.int8)]
    texts: list[pa.Array] = []
    met = {ENGLISH} if len(concepts.ids) else set()
    unknown: set[int] = set()
    for block in tables.blocks("CONCEPT_SYNONYM"):
        place = concepts.places(block["concept_id"].to_numpy())
        ids, index = np.unique(block["language_concept_id"].to_numpy(), return_inverse=True)
        codes = [_LANGUAGES.get(number, UNDETERMINED) for number in ids.tolist()]
        met.update(codes)
        unknown.update(number for number in ids.tolist() if number not in _LANGUAGES)
        keep = tables.filter_rows(
            "CONCEPT_SYNONYM",
            len(place),
            {
                "blank names": pc.not_equal(block["concept_synonym_name"], "").to_numpy(zero_copy_only=False),
                "of a concept that is not in CONCEPT": place != ABSENT,
                "of a concept that is not read": place >= 0,
                "names in other languages": np.isin(codes, languages)[index] if languages else None,
            },
        )
        places.append(place[keep])
        language.append(np.array([_CODES.index(code) for code in codes], np.int8)[index[keep]])
        texts.append(block["concept_synonym_name"].filter(pa.array(keep)))
    for code in languages:
        check_name("value of option languages (no name has it)", code, met)
    if unknown:
        ids_text = ", ".join(map(str, sorted(unknown)))
        tables.tally.note(f"names in the languages {ids_text}, whose ISO codes are not known, are in {UNDETERMINED!r}")
    return np.concatenate(places), np.concatenate(language), texts


def _first_of_each(
    names: list[pa.Array], places: np.ndarray, language: np.ndarray, texts: list[pa.Array]
) -> np.ndarray:
    """Whether each synonym is the first row of its concept with this text in its language, boolean ``[N]``."""
    titles, synonyms = (pa.chunked_array(blocks, pa.string()) for blocks in (names, texts))
    first = np.zeros(len(places), dtype=bool)
    for start in range(0, int(places.max(initial=-1)) + 1, _CONCEPTS_AT_ONCE):
        stop = start + _CONCEPTS_AT_ONCE
        here = (places >= start) & (places < stop)
        if not here.any():
            continue
        title = titles.slice(start, _CONCEPTS_AT_ONCE)
        encoded = pa.chunked_array(
            [*title.chunks, *synonyms.filter(pa.array(here)).chunks], pa.string()
        ).dictionary_encode()
        text = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks]).astype(np.int64)
        place = np.concatenate([np.arange(start, start + len(title)), places[here]])
        spoken = np.concatenate([np.zeros(len(title), np.int8), language[here]])  # ENGLISH has index 0
        key = (place * len(_CODES) + spoken) * len(encoded.chunk(0).dictionary) + text
        order = np.argsort(key, kind="stable")
        is_first = np.ones(len(key), dtype=bool)
        is_first[order[1:]] = np.diff(key[order]) != 0
        first[here] = is_first[len(title) :]
    return first


def _terms(
    concepts: Concepts,
    places: np.ndarray,
    texts: pa.Array,
    language: np.ndarray | None = None,
    preferred: np.ndarray | None = None,
) -> Rows:
    """Terms; by default the preferred ones, in English."""
    size = len(places)
    kinds = repeated("preferred", size)
    if preferred is not None:
        words = pa.array(["synonym", "preferred"])
        kinds = pa.DictionaryArray.from_arrays(preferred.astype(np.int32), words)
    codes = repeated(ENGLISH, size)
    if language is not None:
        codes = pa.DictionaryArray.from_arrays(language.astype(np.int32), pa.array(_CODES))
    columns = {"code": concepts.codes(places), "text": texts, "kind": kinds, "language": codes}
    return Rows("terms", columns | {"source": concepts.sources(places)})
