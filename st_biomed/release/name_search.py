"""The names of terminologies in the files of a release, and which of them are allowed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.release.name_kinds import IN_CLAUSES, Kind, open_texts
from st_biomed.release.own_text import labels_of, package
from st_biomed.release.term_search import Near, TermSearch, near
from st_biomed.release.vocabulary_rule import Vocabulary
from st_biomed.terminology import Terminology


@dataclass(frozen=True)
class Findings:
    """The findings of the rule in a folder.

    Attributes:
        breaches: Violations, a line each.
        ordinary: Names, and words of definitions, that occur both in the folder and in ordinary text.
        pieces: Source to the number of its one-word names that are pieces of the tokenizer and not of the base
            model's; a corpus also has such words.
    """

    breaches: list[str] = field(default_factory=list)
    ordinary: set[str] = field(default_factory=set)
    pieces: Counter[str] = field(default_factory=Counter)


@dataclass
class _Hit:
    """A name that may not be redistributed, its places, and its sources."""

    name: Near
    places: set[str] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)


def search_names(
    terminologies: Sequence[Terminology], passages: Mapping[str, Iterable[str]], vocabulary: Vocabulary, own_text: str
) -> Findings:
    """Search for names that may not be redistributed.

    Args:
        terminologies: The terminologies, including open ones, whose names are excused.
        passages: File to its strings: free text.
        vocabulary: The tokenizer's strings.
        own_text: Ordinary text in addition to :mod:`st_biomed.release.own_text`.
    """
    free, joined, pieces = TermSearch(passages), TermSearch(vocabulary.searched), vocabulary.search()
    hits: dict[str, _Hit] = {}  # by the letters common to all spellings of a name
    single_words: dict[str, _Hit] = {}
    excused: set[str] = set()
    for terminology in terminologies:
        is_open = open_texts(terminology)
        of_row: dict[int, _Hit] = {}
        for name in near(terminology.texts["text"], free, joined, pieces.rows):
            if is_open[name.row]:
                excused.add(name.letters)
                continue
            places = pieces.where(name)
            if name.kind is Kind.TELLING:
                places += free.where(name.words) + joined.where(name.words)
            elif name.kind in IN_CLAUSES:
                places += free.where_in_a_clause(name.words)
            if places or pieces.is_a_piece(name):
                hit = (hits if places else single_words).setdefault(name.letters, _Hit(name))
                hit.places.update(places)
                of_row[name.row] = hit
        terms = terminology.terms.select(["text", "source"])
        terms = terms.filter(pc.is_in(terms["text"], value_set=pa.array(list(of_row), terms["text"].type)))
        for row, source in zip(terms["text"].to_pylist(), terms["source"].to_pylist()):
            of_row[row].sources.add(source)
    of_pieces = (hit.sources for letters, hit in single_words.items() if letters not in excused | hits.keys())
    unexcused = {letters: hit for letters, hit in sorted(hits.items()) if letters not in excused}
    findings = Findings(pieces=Counter(chain.from_iterable(of_pieces)))
    if not unexcused:
        return findings
    ordinary = TermSearch({"": chain([own_text], labels_of(terminologies))}), package()
    for hit in unexcused.values():
        words, telling = hit.name.words, hit.name.kind is Kind.TELLING
        if any(text.where(words) if telling else text.where_in_a_clause(words) for text in ordinary):
            findings.ordinary.add(hit.name.name)
            continue
        whose = f"known only from {', '.join(sorted(hit.sources))}, which may not be redistributed"
        findings.breaches.extend(
            f"{place}: holds {hit.name.name!r}, {whose}" for place in passages if place in hit.places
        )
    return findings
