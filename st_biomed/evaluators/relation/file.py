"""The text format of relation pairs: ``term||term||relation``, one pair per line, ``random`` for unrelated pairs."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.evaluators.tree.file import write_lines
from st_biomed.files.delimited import read_table

logger = logging.getLogger(__name__)

RANDOM = "random"
"""The relation in lines of unrelated pairs, as in HiPrBERT's evaluation file."""

Pairs = Sequence[tuple[str, str]]


def read_pairs(path: str | Path) -> dict[str, list[tuple[str, str]]]:
    """Relation to its pairs, in the order of the file, without pairs of no relation.

    HiPrBERT's file has such pairs: they are of rows of MRREL without a RELA. Their number is logged.

    Raises:
        InputError: No such file, or a line of another form, with file and line.
    """
    pairs: dict[str, list[tuple[str, str]]] = {}
    n_unnamed = 0
    for line, cells in read_table(path, dialect="double_pipe", header=["term_1", "term_2", "relation"]):
        first, second, relation = cells
        if not (first and second):
            raise InputError(f"{path}:{line}: expected term||term||relation, found {'||'.join(cells)!r}")
        if relation:
            pairs.setdefault(relation, []).append((first, second))
        else:
            n_unnamed += 1
    if n_unnamed:
        logger.info("%s: %d pairs without a relation are left out", path, n_unnamed)
    return pairs


def pair_lines(pairs: Mapping[str, Pairs]) -> bytes:
    """The content of a file."""
    return "".join(
        f"{a}||{b}||{relation}\n" for relation, relation_pairs in pairs.items() for a, b in relation_pairs
    ).encode()


def write_pairs(path: str | Path, pairs: Mapping[str, Pairs]) -> None:
    """Write a file of pairs.

    Raises:
        InputError: A term or relation with ``||`` or a line break, which the format cannot represent.
    """
    write_lines(
        path,
        (*pairs, *(text for relation_pairs in pairs.values() for pair in relation_pairs for text in pair)),
        pair_lines(pairs),
    )
