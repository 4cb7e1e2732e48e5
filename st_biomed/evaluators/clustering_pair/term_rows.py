"""Rows of terms and concepts before they are measured: equal wordings become one term, and some terms choose theta."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from st_biomed.errors import InputError

Row = tuple[str, str]
"""A term and a concept that it names."""


def wording(term: str) -> str:
    """The letters and digits of a term, without case, accents, punctuation and repeated spaces.

    Two terms of one wording are synonyms that string comparison finds.

        >>> wording("Crohn's  Disease, acute") == wording("crohn s disease acute")
        True
    """
    letters = (letter for letter in unicodedata.normalize("NFKD", term) if not unicodedata.combining(letter))
    return " ".join("".join(letter if letter.isalnum() else " " for letter in letters).casefold().split())


def one_term_per_wording(rows: Sequence[Row]) -> list[Row]:
    """The rows with the first term of each wording in place of the others; repeated rows are left out.

    A term without a letter or digit stays as it is.
    """
    first: dict[str, str] = {}
    return list(dict.fromkeys((first.setdefault(wording(term) or term, term), concept) for term, concept in rows))


def split_rows(rows: Sequence[Row], share: float, seed: int) -> tuple[list[Row], list[Row]]:
    """Rows for the choice of theta, and rows to measure; no term and no concept is in both.

    Terms that are linked by concepts stay together. Such groups are drawn until they hold the share of the terms; one
    that does not fit is passed over if it has more than a tenth of the share, and is the last otherwise.

    Args:
        share: Share of the terms for the choice of theta, between 0 and 1.

    Raises:
        InputError: A share out of range, or no rows.
    """
    if not 0 < share < 1:
        raise InputError(f"validation must lie between 0 and 1, found {share}")
    if seed < 0:
        raise InputError(f"seed must not be negative, found {seed}")
    if not rows:
        raise InputError("validation: expected terms of at least min_length characters, found none")
    terms, concepts = (list(dict.fromkeys(column)) for column in zip(*rows))
    term_of = {term: i for i, term in enumerate(terms)}
    concept_of = {concept: len(terms) + i for i, concept in enumerate(concepts)}
    left, right = ([term_of[term] for term, _ in rows], [concept_of[concept] for _, concept in rows])
    n_nodes = len(terms) + len(concepts)
    links = coo_array((np.ones(len(rows), dtype=np.int8), (left, right)), shape=(n_nodes, n_nodes))
    n_groups, group = connected_components(links, directed=False)
    sizes = np.bincount(group[: len(terms)], minlength=n_groups)
    order = np.random.default_rng(seed).permutation(n_groups)
    is_drawn = np.zeros(n_groups, dtype=bool)
    room = share * len(terms)
    for i in order.tolist():
        if sizes[i] <= room:
            is_drawn[i], room = True, room - sizes[i]
        elif sizes[i] <= share * len(terms) / 10:
            break
    drawn = [row for row in rows if is_drawn[group[term_of[row[0]]]]]
    return drawn, [row for row in rows if not is_drawn[group[term_of[row[0]]]]]
