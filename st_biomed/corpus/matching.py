"""Mentions of a terminology's terms in text: whole words, longest match at each place, ambiguity kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.corpus.matching_rules import MatchPolicy, policy_of
from st_biomed.corpus.token_paths import PathTable
from st_biomed.corpus.tokens import SEPARATOR, code_points, tokenize
from st_biomed.csr import CSR
from st_biomed.errors import InputError, check_name
from st_biomed.records import Tally
from st_biomed.terminology import Terminology

_TERMS_AT_A_TIME = 20_000


class Matches(NamedTuple):
    """Mentions in a block of text, in the order of their positions.

    Attributes:
        starts: First character of each, int64 ``[M]``.
        ends: Character after the last, int64 ``[M]``.
        forms: The :class:`TermMatcher`'s number of the form of each, int64 ``[M]``.
    """

    starts: np.ndarray
    ends: np.ndarray
    forms: np.ndarray


NOTHING = Matches(*(np.zeros(0, dtype=np.int64) for _ in range(3)))


class TermMatcher:
    """Finds the terms of a terminology in text.

    A term matches consecutive tokens (a token is a run of letters and digits, or any other single character), with any
    spaces between them. The policy decides whether case and accents may differ. A mention therefore ends at word
    boundaries: "l'ipertensione" and "acido-base" contain mentions, but "ipertensioni" is not a mention of
    "ipertensione". The first of overlapping mentions is kept, and the longest of those that begin together. Only whole
    words are compared, so no longer match that ends within a word hides a shorter one.

    Terms that the policy does not distinguish ("Asma", "ASMA") are one *form*. Its label is the text id with the most
    concepts (the lowest of several), and its concepts are those of all these terms.

    Tokens are compared by 64-bit hashes; a false match is expected once in 10^12 tokens.

    Args:
        terminology: The source of the terms.
        language: The language of the terms to find; ``None`` for all.
        policy: The allowed differences; by default those of the language, see
            :data:`~st_biomed.corpus.matching_rules.POLICIES`.

    Attributes:
        tally: The terms that are searched for, and the dropped terms by reason.
        labels: The text id of each form, int64 ``[F]``.
        texts: Form to its text ids.
        concepts: Form to all concepts that it may mean.

    Raises:
        InputError: No term is in the language, or none is left.

    Example:
        >>> matcher = TermMatcher(Terminology.read("toy"), "en")
        >>> text = "Unlike the Flumpa Gland, no other glands."
        >>> mentions = matcher.find(text)
        >>> [text[start:end] for start, end in zip(mentions.starts, mentions.ends)]
        ['Flumpa Gland']
    """

    def __init__(
        self, terminology: Terminology, language: str | None = None, policy: MatchPolicy | None = None
    ) -> None:
        self.language, self.digest = language, terminology.digest
        chosen = _texts_in(terminology, language)
        self._build(terminology.texts["text"].take(chosen), chosen, terminology.text_concepts, policy)

    @classmethod
    def of_names(
        cls,
        names: pa.Array,
        concepts: CSR,
        digest: str,
        language: str | None = None,
        policy: MatchPolicy | None = None,
    ) -> TermMatcher:
        """A matcher of the names of an index; the text id of a name is its row.

        Args:
            names: N strings.
            concepts: Name to its concepts, N rows; a name without a concept is not searched for.
            language: Language of the names, which chooses the policy.
            policy: As for a terminology.

        Raises:
            InputError: No name is left.
        """
        matcher = cls.__new__(cls)
        matcher.language, matcher.digest = language, digest
        chosen = np.flatnonzero(concepts.counts)
        matcher._build(names.take(pa.array(chosen)), chosen, concepts, policy)
        return matcher

    def _build(
        self, strings: pa.Array | pa.ChunkedArray, chosen: np.ndarray, concepts: CSR, policy: MatchPolicy | None
    ) -> None:
        """Spell the terms, with their text ids ``[N]``, and group them."""
        self.policy, self.tally = policy or policy_of(self.language), Tally()
        spelled = self._spelled(strings, chosen) if len(chosen) else None
        if spelled is None or not len(spelled[0]):
            raise InputError(f"no term is left to search for ({self.tally})")
        texts, acronym, hashes, counts = spelled
        self._table = PathTable(hashes, counts)
        self._forms(texts, acronym, concepts)

    def _spelled(
        self, strings: pa.Array | pa.ChunkedArray, chosen: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Text id and acronym flag of each spelling of each term ``[N]``, its tokens' hashes ``[M]`` and counts ``[N]``."""
        parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        for first in range(0, len(chosen), _TERMS_AT_A_TIME):
            part = chosen[first : first + _TERMS_AT_A_TIME]
            ids: list[int] = []
            acronyms: list[bool] = []
            spellings: list[str] = []
            for text, string in zip(part.tolist(), strings[first : first + _TERMS_AT_A_TIME].to_pylist()):
                self.tally.read()
                if reason := self.policy.refusal(string):
                    self.tally.drop(reason)
                    continue
                self.tally.keep()
                several = self.policy.spellings(string)
                spellings += several
                ids += [text] * len(several)
                acronyms += [self.policy.is_acronym(string)] * len(several)
            tokens = tokenize(code_points(SEPARATOR.join(spellings)), self.policy.accents)
            lengths = np.fromiter(map(len, spellings), np.int64, len(spellings))
            bounds = np.cumsum(lengths + 1) - 1  # the position of the separator after each
            inside = ~np.isin(tokens.starts, bounds)
            owner = np.searchsorted(bounds, tokens.starts[inside])
            counts = np.bincount(owner, minlength=len(spellings))
            parts.append((np.array(ids, np.int64), np.array(acronyms, bool), tokens.hashes[inside], counts))
        texts, acronym, hashes, counts = (np.concatenate(columns) for columns in zip(*parts))
        return texts, acronym, hashes, counts

    def _forms(self, texts: np.ndarray, acronym: np.ndarray, text_concepts: CSR) -> None:
        """Group the texts by the path at which they end; a group with acronyms has another form without them."""
        ends, n_ends = self._table.term_ends, self._table.n_ends
        mixed = np.zeros(n_ends, dtype=bool)
        mixed[ends[acronym]] = True
        plain = ~acronym & mixed[ends]
        extra = np.full(n_ends, -1, dtype=np.int64)
        extra[np.unique(ends[plain])] = n_ends + np.arange(len(np.unique(ends[plain])))
        self._in_any_case = np.where(mixed, extra, np.arange(n_ends))
        self.n_forms = int(max(n_ends - 1, extra.max(initial=-1))) + 1
        self.texts = CSR.from_pairs(
            np.concatenate([ends, extra[ends[plain]]]), np.concatenate([texts, texts[plain]]), self.n_forms
        )
        self.concepts = self.texts.compose(text_concepts)
        of_text = text_concepts.counts[self.texts.indices]
        form = np.repeat(np.arange(self.n_forms), self.texts.counts)
        order = np.lexsort((self.texts.indices, -of_text, form))
        self.labels = self.texts.indices[order][self.texts.indptr[:-1]]

    @property
    def nbytes(self) -> int:
        """Size of the dictionary in memory."""
        return self._table.nbytes

    def find(self, text: str) -> Matches:
        """The mentions in a text, or in several separated by :data:`~st_biomed.corpus.tokens.SEPARATOR`.

        Args:
            text: In Unicode's composed form (NFC), as documents are read.
        """
        tokens = tokenize(code_points(text), self.policy.accents)
        steps = list(self._table.walk(tokens.hashes))
        if not steps:
            return NOTHING
        lengths = np.concatenate([np.full(len(places), length) for length, places, _ in steps])
        first = np.concatenate([places for _, places, _ in steps])
        forms = np.concatenate([forms for _, _, forms in steps]).astype(np.int64)
        starts, ends = tokens.starts[first], tokens.ends[first + lengths - 1]
        forms = self._in_their_case(text, starts, ends, forms)
        kept = np.flatnonzero(forms >= 0)
        kept = kept[_leftmost_longest(starts[kept], ends[kept])]
        return Matches(starts[kept], ends[kept], forms[kept])

    def _in_their_case(self, text: str, starts: np.ndarray, ends: np.ndarray, forms: np.ndarray) -> np.ndarray:
        """The forms. A form of acronyms that is not in capitals is replaced by its form without them, or by -1."""
        forms = forms.copy()
        for i in np.flatnonzero(self._in_any_case[forms] != forms).tolist():
            if not text[starts[i] : ends[i]].isupper():
                forms[i] = self._in_any_case[forms[i]]
        return forms


def _texts_in(terminology: Terminology, language: str | None) -> np.ndarray:
    """Sorted ids of the texts that are terms in the language."""
    terms = terminology.terms
    if language is not None:
        check_name("language of the terms", language, terminology.languages)
        terms = terms.filter(pc.equal(terms["language"], language))
    return np.unique(terms["text"].to_numpy()).astype(np.int64)


def _leftmost_longest(starts: np.ndarray, ends: np.ndarray) -> list[int]:
    """Which spans stay, in order: the first wins, and the longest of those that begin together."""
    order = np.lexsort((-ends, starts))
    return list(_without_overlap(order.tolist(), starts[order].tolist(), ends[order].tolist()))


def _without_overlap(order: Sequence[int], starts: Sequence[int], ends: Sequence[int]) -> Iterator[int]:
    reached = 0
    for i, start, end in zip(order, starts, ends):
        if start >= reached:
            reached = end
            yield i
