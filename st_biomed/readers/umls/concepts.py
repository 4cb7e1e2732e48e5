"""The semantic types of concepts, and the current concepts for those of earlier releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from st_biomed.readers._columns import among
from st_biomed.readers.umls.folder import N_NUMBERS, MetaFolder, curies
from st_biomed.readers.umls.semantic_types import types_of_groups, with_types_below
from st_biomed.records import Rows


class History(NamedTuple):
    """Concepts of earlier releases that were merged into others."""

    folder: MetaFolder
    merged_into: dict[int, int]

    def current(self, number: int) -> int:
        """The current concept for a number."""
        return self.merged_into.get(number, number)

    def rows(self, known: np.ndarray, source: str) -> Iterator[Rows]:
        """Cross-references from a concept to those that were merged into it."""
        old, new = (np.array(list(ends), dtype=np.int64) for ends in (self.merged_into, self.merged_into.values()))
        keep = self.folder.keep_known("MRCUI", known[new])
        if keep.true_count:
            columns = {
                "code": curies(new[keep]),
                "target": curies(old[keep]),
                "predicate": pa.array(["replaces"] * keep.true_count),
                "source": pa.array([source] * keep.true_count),
            }
            yield Rows("xrefs", columns)


def read_history(folder: MetaFolder) -> History:
    """Read MRCUI: a retired concept is mapped if it is synonymous with another (REL = SY), over several releases."""
    merged: dict[int, int] = {}
    for block in folder.blocks("MRCUI", ("CUI1", "REL", "CUI2")):
        old, new = (folder.numbers("MRCUI", block, end, optional=True) for end in ("CUI1", "CUI2"))
        synonymous = among(block["REL"], ("SY",)) & (old >= 0) & (new >= 0)
        keep = folder.filter_rows("MRCUI", len(old), {"retired without a synonymous concept": synonymous})
        before = len(merged)
        merged.update(zip(old[keep].tolist(), new[keep].tolist()))
        folder.tally.drop("MRCUI: retired again", int(keep.sum()) - (len(merged) - before))
    for old_number, new_number in merged.items():
        seen = {old_number}
        while new_number in merged and new_number not in seen:
            seen.add(new_number)
            new_number = merged[new_number]
        merged[old_number] = new_number
    return History(folder, merged)


class SemanticTypes(NamedTuple):
    """The rows of MRSTY: the types of concepts in blocks of (numbers, TUIs), and each type's tree number."""

    folder: MetaFolder
    blocks: list[tuple[np.ndarray, pa.Array]]
    tree_numbers: dict[str, str]

    def rows(self, known: np.ndarray) -> Iterator[Rows]:
        for numbers, types in self.blocks:
            keep = self.folder.keep_known("MRSTY", known[numbers])
            if keep.true_count:
                yield Rows("types", {"code": curies(numbers[keep]), "type": types.filter(keep)})


def read_types(folder: MetaFolder) -> SemanticTypes:
    """Read MRSTY."""
    types = SemanticTypes(folder, [], {})
    for block in folder.blocks("MRSTY", ("CUI", "TUI", "STN")):
        types.blocks.append((folder.numbers("MRSTY", block, "CUI"), block["TUI"]))
        pairs = pa.table({"type": block["TUI"], "at": block["STN"]}).group_by(["type", "at"]).aggregate([])
        types.tree_numbers.update(zip(pairs["type"].to_pylist(), pairs["at"].to_pylist()))
    return types


def of_types(
    types: SemanticTypes, semantic_types: Sequence[str] | None, semantic_groups: Sequence[str] | None
) -> np.ndarray | None:
    """Whether concepts have one of some types, a type below these or a type of some groups, boolean by number.

    ``None`` if no type and no group is given.

    Raises:
        InputError: An unknown type or group, types without MRSTY.
    """
    if not semantic_types and not semantic_groups:
        return None
    types.folder.need("MRSTY", "semantic_types and semantic_groups (or preset 'italian') need")
    chosen = with_types_below(semantic_types or (), types.tree_numbers) | types_of_groups(semantic_groups or ())
    is_of_type = np.zeros(N_NUMBERS, dtype=bool)
    for numbers, block_types in types.blocks:
        is_of_type[numbers[among(block_types, chosen)]] = True
    return is_of_type
