"""The predictions of a model for each mention, for error analysis and paired comparison of two models."""

from __future__ import annotations

import hashlib
import json
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
    """An entry found by a model.

    Attributes:
        score: Similarity to the looked-up string.
    """

    name: str
    ids: frozenset[str]
    score: float


class Prediction(NamedTuple):
    """The prediction for a mention.

    Attributes:
        rank: Rank of the first correct candidate, from 1, of the worst part; infinity if a part has none.
        candidates: The entries found for each part, best first.
    """

    mention: Mention
    rank: float
    candidates: tuple[tuple[Candidate, ...], ...]


@dataclass(frozen=True, eq=False)
class LinkingPredictions:
    """A sequence of :class:`Prediction`, one for each measured mention, created on access.

    Attributes:
        mentions: ``[N]``.
        ranks: Rank of each mention in the evaluator's unit, ``[N]``.
        dictionary: The dictionary of the candidates.
        entries: Entries found for each part, best first, padded with -1, ``[P, K]``.
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
        """The mentions that are not correct within the k best candidates.

        Raises:
            InputError: A k beyond the ranked candidates.
        """
        self._check_k(k)
        return (self[int(i)] for i in np.flatnonzero(self.ranks > k))

    def lost(self, other: LinkingPredictions, k: int = 1) -> Iterator[tuple[Prediction, Prediction]]:
        """Both predictions for the mentions that this model links correctly within the k best and the other does not.

        Raises:
            InputError: The mentions differ, or a k beyond the ranked candidates.
        """
        self._check_same(other)
        self._check_k(k)
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
            other: Predictions of the other model, from an evaluator of the same mentions.
            k: The k of the accuracy.
            by_document: Whether mentions of one document are drawn together.
            n_resamples, seed: Number of draws of the test, and their seed.

        Raises:
            InputError: The mentions differ, or name no documents, or a k beyond the ranked candidates.
        """
        self._check_same(other)
        self._check_k(k)
        documents = documents_of(self.mentions) if by_document else None
        own, others = (Units("mention", predictions.ranks <= k, clusters=documents) for predictions in (self, other))
        return own.compare(others, n_resamples=n_resamples, seed=seed)

    def _check_k(self, k: int) -> None:
        """Raise InputError unless ranks up to k are known."""
        if not 1 <= k <= (deepest := self.entries.shape[1]):
            raise InputError(f"k must be from 1 to {deepest}, the number of ranked candidates, found {k}")

    def _check_same(self, other: LinkingPredictions) -> None:
        if self.mentions != other.mentions:
            raise InputError(
                f"predictions: {len(self):,} and {len(other):,} mentions, which differ; measure both models "
                "with one evaluator"
            )


def documents_of(mentions: Sequence[Mention], where: str = "") -> np.ndarray:
    """Document of each mention, ``[N]``.

    Args:
        where: The data set and its split, for the error.

    Raises:
        InputError: A mention without a document.
    """
    documents = np.array([mention.document for mention in mentions])
    if n := int((documents == "").sum()):
        raise InputError(
            f"{where}by_document: {n:,} of {len(mentions):,} mentions have no document; by_document: false draws mentions"
        )
    return documents


def digest_of_documents(documents: np.ndarray) -> str:
    """SHA-256 of the document of each mention: figures by document are those of the same documents alone."""
    return hashlib.sha256(json.dumps(documents.tolist()).encode()).hexdigest()
