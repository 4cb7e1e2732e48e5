"""What a model answered for each mention: for error analysis, and to compare two models mention by mention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from st_biomed.errors import InputError
from st_biomed.metrics.significance import PairedTest, Units

if TYPE_CHECKING:
    from st_biomed.linking_data.records import LinkingDictionary, Mention
    from st_biomed.metrics.linking_gold import Gold


class Candidate(NamedTuple):
    """An entry that a model found.

    Attributes:
        name: Name of the entry.
        ids: Its ids.
        score: Similarity to what was looked up.
    """

    name: str
    ids: frozenset[str]
    score: float


class Prediction(NamedTuple):
    """The answer for one mention.

    Attributes:
        mention: The mention.
        rank: Rank of the first right candidate, from 1, of the worst part; infinity where one part has none.
        candidates: For each part that was looked up the entries found, best first.
    """

    mention: Mention
    rank: float
    candidates: tuple[tuple[Candidate, ...], ...]


@dataclass(frozen=True, eq=False)
class LinkingPredictions:
    """A sequence of :class:`Prediction`, one for each measured mention, made when asked for.

    Attributes:
        mentions: ``[N]``.
        gold: What was right.
        ranks: Rank of each mention in the evaluator's unit, ``[N]``.
        dictionary: Where the candidates are from.
        entries: Entries found for each part, best first, -1 where there are no more, ``[P, K]``.
        scores: Their scores, ``[P, K]``.
    """

    mentions: list[Mention]
    gold: Gold
    ranks: np.ndarray
    dictionary: LinkingDictionary
    entries: np.ndarray
    scores: np.ndarray

    def __len__(self) -> int:
        return len(self.mentions)

    def __getitem__(self, i: int) -> Prediction:
        if not -len(self) <= i < len(self):
            raise IndexError(f"prediction {i} of {len(self)}")
        i %= len(self)
        start, end = np.searchsorted(self.gold.owner, [i, i + 1])
        parts = zip(self.entries[start:end], self.scores[start:end])
        candidates = tuple(
            tuple(Candidate(*self.dictionary.entry(int(e)), float(s)) for e, s in zip(*part) if e >= 0)
            for part in parts
        )
        return Prediction(self.mentions[i], float(self.ranks[i]), candidates)

    def __iter__(self) -> Iterator[Prediction]:
        return (self[i] for i in range(len(self)))

    def errors(self, k: int = 1) -> Iterator[Prediction]:
        """The mentions that are not right within the k best candidates."""
        return (self[int(i)] for i in np.flatnonzero(self.ranks > k))

    def lost(self, other: LinkingPredictions, k: int = 1) -> Iterator[tuple[Prediction, Prediction]]:
        """The mentions that this model has right within the k best candidates and the other has not: both answers.

        Raises:
            InputError: The mentions differ.
        """
        self._check_same(other)
        return ((self[int(i)], other[int(i)]) for i in np.flatnonzero((self.ranks <= k) & (other.ranks > k)))

    def compare(
        self,
        other: LinkingPredictions,
        k: int = 1,
        *,
        by_document: bool = False,
        n_resamples: int = 10_000,
        seed: int = 0,
    ) -> PairedTest:
        """Is acc@k of this model above that of another on the same mentions? See :meth:`~st_biomed.metrics.Units.compare`.

        Args:
            other: Of the other model, from an evaluator of the same mentions.
            k: Of the accuracy.
            by_document: Whether mentions of one document are drawn together.
            n_resamples, seed: Of the test.

        Raises:
            InputError: The mentions differ, or name no documents.
        """
        self._check_same(other)
        documents = documents_of(self.mentions) if by_document else None
        own, others = (Units("mention", one.ranks <= k, clusters=documents) for one in (self, other))
        return own.compare(others, n_resamples=n_resamples, seed=seed)

    def _check_same(self, other: LinkingPredictions) -> None:
        if self.mentions != other.mentions:
            raise InputError(
                f"predictions: {len(self):,} and {len(other):,} mentions, which are not the same; measure both models "
                "with one evaluator"
            )


def documents_of(mentions: Sequence[Mention]) -> np.ndarray:
    """Document of each mention, ``[N]``.

    Raises:
        InputError: A mention names none.
    """
    documents = np.array([mention.document for mention in mentions])
    if n := int((documents == "").sum()):
        raise InputError(f"by_document: {n:,} of {len(mentions):,} mentions name no document")
    return documents
