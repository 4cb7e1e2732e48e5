"""Searches rows in blocks, and gives them back in their order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from st_biomed.linking.concept_search import Match
from st_biomed.linking.mention_files.mention_rows import MentionRow

Search = Callable[[list[str], list[str]], list[list[Match]]]


def link_rows(
    rows: Iterable[MentionRow], search: Search, *, rows_at_once: int = 2048, missing: Collection[str] = ()
) -> Iterator[tuple[MentionRow, list[Match]]]:
    """Concepts of each row, in order; a row without text has no concepts and is not searched.

    Args:
        rows: The rows.
        search: Maps texts and their contexts to the concepts of each.
        rows_at_once: Number of rows in memory.
        missing: Texts that stand for a missing one; a row with one of them becomes a row without text.
    """
    block: list[MentionRow] = []
    for row in rows:
        block.append(row._replace(text="") if row.text in missing else row)
        if len(block) == rows_at_once:
            yield from _linked(block, search)
            block = []
    if block:
        yield from _linked(block, search)


def _linked(block: list[MentionRow], search: Search) -> Iterator[tuple[MentionRow, list[Match]]]:
    given = [row for row in block if row.text]
    found = iter(search([row.text for row in given], [row.context for row in given]))
    for row in block:
        yield row, next(found) if row.text else []
