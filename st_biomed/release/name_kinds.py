"""The names that can be distinguished from ordinary words, and the number of those that cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.release.normalized_names import UNSPACED, letters_of
from st_biomed.terminology import Terminology

LEAST_WORDS, LEAST_CHARACTERS = 3, 20
LEAST_LETTERS = 6  # of two words together
LEAST_UNSPACED = 4

_ROWS = 1_000_000  # names classified at once


class Kind(Enum):
    """The form of a name; the value describes it after a number."""

    TELLING = f"of at least {LEAST_WORDS} words or {LEAST_CHARACTERS} characters"
    SHORT = f"of two words and at least {LEAST_LETTERS} letters"
    UNSPACED = f"of at least {LEAST_UNSPACED} Chinese, Japanese or Korean characters"
    SINGLE = "of a single word"
    BRIEF = f"of several words and fewer than {LEAST_LETTERS} letters"
    BRIEF_UNSPACED = f"of fewer than {LEAST_UNSPACED} Chinese, Japanese or Korean characters"
    NUMBER = "without a letter"


IN_CLAUSES = (Kind.SHORT, Kind.UNSPACED)
"""Kinds that are searched for within clauses of free text."""
INDISTINCT = (Kind.SINGLE, Kind.BRIEF, Kind.BRIEF_UNSPACED, Kind.NUMBER)
"""Kinds that cannot be distinguished from ordinary words, and are not searched for."""

_KINDS = list(Kind)
_WORD = r"[^\s\pZ]*[\pL\pN][^\s\pZ]*"
_SEVERAL = r"[\pL\pM\pN][^\pL\pM\pN]*[^\pL\pM\pN\p{Cf}][^\pL\pM\pN]*[\pL\pM\pN]"
"""Two words with more than format characters between them."""


def kinds_of(names: pa.Array) -> list[Kind]:
    """The kind of each of a few names, ``[N]``; see :func:`places_of_kinds`."""
    return [_KINDS[place] for place in places_of_kinds(names).tolist()]


def places_of_kinds(names: pa.Array) -> np.ndarray:
    """The kind of each name, as its index in :class:`Kind`, ``[N]``.

    A word of a telling name is between spaces and has a letter or digit; in a short name, a hyphen or another sign
    also separates words.
    """
    words = pc.count_substring_regex(names, _WORD).to_numpy()
    telling = (words >= LEAST_WORDS) | (pc.utf8_length(names).to_numpy() >= LEAST_CHARACTERS)
    lettered = pc.match_substring_regex(names, r"\pL").to_numpy(zero_copy_only=False)
    kind_of = np.where(lettered, _KINDS.index(Kind.TELLING), _KINDS.index(Kind.NUMBER)).astype(np.int8)
    rest = np.flatnonzero(~telling & lettered)
    few = names.take(pa.array(rest))
    several = pc.match_substring_regex(few, _SEVERAL).to_numpy(zero_copy_only=False)
    unspaced = pc.match_substring_regex(few, UNSPACED).to_numpy(zero_copy_only=False)
    long_enough = pc.count_substring_regex(few, r"\pL").to_numpy() >= LEAST_LETTERS
    kinds = np.select(
        [unspaced, several & long_enough, several],
        [_KINDS.index(kind) for kind in (Kind.BRIEF_UNSPACED, Kind.SHORT, Kind.BRIEF)],
        _KINDS.index(Kind.SINGLE),
    )
    sizes = pc.utf8_length(letters_of(few.filter(pa.array(unspaced)))).to_numpy()
    kinds[np.flatnonzero(unspaced)[sizes >= LEAST_UNSPACED]] = _KINDS.index(Kind.UNSPACED)
    kind_of[rest] = kinds
    return kind_of


def open_texts(terminology: Terminology) -> np.ndarray:
    """Whether texts have at least one redistributable source, bool ``[T]``; undescribed sources are not."""
    names, sources, texts = _rows_of(terminology)
    redistributable = {source.name for source in terminology.sources.values() if source.redistributable}
    is_open = np.zeros(terminology.n_texts, dtype=bool)
    is_open[texts[np.isin(sources, [i for i, name in enumerate(names) if name in redistributable])]] = True
    return is_open


def count_kinds(terminologies: Sequence[Terminology]) -> dict[str, Counter[Kind]]:
    """Source to the number of its names of each kind, for names that may not be redistributed."""
    counts: dict[str, Counter[Kind]] = {}
    for terminology in terminologies:
        column = terminology.texts["text"]
        batches = (column.slice(start, _ROWS) for start in range(0, len(column), _ROWS))
        kinds = np.concatenate([places_of_kinds(batch.combine_chunks()) for batch in batches])
        names, sources, texts = _rows_of(terminology)
        text, source = np.divmod(np.unique(texts * len(names) + sources), len(names))
        closed = ~open_texts(terminology)[text]
        cells = np.bincount(source[closed] * len(Kind) + kinds[text[closed]], minlength=len(names) * len(Kind))
        for i, name in enumerate(names):
            of_source = Counter({kind: n for kind, n in zip(Kind, cells[i * len(Kind) :].tolist()) if n})
            if of_source:
                counts.setdefault(name, Counter()).update(of_source)
    return dict(sorted(counts.items()))


def _rows_of(terminology: Terminology) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of the sources, and the index of the source and the text of each term, both int64 ``[R]``."""
    sources = terminology.terms["source"].combine_chunks()
    texts = terminology.terms["text"].to_numpy().astype(np.int64)
    return sources.dictionary.to_pylist(), sources.indices.to_numpy().astype(np.int64), texts
