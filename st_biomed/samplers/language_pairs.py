"""The synonym pairs of concepts by language: within each language, and from each other language to a pivot."""

from __future__ import annotations

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from st_biomed.training_data.draws import pair_of


class SynonymPairStrata:
    """Strata of synonym pairs: for each concept, pairs within one language, and pairs of a language with the pivot.

    With the pivot English these are BERGAMOT's English-English pairs, pairs within another language, and pairs mapped
    to English. A name in several languages counts for the pivot if the pivot is among them, otherwise for the first
    language by code.

    Args:
        names: Concept to the text ids that may be drawn.
        pivot: ISO 639-1 code of the pivot language; ``None`` makes all pairs of a concept one stratum.

    Attributes:
        pairs: Number of pairs in each stratum, at least one, int64 ``[S]``.
        concepts: The concept of each stratum, ``[S]``.

    Raises:
        InputError: No name is in the pivot language, or no concept has a pair.
    """

    def __init__(self, terminology: Terminology, names: CSR, pivot: str | None) -> None:
        concept = np.repeat(np.arange(names.n_rows), names.counts)
        language, n_languages = np.zeros(len(concept), dtype=np.int64), 1
        if pivot is not None:
            language, n_languages = _languages(terminology, names, concept, pivot)
        key = concept * n_languages + language
        by_language = np.argsort(key, kind="stable")
        self._texts = names.indices[by_language]
        keys, start, count = np.unique(key[by_language], return_index=True, return_counts=True)
        owner, spoken = np.divmod(keys, n_languages)
        pivots = np.flatnonzero(spoken == 0)
        with_pivot = np.isin(owner, owner[pivots]) & (spoken > 0)
        of_pivot = pivots[np.searchsorted(owner[pivots], owner[with_pivot])]
        several = count > 1
        self._first = np.concatenate([start[several], start[with_pivot]])
        self._second = np.concatenate([np.full(several.sum(), -1), start[of_pivot]])
        self.concepts = np.concatenate([owner[several], owner[with_pivot]])
        self._width = np.concatenate([count[several], count[of_pivot]])
        self.pairs = np.concatenate([count[several] * (count[several] - 1) // 2, count[with_pivot] * count[of_pivot]])
        if not len(self.pairs):
            beside = "" if pivot is None else f" in one language, or one beside {pivot!r}"
            raise InputError(f"no synonyms: no concept has two names{beside}")

    def texts(self, stratum: np.ndarray, pair: np.ndarray) -> np.ndarray:
        """Text ids of pairs.

        Args:
            stratum: Strata, ``[G]``.
            pair: Numbers below their ``pairs``, ``[G]``.

        Returns:
            ``[G, 2]``; in a pair across languages the name in the pivot language comes second.
        """
        within = self._second[stratum] < 0
        i, j = pair_of(pair)
        row, column = np.divmod(pair, self._width[stratum])
        first = self._first[stratum] + np.where(within, i, row)
        second = np.where(within, self._first[stratum] + j, self._second[stratum] + column)
        return self._texts[np.stack([first, second], axis=1)]


def _languages(terminology: Terminology, names: CSR, concept: np.ndarray, pivot: str) -> tuple[np.ndarray, int]:
    """The smallest rank of a language that each (concept, text) entry of ``names`` has, ``[nnz]``, and how many there are.

    The pivot has rank 0, the others follow by code.
    """
    column = terminology.terms["language"].unify_dictionaries().combine_chunks()
    present = sorted(column.unique().to_pylist())
    if pivot not in present:
        raise InputError(f"no name is in the pivot language {pivot!r}; there are {present}")
    languages = column.dictionary.to_pylist()  # of a part of a terminology more than there are
    order = sorted(range(len(languages)), key=lambda i: (languages[i] != pivot, languages[i]))
    rank = np.argsort(order)[column.indices.to_numpy()]
    wide = terminology.n_texts
    terms = terminology.terms["concept"].to_numpy().astype(np.int64) * wide + terminology.terms["text"].to_numpy()
    by_rank = np.argsort(terms * len(order) + rank, kind="stable")
    first = np.searchsorted(terms[by_rank], concept * wide + names.indices)
    return rank[by_rank][first], len(order)
