"""Synonym pairs and names as lines of the papers' text files."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from st_biomed.errors import InputError, check_integer
from st_biomed.records import Tally
from st_biomed.terminology import Terminology
from st_biomed.training_data.draws import draw_distinct, pair_of


def pair_lines(
    terminology: Terminology, *, max_pairs_per_concept: int = 50, seed: int = 0, tally: Tally | None = None
) -> Iterator[str]:
    """SapBERT's training file: ``code||name1||name2``, a line for each pair of names of a concept.

    Args:
        max_pairs_per_concept: Maximum number of pairs per concept, chosen at random without repeats (50 in the paper).
        tally: Counts the pairs; pairs above the maximum and pairs of a name with ``||`` or a line break are dropped.

    Raises:
        InputError: A number that is not an integer in its range, no concept with two names.
    """
    tally = Tally() if tally is None else tally
    check_integer("max_pairs_per_concept", max_pairs_per_concept)
    check_integer("seed", seed, 0)
    names = terminology.concept_texts
    counts = names.counts
    if not (counts > 1).any():
        raise InputError(f"no concept of {terminology!r} has two names, so there is no pair to write")
    codes, strings = terminology.codes, terminology.strings
    rng = np.random.default_rng(seed)
    for start in range(0, terminology.n_concepts, 1 << 16):
        size = counts[start : start + (1 << 16)]
        pairs = size * (size - 1) // 2
        row, number = draw_distinct(rng, pairs, max_pairs_per_concept)
        beyond = int(pairs.sum()) - len(row)
        tally.read_dropped(f"beyond {max_pairs_per_concept} pairs of a concept", beyond)
        low, high = pair_of(number)
        first = names.indptr[start + row]
        for c, a, b in zip(
            (start + row).tolist(), names.indices[first + low].tolist(), names.indices[first + high].tolist()
        ):
            yield from _line(tally, codes[c], strings[a], strings[b])


def name_lines(terminology: Terminology, *, tally: Tally | None = None) -> Iterator[str]:
    """A dictionary file: ``code||name``, a line for each name of a concept; the tally is as in :func:`pair_lines`."""
    tally = Tally() if tally is None else tally
    codes, strings = terminology.codes, terminology.strings
    for row in range(terminology.n_concepts):
        for text in terminology.concept_texts.row(row).tolist():
            yield from _line(tally, codes[row], strings[text])


def _line(tally: Tally, *cells: str) -> Iterator[str]:
    tally.read()
    if any(mark in cell for cell in cells for mark in ("||", "\n", "\r")):
        tally.drop("lines whose name holds || or a line break")
    else:
        tally.keep()
        yield "||".join(cells)
