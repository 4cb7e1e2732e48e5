"""The calls that search an index of concepts: by texts, by vectors, and for the columns of a table of mentions."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch

from st_biomed.errors import InputError, shown, unknown_name
from st_biomed.linking.catalog import Catalog
from st_biomed.linking.concept_search import ConceptSearch, Match
from st_biomed.linking.conditions import Conditions
from st_biomed.linking.context_search import ContextSearch
from st_biomed.linking.encoding import NameEncoder
from st_biomed.linking.match_columns import matches_to_columns, mentions_of, missing_texts
from st_biomed.linking.mention_files.lines import is_valid_utf8
from st_biomed.linking.vector_index import VectorIndex, faiss_threads

if TYPE_CHECKING:
    from st_biomed.linking.context_ranker import ContextRanker

logger = logging.getLogger(__name__)

OnError = Literal["stop", "reject"]


class MentionSearch(ABC):
    """Search of an index; see :class:`~st_biomed.linking.ConceptIndex` for how to create one.

    Args:
        catalog: Names and their concepts.
        vectors: The search index over the names.
        encoder: The encoder of the mentions, if it is loaded.
    """

    def __init__(self, catalog: Catalog, vectors: VectorIndex, encoder: NameEncoder | None) -> None:
        self.catalog, self.vectors = catalog, vectors
        self._encoder, self._concepts = encoder, ConceptSearch(catalog, vectors)

    @abstractmethod
    def _recorded_encoder(self) -> NameEncoder:
        """Load the encoder of the names."""

    def link(  # noqa: PLR0913 - one call for a column, with all that st-biomed link can do
        self,
        texts: Iterable[Any],
        k: int = 1,
        *,
        threshold: float | None = None,
        prefix: str = "",
        on_error: OnError = "stop",
        contexts: Iterable[Any] | None = None,
        abbreviations: bool = False,
        rerank: ContextRanker | None = None,
        missing: Iterable[str] = (),
        **conditions: Any,
    ) -> dict[str, list[Any]]:
        """The best concept of each text as columns, which fit beside the texts in a table.

        Args:
            texts: A column of mentions: a list, a Series of pandas, an array of arrow, a column of a dataset. A
                missing (None, NaN) or blank text has None in every column.
            k: Maximum number of concepts per text. If it is above 1, each cell is a list, best first, and a text
                without a concept has empty lists.
            threshold: Minimum score. With ``k=1``, a text without such a concept has None in every column.
            prefix: Text before the names of the columns, where the table has one of these names already.
            on_error: A value that is not a text (a number, half a character) is an error (``stop``), or has None in
                every column and its reason in a further column ``error`` (``reject``).
            contexts: The column of the texts in which the mentions stand, for the next two.
            abbreviations: Whether to replace short forms that a context defines by their long forms.
            rerank: Orders the concepts by the context; ``score`` is then that of
                :class:`~st_biomed.linking.ContextRanker`, also for the threshold. A mention that does not stand in
                its context keeps the order of the index.
            missing: Texts that stand for a missing one, e.g. ``["NULL", "N/A"]``, compared without the spaces around.
            **conditions: See :class:`~st_biomed.linking.Conditions`.

        Returns:
            The columns ``concept``, ``label``, ``name`` (the matched name) and ``score``, one row per text, and
            ``error`` with ``on_error="reject"``, None for a row that was read. ``Dataset.map`` overwrites columns with
            these names; ``prefix`` avoids that.

        Raises:
            InputError: As in :meth:`search`; a table in place of a column; no list of texts in ``missing``; contexts that
                are missing, not used, or not one for each text.

        Example:
            ::

                frame = frame.assign(**index.link(frame["term"], leaves=True))
                dataset = dataset.map(index.link, input_columns="term", batched=True)
        """
        if on_error not in get_args(OnError):
            raise unknown_name("on_error", on_error, get_args(OnError))
        if contexts is None and (abbreviations or rerank is not None):
            raise InputError("contexts: expected the texts in which the mentions stand, found none")
        nulls = missing_texts(missing)
        errors: dict[int, str] | None = {} if on_error == "reject" else None
        mentions = mentions_of(texts, errors)
        around = None if contexts is None else mentions_of(contexts, errors, "contexts")
        unread = errors or {}
        given = {
            row: text
            for row, text in enumerate(mentions)
            if text is not None and text not in nulls and row not in unread
        }
        if around is None:
            found = self.search([*given.values()], k, threshold=threshold, **conditions)
        else:
            if len(around) != len(mentions):
                raise InputError(f"contexts: expected one for each of {len(mentions):,} texts, found {len(around):,}")
            search = ContextSearch(self, abbreviations=abbreviations, rerank=rerank)
            near = [around[row] for row in given]
            found = search.search([*given.values()], near, k, threshold=threshold, **conditions)
            if search.n_unplaced:
                logger.warning("contexts: %s mentions do not stand in theirs", f"{search.n_unplaced:,}")
        by_row = dict(zip(given, found))
        rows = range(len(mentions))
        reasons = None if errors is None else [errors.get(row) for row in rows]
        _tell(unread, len(mentions))
        return matches_to_columns([by_row.get(row) for row in rows], k, prefix, reasons)

    def search(
        self, texts: Sequence[str], k: int = 5, *, threshold: float | None = None, **conditions: Any
    ) -> list[list[Match]]:
        """The nearest concepts of each text, best first.

        Args:
            texts: Mentions; equal mentions are encoded once.
            k: Maximum number of concepts per text.
            threshold: Minimum score; a text without such a concept (NIL) gets an empty list.
            **conditions: ``types``, ``leaves``, ``standard``, ``below``, ``sources`` and ``languages``, see
                :class:`~st_biomed.linking.Conditions`; the k best concepts are those that meet all of them.

        Raises:
            InputError: ``k`` below 1, a threshold that no score can reach or miss, a text that is not a string of whole
                characters, unknown conditions, types, codes, sources or languages, or a model other than that of the
                names.
        """
        wrong = [texts] if isinstance(texts, str) else [text for text in texts if not isinstance(text, str)]
        if wrong:
            raise InputError(f"texts: expected a list of strings, found {wrong[0]!r}")
        if halves := [text for text in texts if not is_valid_utf8(text)]:
            raise InputError(f"texts: expected UTF-8, found half a character (a lone surrogate), {shown(halves[0])}")
        self.check_limits(k, threshold)
        allowed = Conditions.of(conditions)
        self._concepts.allowed(allowed)  # what the index does not have is refused before a text is encoded
        if not len(texts):
            return []
        place: dict[str, int] = {}
        rows = [place.setdefault(text, len(place)) for text in texts]
        encoder = self._encoder or self._recorded_encoder()
        vectors = encoder.encode(list(place), task="query")
        found = self._nearest(vectors, k, allowed, threshold)
        return [found[row] for row in rows]

    def search_vectors(
        self, vectors: np.ndarray, k: int = 5, *, threshold: float | None = None, **conditions: Any
    ) -> list[list[Match]]:
        """The same for existing vectors ``[Q, D]``.

        Raises:
            InputError: Vectors of another dimension or not finite; ``k``, threshold and conditions as in
                :meth:`search`.
        """
        return self._nearest(vectors, k, Conditions.of(conditions), threshold)

    def _nearest(
        self, vectors: np.ndarray, k: int, conditions: Conditions, threshold: float | None
    ) -> list[list[Match]]:
        with faiss_threads(torch.get_num_threads()):
            return self._concepts.search(vectors, k, conditions, threshold=threshold)

    def check(self, **conditions: Any) -> int:
        """The number of concepts that meet some conditions.

        Raises:
            InputError: Conditions as in :meth:`search`.
        """
        return self._concepts.allowed(Conditions.of(conditions)).n_concepts

    def check_limits(self, k: int, threshold: float | None = None) -> None:
        """Check the limits of a search without searching.

        Raises:
            InputError: As in :meth:`search`.
        """
        self._concepts.check_limits(k, threshold)


def _tell(errors: Mapping[int, str], n: int) -> None:
    if errors:
        row, reason = next(iter(errors.items()))
        logger.warning("link: %s of %s rows rejected, first row %d: %s", f"{len(errors):,}", f"{n:,}", row, reason)
