"""Small terminologies with relations, and pairs drawn from them."""

from __future__ import annotations

from st_biomed import Terminology
from st_biomed.evaluators import RelationDrawSettings
from st_biomed.evaluators import draw_relation_pairs as drawn_by
from st_biomed.records import SourceInfo, Term


def terminology(*records) -> Terminology:
    return Terminology.from_records(records, SourceInfo("G", "glands"))


def draw_relation_pairs(terminology, relations=None, concepts=None, **settings):
    return drawn_by(terminology, relations, RelationDrawSettings(**settings), concepts=concepts)


def named(*codes: str) -> list[Term]:
    """One name for each code: its last part."""
    return [Term(code, code.split(":")[1]) for code in codes]


def edges(terminology: Terminology) -> set[frozenset[int]]:
    """Unordered pairs of concepts that a relation or a parent joins."""
    rows = [*terminology.relations.to_pylist(), *terminology.parents.to_pylist()]
    return {frozenset((row.get("head", row.get("child")), row.get("tail", row.get("parent")))) for row in rows}
