"""The queries of an entity-linking evaluator: the distinct strings of the mentions and of the dictionary."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np

from st_biomed.csr import CSR, position_in_row
from st_biomed.errors import InputError, check_name
from st_biomed.linking_data.records import LinkingDataset, LinkingDictionary, Mention
from st_biomed.linking_data.resemblance import near_any
from st_biomed.metrics.linking_gold import Gold, gold_of_mentions
from st_biomed.neighbors import SIMILARITIES

RANK_UNITS = ("name", "concept")
_ROWS = 8192  # strings whose texts become entries at once


@dataclass(frozen=True)
class Scoring:
    """How a linked mention is scored; see :class:`~st_biomed.evaluators.entity_linking.evaluator.EntityLinkingEvaluator`.

    Raises:
        InputError: An unknown rank unit or similarity; the other names are checked where they are used.
    """

    rank_unit: str = "name"
    similarity: str = "cosine"
    align_parts: bool = True
    gold_match: str = "any"
    nil: str = "skip"
    missing_gold: str = "count_as_miss"
    dedup_queries: bool = False
    lower_case: bool = True

    def __post_init__(self) -> None:
        for kind, value, allowed in (
            ("rank_unit", self.rank_unit, RANK_UNITS),
            ("similarity", self.similarity, SIMILARITIES),
        ):
            check_name(kind, value, allowed)

    def text(self, text: str) -> str:
        """The text of a query."""
        return text.lower() if self.lower_case else text

    def difference(self, expected: Scoring) -> str:
        """The settings that are not those expected, in words."""
        found = asdict(self)
        return ", ".join(
            f"{name} is {value!r}, found {found[name]!r}"
            for name, value in asdict(expected).items()
            if found[name] != value
        )


PUBLISHED = Scoring(similarity="dot", align_parts=False)
"""BioSyn's and SapBERT's evaluation: names are ranked by inner product, a part may match any id of its mention."""


class LinkingQueries:
    """The measured mentions of a split, and the strings to look up for them.

    Args:
        dataset: Mentions by split, and the dictionary.
        split: The measured split.
        scoring: The selection of the mentions, and the definition of a correct answer.
        seen: Names of splits, or mentions, whose strings are not in the refined set.
        distance: Edit distance to these strings, as a share of the longer string, up to which a mention is not
            distant.

    Attributes:
        mentions: The measured mentions, ``[N]``.
        gold: The correct answers for their P parts.
        texts: Distinct strings, ``[U]``.
        text_of_part: Row of ``texts`` of each part, ``[P]``.
        subsets: Name to the mentions of the subset, boolean ``[N]``; ``abbreviation`` and ``other`` if there are
            abbreviations, ``refined`` and ``distant`` on request.
        n_duplicates: Mentions left out because an earlier mention has the same strings and the same gold.

    Raises:
        InputError: No such split, or an error of :func:`~st_biomed.metrics.linking_gold.gold_of_mentions`.
    """

    def __init__(
        self,
        dataset: LinkingDataset,
        split: str,
        scoring: Scoring,
        seen: Iterable[str | Mention] = (),
        distance: float = 0.0,
    ) -> None:
        mentions: Sequence[Mention] = dataset.split(split)
        seen = [seen] if isinstance(seen, (str, Mention)) else list(seen)
        if distance and not seen:
            raise InputError(f"distance {distance} needs the mentions of seen=, which is empty")
        first: dict[tuple[object, ...], int] = {}
        is_first = [
            first.setdefault((self._strings(mention, scoring), mention.gold), i) == i
            for i, mention in enumerate(mentions)
        ]
        rows = [i for i in range(len(mentions)) if is_first[i] or not scoring.dedup_queries]
        self.n_duplicates = len(mentions) - len(rows)
        try:
            self.gold: Gold = gold_of_mentions(
                [mentions[i].gold for i in rows],
                [len(mentions[i].parts) for i in rows],
                dataset.dictionary.id_index,
                align_parts=scoring.align_parts,
                gold_match=scoring.gold_match,
                nil=scoring.nil,
                missing_gold=scoring.missing_gold,
            )
        except InputError as error:
            raise InputError(f"{dataset.name}, split {split!r}: {error}") from None
        rows = [rows[i] for i in self.gold.mentions]
        self.mentions = [mentions[i] for i in rows]
        parts = [scoring.text(self.mentions[i].parts[part]) for i, part in zip(self.gold.owner, self.gold.part)]
        row: dict[str, int] = {}
        self.text_of_part = np.array([row.setdefault(text, len(row)) for text in parts])
        self.texts = list(row)
        self.subsets: dict[str, np.ndarray] = {}
        abbreviation = np.array([mention.is_abbreviation for mention in self.mentions])
        if abbreviation.any():
            self.subsets |= {"abbreviation": abbreviation, "other": ~abbreviation}
        if seen:
            seen_strings: set[tuple[str, ...]] = set()
            for source in seen:
                seen_mentions = dataset.split(source) if isinstance(source, str) else [source]
                seen_strings.update(self._strings(mention, scoring) for mention in seen_mentions)
            unseen = [self._strings(mention, scoring) not in seen_strings for mention in self.mentions]
            self.subsets["refined"] = np.array(unseen) & np.array([is_first[i] for i in rows])
            if distance:
                alike = near_any(
                    [" ".join(self._strings(mention, scoring)) for mention in self.mentions],
                    sorted(" ".join(strings) for strings in seen_strings),
                    distance,
                )
                self.subsets["distant"] = self.subsets["refined"] & ~alike

    def with_any(self, chosen: np.ndarray) -> np.ndarray:
        """The mentions with a part whose string is chosen, boolean ``[N]``.

        Args:
            chosen: Whether each string is, boolean ``[U]``.
        """
        return np.bincount(self.gold.owner, chosen[self.text_of_part], len(self.mentions)) > 0

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the queries, their correct answers, and the mentions of each subset."""
        digest = hashlib.sha256()
        for i, mention in enumerate(self.mentions):
            parts = [name for name, mask in self.subsets.items() if mask[i]]
            digest.update(json.dumps([mention.parts, [sorted(group) for group in mention.gold], parts]).encode())
        return digest.hexdigest()

    @staticmethod
    def _strings(mention: Mention, scoring: Scoring) -> tuple[str, ...]:
        return tuple(map(scoring.text, mention.parts))


