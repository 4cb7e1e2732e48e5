"""Allowed differences between a term and its mention (case, accents), and the terms to find, for each language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from st_biomed.corpus.tokens import SEPARATOR, Accents
from st_biomed.errors import InputError, check_name

_ACCENTED = {"a": "à", "e": "èé", "i": "ì", "o": "ò", "u": "ù"}
_PLAIN = {accented: plain for plain, several in _ACCENTED.items() for accented in several}
_FINAL_ACCENT = re.compile(r"[àèéìòùÀÈÉÌÒÙ](?!\w)")
_FINAL_APOSTROPHE = re.compile(r"(?<=\w)[aeiouAEIOU]['’](?!\w)")
_SPELLINGS = 16  # maximum for one term; a term with more is a list rather than a name


@dataclass(frozen=True)
class MatchPolicy:
    """The rules by which a term is recognized in text.

    Differences in case (except for acronyms), in the kind of dash or apostrophe, and in spaces beside punctuation are
    ignored.

    Args:
        accents: ``"keep"``: they matter; ``"fold"``: they do not.
        final_apostrophes: Whether ``eta'`` and ``età`` are the same at the end of a word, as Italian is often typed.
        minimum_length: Minimum number of characters of a term; mentions of shorter ones are rarely correct.
        acronym_length: A term of one word in capitals with at most this many characters is found only in capitals, so
            that "aids" is not a mention of AIDS; 0 finds every term in any case.
        stop_words: Terms that are not searched for, whatever their case.

    Raises:
        InputError: An argument out of range.

    Example:
        >>> policy = MatchPolicy(final_apostrophes=True, stop_words=("altro",))
        >>> policy.spellings("età"), policy.refusal("Altro"), policy.is_acronym("AIDS")
        (['età', "eta'"], 'stop words', True)
    """

    accents: Accents = "keep"
    final_apostrophes: bool = False
    minimum_length: int = 3
    acronym_length: int = 4
    stop_words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_name("accents", self.accents, ("keep", "fold"))
        if self.minimum_length < 1 or self.acronym_length < 0:
            raise InputError(
                f"minimum_length must be at least 1 and acronym_length at least 0, found {self.minimum_length} and "
                f"{self.acronym_length}"
            )
        if isinstance(self.stop_words, str) or not isinstance(self.stop_words, Sequence):
            raise InputError(f"stop_words must be a list of terms, found {self.stop_words!r}")

    def refusal(self, term: str) -> str:
        """The reason for not searching for a term; empty if it is searched for."""
        if len(term) < self.minimum_length:
            return f"shorter than {self.minimum_length} characters"
        if not any(map(str.isalpha, term)):
            return "without a letter"
        return "stop words" if term.casefold() in self._stopped else ""

    def is_acronym(self, term: str) -> bool:
        """Whether a term is found only in capitals."""
        return len(term) <= self.acronym_length and term.isalnum() and term.isupper()

    def spellings(self, term: str) -> list[str]:
        """The spellings to search for, in Unicode's composed form; the term itself is the first."""
        term = unicodedata.normalize("NFC", term).replace(SEPARATOR, " ")
        if not self.final_apostrophes or not (_FINAL_ACCENT.search(term) or _FINAL_APOSTROPHE.search(term)):
            return [term]
        parts: list[list[str]] = []
        end = 0
        places = sorted(
            [*_FINAL_ACCENT.finditer(term), *_FINAL_APOSTROPHE.finditer(term)], key=lambda place: place.start()
        )
        for place in places:
            matched = place.group()
            letter = matched[0].lower()
            others = [f"{_PLAIN[letter]}'"] if letter in _PLAIN else list(_ACCENTED[letter])
            parts += [[term[end : place.start()]], [matched, *others]]
            end = place.end()
        whole = ("".join(choice) for choice in product(*parts, [term[end:]]))
        return list(dict.fromkeys(spelling for spelling, _ in zip(whole, range(_SPELLINGS))))

    @cached_property
    def _stopped(self) -> frozenset[str]:
        return frozenset(word.casefold() for word in self.stop_words)


POLICIES = {
    # Ménière, Sjögren: written with and without accents.
    "en": MatchPolicy(
        accents="fold", stop_words=("adults", "children", "other", "others", "symptoms", "total", "unspecified")
    ),
    # Accents distinguish words (pero, però), and after capitals they may be written as an apostrophe (ETA').
    "it": MatchPolicy(
        final_apostrophes=True,
        stop_words=("adulti", "altra", "altre", "altri", "altro", "bambini", "sintomi", "totale"),
    ),
}
"""The policies of some languages; every other language keeps its accents.

Stop words are the residual classes of classifications ("Other"), and headings and groups of people that are codes of
some classifications ("Symptoms", "Children"). A mention of such a word alone does not mean the concept.
"""


def policy_of(language: str | None) -> MatchPolicy:
    """The policy for a language, given as its ISO 639-1 code."""
    return POLICIES.get(language or "", MatchPolicy())
