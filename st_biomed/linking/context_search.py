"""Search of an index by mentions and the texts in which they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from st_biomed.errors import InputError
from st_biomed.linking.concept_search import Match
from st_biomed.linking.context_texts import expand_from_contexts
from st_biomed.linking.pair_scores import reaches

if TYPE_CHECKING:
    from st_biomed.linking.context_ranker import ContextRanker
    from st_biomed.linking.mention_search import MentionSearch


class ContextSearch:
    """Searches with abbreviations expanded, and orders what is found by the context.

    Args:
        index: The index.
        abbreviations: Whether short forms that a context defines are replaced by their long forms before the search
            (Schwartz and Hearst, PSB 2003).
        rerank: Orders the concepts of a mention by its context; ``None`` keeps the order of the index.

    Attributes:
        n_expanded: Number of mentions so far in which a short form was replaced.
        n_unplaced: Number of mentions so far that do not stand in their contexts, and were not ordered by them.

    Raises:
        InputError: Neither is asked for, or the scores of the index are no cosines.
    """

    def __init__(
        self, index: MentionSearch, *, abbreviations: bool = False, rerank: ContextRanker | None = None
    ) -> None:
        if not abbreviations and rerank is None:
            raise InputError("contexts: are not used, expected abbreviations=True or rerank=")
        if rerank is not None and index.vectors.similarity != "cosine":
            raise InputError(f"rerank: needs an index with cosines as scores, found {index.vectors.similarity!r}")
        self.index, self.abbreviations, self.rerank = index, abbreviations, rerank
        self.n_expanded = self.n_unplaced = 0

    def search(
        self,
        mentions: Sequence[str],
        contexts: Sequence[str | None],
        k: int = 5,
        *,
        threshold: float | None = None,
        **conditions: Any,
    ) -> list[list[Match]]:
        """As :meth:`ConceptIndex.search <st_biomed.linking.mention_search.MentionSearch.search>`.

        Args:
            mentions: N mentions as they stand in their contexts.
            contexts: The text in which each stands; ``None`` or empty for none.
            k: Maximum number of concepts per mention.
            threshold: Minimum score, after the concepts were ordered.
            **conditions: Conditions on the concepts.

        Raises:
            InputError: As there.
        """
        self.index.check_limits(k, threshold)
        texts = expand_from_contexts(mentions, contexts) if self.abbreviations else list(mentions)
        self.n_expanded += sum(text != mention for text, mention in zip(texts, mentions))
        if self.rerank is None:
            return self.index.search(texts, k, threshold=threshold, **conditions)
        found = self.index.search(texts, max(k, self.rerank.candidates), **conditions)
        ordered, placed = self.rerank.rank(self.index.catalog, mentions, contexts, found)
        self.n_unplaced += sum(bool(context) and not there for context, there in zip(contexts, placed))
        return [[match for match in matches if reaches(match.score, threshold)][:k] for matches in ordered]