class DictionaryTexts:
    """The distinct strings of a dictionary, in the order of their first entries, and the entries of each.

    Args:
        dictionary: N entries.
        scoring: Whether strings are lower-cased.

    Attributes:
        texts: T strings.
        entries: Text to its entries: T rows.
    """

    def __init__(self, dictionary: LinkingDictionary, scoring: Scoring) -> None:
        row: dict[str, int] = {}
        text_of_entry = np.array([row.setdefault(scoring.text(name), len(row)) for name in dictionary.names])
        self.texts = list(row)
        self.entries = CSR.from_pairs(text_of_entry, np.arange(len(text_of_entry)), len(row))

    def find(self, texts: Sequence[str]) -> np.ndarray:
        """Row of each text, -1 for an unknown text, ``[U, 1]``."""
        wanted = set(texts)
        row = {text: i for i, text in enumerate(self.texts) if text in wanted}
        return np.array([row.get(text, -1) for text in texts])[:, None]

    def ranked_entries(self, rows: np.ndarray, scores: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
        """Ranked texts as ranked entries; entries with equal scores keep the order of the dictionary.

        Args:
            rows: Texts, best first, padded with -1, ``[U, K]``.
            scores: Their scores, ``[U, K]``.
            depth: Maximum number of entries; exact up to K.

        Returns:
            Entries, padded with -1, and their scores, ``[U, depth]`` each.
        """
        entries = np.full((len(rows), depth), -1, dtype=np.int64)
        entry_scores = np.full((len(rows), depth), -np.inf, dtype=np.float32)
        for start in range(0, len(rows), _ROWS):
            block, of_block = rows[start : start + _ROWS], scores[start : start + _ROWS]
            query, place = np.nonzero(block >= 0)
            owner, entry = self.entries.take(block[query, place])
            query, score = query[owner], of_block[query, place][owner]
            order = np.lexsort((entry, -score, query))
            query, entry, score = query[order], entry[order], score[order]
            place = position_in_row(query)
            kept = place < depth
            entries[start + query[kept], place[kept]] = entry[kept]
            entry_scores[start + query[kept], place[kept]] = score[kept]
        return entries, entry_scores
