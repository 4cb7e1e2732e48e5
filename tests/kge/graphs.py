"""Small invented graphs and terminologies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from st_biomed.kge import KnowledgeGraph
from st_biomed.records import Parent, Relation, SourceInfo, Term
from st_biomed.terminology import Terminology


def wheel(n: int = 12) -> KnowledgeGraph:
    """A wheel: each entity is followed by the next and faces the opposite one; every seventh triple is held out."""
    ids = np.arange(n)
    triples = np.concatenate(
        [
            np.stack([ids, np.zeros(n, np.int64), (ids + 1) % n], axis=1),
            np.stack([ids, np.ones(n, np.int64), (ids + n // 2) % n], axis=1),
            np.stack([ids, np.full(n, 2), (ids + 2) % n], axis=1),
        ]
    )
    held_out = np.arange(len(triples)) % 7 == 3
    valid, test = triples[held_out][::2], triples[held_out][1::2]
    names = ["next", "opposite", "next but one"]
    return KnowledgeGraph([f"W:{i:02d}" for i in ids], names, triples[~held_out], valid, test, terminology="abc")


def line(n: int = 12) -> KnowledgeGraph:
    """A line, which a translation can stand for: each entity is followed by the next, and by the next but one."""
    triples = np.array([(i, step - 1, i + step) for step in (1, 2) for i in range(n - step)])
    names = [f"L:{i:02d}" for i in range(n)]
    return KnowledgeGraph(names, ["next", "next but one"], triples[::2], triples[1::4], triples[3::4])


def terminology(relations: list[tuple[str, str, str]], parents: Sequence[tuple[str, str]] = ()) -> Terminology:
    """Concepts named by their codes, ``Z:<name>``."""
    ends = {end for head, _, tail in relations for end in (head, tail)} | {end for pair in parents for end in pair}
    records = [
        *(Term(f"Z:{end}", f"the {end}") for end in sorted(ends)),
        *(Relation(f"Z:{head}", name, f"Z:{tail}") for head, name, tail in relations),
        *(Parent(f"Z:{child}", f"Z:{parent}") for child, parent in parents),
    ]
    return Terminology.from_records(records, SourceInfo("Z", "Zorbs"))
