"""Counts of the terms of a terminology that occur in a text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from st_biomed.corpus.matching import TermMatcher

_COMMONEST = 12


@dataclass
class Coverage:
    """Counts of the text and its mentions.

    Attributes:
        documents: Documents; each piece of a long one counts.
        words: Their words, separated by spaces.
        mentions: Mentions found, before any cap.
        ambiguous_mentions: Mentions of several concepts.
        rows: Rows of the resulting dataset.
        dropped: Mentions that are not in the dataset, by reason.
        terms_found: Terms with a mention; terms that the policy does not distinguish count once.
        terms: Terms that were searched for.
        concepts_found: Concepts with a mention, an ambiguous mention counts for each of its concepts.
        concepts: Concepts with a term that was searched for.
        escaped_markers: Markers in the raw text that were escaped.
        terms_dropped: Terms that were not searched for, by reason.
        terminology: Digest of the terminology.
        language: Language of the terms; empty for all.
        commonest: The most frequent terms in descending order: text id, mentions, and the number of concepts it may
            mean. An everyday word among them is a name that should be removed from the terminology or made a stop
            word.
        commonest_ambiguous: The most frequent terms of several concepts.
    """

    documents: int = 0
    words: int = 0
    mentions: int = 0
    ambiguous_mentions: int = 0
    rows: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    terms_found: int = 0
    terms: int = 0
    concepts_found: int = 0
    concepts: int = 0
    escaped_markers: int = 0
    terms_dropped: dict[str, int] = field(default_factory=dict)
    terminology: str = ""
    language: str = ""
    commonest: list[tuple[int, int, int]] = field(default_factory=list)
    commonest_ambiguous: list[tuple[int, int, int]] = field(default_factory=list)

    def drop(self, reason: str, n: int) -> None:
        """Count mentions that are dropped."""
        if n:
            self.dropped[reason] = self.dropped.get(reason, 0) + n

    def of_terms(self, matcher: TermMatcher, counts: np.ndarray) -> None:
        """Set the values that follow from the counts of mentions.

        Args:
            counts: Mentions of each form, int64 ``[F]``.
        """
        with_mentions = np.flatnonzero(counts)
        self.mentions = int(counts.sum())
        self.ambiguous_mentions = int(counts[matcher.concepts.counts > 1].sum())
        self.terms_found, self.terms = _distinct(matcher.labels[with_mentions]), _distinct(matcher.labels)
        self.concepts_found = _distinct(matcher.concepts.take(with_mentions)[1])
        self.concepts = _distinct(matcher.concepts.indices)
        self.terms_dropped = matcher.tally.to_dict()["dropped"]
        meanings = matcher.concepts.counts
        self.commonest = _commonest(matcher, counts, meanings, with_mentions)
        self.commonest_ambiguous = _commonest(matcher, counts, meanings, with_mentions[meanings[with_mentions] > 1])
        self.terminology, self.language = matcher.digest, matcher.language or ""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def save(self, path: Path) -> None:
        """Write the counts as JSON."""
        path.write_text(json.dumps(self.to_dict(), indent=1) + "\n", encoding="utf-8")

    def __str__(self) -> str:
        lines = [
            f"{self.documents:,} documents, {self.words:,} words",
            f"{self.mentions:,} mentions ({self.ambiguous_mentions:,} ambiguous) in {self.rows:,} rows",
            f"{self.terms_found:,} of {self.terms:,} terms, {self.concepts_found:,} of {self.concepts:,} concepts",
        ]
        lines += [f"mentions dropped, {reason}: {n:,}" for reason, n in sorted(self.dropped.items())]
        lines += [f"terms not looked for, {reason}: {n:,}" for reason, n in sorted(self.terms_dropped.items())]
        if self.escaped_markers:
            lines.append(f"markers in the raw text, which were escaped: {self.escaped_markers:,}")
        return "\n".join(lines)

    def commonest_named(self, strings: Sequence[str]) -> str:
        """The most frequent terms by name: a line for all, and a line for those of several concepts.

        Args:
            strings: The terminology's strings by text id.
        """
        lines = []
        if self.commonest:
            lines.append("commonest: " + "; ".join(f"{strings[label]} {n:,}" for label, n, _ in self.commonest))
        if self.commonest_ambiguous:
            several = (f"{strings[label]} {n:,} (of {k})" for label, n, k in self.commonest_ambiguous)
            lines.append("commonest of several concepts: " + "; ".join(several))
        return "\n".join(lines)


def _commonest(
    matcher: TermMatcher, counts: np.ndarray, meanings: np.ndarray, among: np.ndarray
) -> list[tuple[int, int, int]]:
    """Text id, mentions and concepts of the forms with the most mentions; the lowest id first among equal ones."""
    top = among[np.lexsort((among, -counts[among]))[:_COMMONEST]]
    return list(zip(matcher.labels[top].tolist(), counts[top].tolist(), meanings[top].tolist()))


def _distinct(numbers: np.ndarray) -> int:
    """The number of distinct values; numpy's own function takes seconds for a million."""
    return int(np.count_nonzero(np.bincount(numbers)))
