"""The definitions of terminologies in the files of a release: whole, or several consecutive words of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.release.name_kinds import LEAST_CHARACTERS, LEAST_WORDS, Kind, kinds_of, open_texts, places_of_kinds
from st_biomed.release.normalized_names import letters_of, words_of
from st_biomed.release.own_text import labels_of, package
from st_biomed.release.term_search import HEAD, TermSearch
from st_biomed.release.vocabulary_rule import Vocabulary
from st_biomed.terminology import Terminology

NGRAM_WORDS = 8
"""Consecutive words that identify a definition; most must have a letter. Two definitions with a common pattern may
share as many, which is irrelevant: both are of a source. Ordinary text with these words is excused."""

NGRAMS = f"of at least {NGRAM_WORDS} words, of which no {NGRAM_WORDS} stand in a row"
SHORT_DEFINITIONS = (
    f"shorter and of at least {LEAST_WORDS} words or {LEAST_CHARACTERS} characters, none of which stands there whole"
)
INDISTINCT = "definitions of fewer words"

_ROWS = 100_000  # definitions folded at once


class Found(NamedTuple):
    """A definition, by its row, its occurring words, and their places."""

    row: int
    words: str
    places: frozenset[str]


def find_definitions(texts: pa.Array | pa.ChunkedArray, search: TermSearch) -> Iterator[Found]:
    """The occurring definitions: short distinctive ones as a whole, like names, and any :data:`NGRAM_WORDS` consecutive words of
    longer ones.

    Args:
        texts: Strings ``[K]``.
    """
    runs, heads = _NGrams(search), pa.array(sorted(search.heads), pa.string())
    for start in range(0, len(texts), _ROWS):
        written = texts.slice(start, _ROWS)
        words = words_of(written.combine_chunks() if isinstance(written, pa.ChunkedArray) else written)
        first = pc.utf8_slice_codeunits(pc.replace_substring(words, " ", ""), 0, HEAD)
        rows = np.flatnonzero(pc.is_in(first, value_set=heads).to_numpy(zero_copy_only=False))
        few = pa.array(written.take(pa.array(rows)).to_pylist(), pa.string())
        for row, kind in zip(rows.tolist(), kinds_of(few)):
            if kind is Kind.TELLING and (places := search.where(words[row].as_py())):
                yield Found(start + row, words[row].as_py(), frozenset(places))
        for occurrence in runs.find(words):
            yield occurrence._replace(row=start + occurrence.row)


def search_definitions(
    terminologies: Sequence[Terminology], passages: Mapping[str, Iterable[str]], vocabulary: Vocabulary, own_text: str
) -> tuple[list[str], set[str]]:
    """Search for definitions that may not be redistributed.

    Args:
        terminologies: The terminologies, including open ones, whose definitions and names are excused.
        passages: File to its strings: free text.
        vocabulary: The tokenizer's strings.
        own_text: Ordinary text in addition to :mod:`st_biomed.release.own_text`.

    Returns:
        The violations, a line for each place and definition, and the words that also occur in ordinary text.
    """
    defined = [terminology for terminology in terminologies if terminology.n_definitions]
    if not defined:
        return [], set()
    search = TermSearch({name: [*strings, *vocabulary.searched.get(name, ())] for name, strings in passages.items()})
    definitions: list[tuple[str, list[Found]]] = []  # of each definition, whose it is and what of it occurs
    for terminology in defined:
        rows = np.flatnonzero(~_is_open(terminology))
        sources = terminology.definitions["source"]
        occurring = find_definitions(terminology.definitions["text"].take(pa.array(rows)), search)
        for row, of_row in groupby(
            sorted(occurring, key=lambda occurrence: occurrence.row), key=lambda occurrence: occurrence.row
        ):
            definitions.append((sources[int(rows[row])].as_py(), list(of_row)))
    if not definitions:
        return [], set()
    phrases = {occurrence.words for _, of_definition in definitions for occurrence in of_definition}
    excused = _in_open_texts(terminologies, phrases)
    ordinary = TermSearch({"": chain([own_text], labels_of(terminologies))}), package()
    usual = {words for words in phrases - excused if any(text.where(words) for text in ordinary)}
    lines: dict[str, dict[str, set[str]]] = {}
    for source, of_definition in definitions:
        reported: set[str] = set()
        for occurrence in of_definition:
            runs = set(_ngrams_of(occurrence.words))
            if occurrence.words in excused | usual or (runs and runs <= excused | usual):
                continue
            for place in occurrence.places - reported:
                lines.setdefault(place, {}).setdefault(occurrence.words, set()).add(source)
            reported |= occurrence.places
    return [
        f"{place}: holds {words!r}, of a definition known only from {', '.join(sorted(sources))}, which may not be "
        "redistributed"
        for place in passages
        for words, sources in sorted(lines.get(place, {}).items())
    ], usual


def count_definitions(terminologies: Sequence[Terminology]) -> dict[str, Counter[str]]:
    """Source to the number of its definitions that may not be redistributed, by the kind of search.

    Keys of the counters are ``NGRAMS``, ``SHORT_DEFINITIONS`` and ``INDISTINCT``.
    """
    counts: dict[str, Counter[str]] = {}
    for terminology in terminologies:
        closed = terminology.definitions.filter(pa.array(~_is_open(terminology)))
        for batch in closed.to_batches(max_chunksize=_ROWS):
            n_words = pc.add(pc.count_substring(words_of(batch["text"]), " "), 1).to_numpy()
            telling = places_of_kinds(batch["text"]) == list(Kind).index(Kind.TELLING)
            keys = np.select([n_words >= NGRAM_WORDS, telling], [NGRAMS, SHORT_DEFINITIONS], INDISTINCT)
            for source, key in zip(batch["source"].to_pylist(), keys.tolist()):
                counts.setdefault(source, Counter())[key] += 1
    return dict(sorted(counts.items()))


def _is_open(terminology: Terminology) -> np.ndarray:
    """Whether definitions have a redistributable source, bool ``[K]``."""
    names = [source.name for source in terminology.sources.values() if source.redistributable]
    return pc.is_in(terminology.definitions["source"], value_set=pa.array(names, pa.string())).to_numpy()


def _in_open_texts(terminologies: Sequence[Terminology], phrases: Iterable[str]) -> set[str]:
    """The phrases, given by their words, that occur in a redistributable definition or name."""
    letters = {words.replace(" ", ""): words for words in phrases}
    wanted = pa.array(list(letters), pa.string())
    runs, held = _NGrams(TermSearch({"": letters.values()})), set()
    for terminology in terminologies:
        names = terminology.texts["text"].filter(pa.array(open_texts(terminology)))
        definitions = terminology.definitions["text"].filter(pa.array(_is_open(terminology)))
        for texts in (names, definitions):
            for start in range(0, len(texts), _ROWS):
                written = texts.slice(start, _ROWS).combine_chunks()
                folded = letters_of(written)
                held |= {
                    letters[letters_] for letters_ in folded.filter(pc.is_in(folded, value_set=wanted)).to_pylist()
                }
                held |= {occurrence.words for occurrence in runs.find(words_of(written))}
    return held


def _ngrams_of(words: str) -> Iterator[str]:
    """All :data:`NGRAM_WORDS` consecutive words of a phrase."""
    parts = words.split(" ")
    return (" ".join(parts[i : i + NGRAM_WORDS]) for i in range(len(parts) - NGRAM_WORDS + 1))


class _NGrams:
    """All :data:`NGRAM_WORDS` consecutive words of some passages, in each of their readings; most words must have a letter."""

    def __init__(self, search: TermSearch) -> None:
        lines = [(place, line.split(" ")) for place, line in search.lines() if line.count(" ") >= NGRAM_WORDS - 1]
        number = {word: i for i, word in enumerate(dict.fromkeys(chain.from_iterable(line for _, line in lines)))}
        self._words = list(number)
        self._places: dict[tuple[int, ...], set[str]] = {}
        for place, line in lines:
            row, lettered = [number[word] for word in line], [not word.isdecimal() for word in line]
            for i in range(len(row) - NGRAM_WORDS + 1):
                if sum(lettered[i : i + NGRAM_WORDS]) > NGRAM_WORDS // 2:
                    self._places.setdefault(tuple(row[i : i + NGRAM_WORDS]), set()).add(place)

    def find(self, words: pa.Array) -> Iterator[Found]:
        """The runs that occur in some texts.

        Args:
            words: The words of each text, separated by spaces, ``[N]``.
        """
        if not self._places:
            return
        parts = pc.split_pattern(words, " ")
        number = pc.index_in(parts.flatten(), value_set=pa.array(self._words, pa.string())).fill_null(-1).to_numpy()
        row = np.repeat(np.arange(len(words)), pc.list_value_length(parts).to_numpy())
        known = np.concatenate([[0], np.cumsum(number >= 0)])
        start = np.flatnonzero(known[NGRAM_WORDS:] - known[:-NGRAM_WORDS] == NGRAM_WORDS)
        start = start[row[start] == row[start + NGRAM_WORDS - 1]]
        for at, run in zip(start.tolist(), map(tuple, number[start[:, None] + np.arange(NGRAM_WORDS)].tolist())):
            if places := self._places.get(run):
                yield Found(int(row[at]), " ".join(self._words[word] for word in run), frozenset(places))
