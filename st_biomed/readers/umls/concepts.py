"""Which concepts are wanted: by semantic type, by list, and what became of those of earlier releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from st_biomed.errors import InputError
from st_biomed.readers.records import Rows
from st_biomed.readers.tables import read_lines
from st_biomed.readers.umls.folder import N_NUMBERS, MetaFolder, among, concept_numbers, curies
from st_biomed.readers.umls.semantic_types import types_of_groups, with_types_below


class History(NamedTuple):
    """Concepts of earlier releases that were merged into others."""

    folder: MetaFolder
    merged_into: dict[int, int]

    def current(self, number: int) -> int:
        """The concept that a number stands for today."""
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
    """MRCUI: a retired concept is mapped where it is synonymous with one (REL = SY), over several releases."""
    merged: dict[int, int] = {}
    for block in folder.blocks("MRCUI", ("CUI1", "REL", "CUI2")):
        folder.tally.read(len(block["REL"]))
        old, new = (folder.numbers("MRCUI", block, end) for end in ("CUI1", "CUI2"))
        synonymous = among(block["REL"], ("SY",)) & (old >= 0) & (new >= 0)
        keep = folder.sieve("MRCUI", len(old), {"retired without a synonymous concept": synonymous})
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
    """MRSTY: the types of concepts in blocks of (numbers, TUIs), and each type's tree number."""

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
        folder.tally.read(len(block["TUI"]))
        types.blocks.append((folder.numbers("MRSTY", block, "CUI"), block["TUI"]))
        pairs = pa.table({"type": block["TUI"], "at": block["STN"]}).group_by(["type", "at"]).aggregate([])
        types.tree_numbers.update(zip(pairs["type"].to_pylist(), pairs["at"].to_pylist()))
    return types


def wanted_concepts(
    types: SemanticTypes,
    history: History,
    semantic_types: Sequence[str] | None,
    semantic_groups: Sequence[str] | None,
    listed: str | Path | Sequence[str] | None,
) -> np.ndarray | None:
    """Which concepts may be kept, boolean by number; ``None`` for all.

    Raises:
        InputError: An unknown type or group, a list that holds something else, types without MRSTY.
    """
    wanted = None
    if semantic_types or semantic_groups:
        if not types.blocks:
            raise InputError(f"{types.folder.path}: semantic types are asked for, but there is no MRSTY.RRF")
        chosen = with_types_below(semantic_types or (), types.tree_numbers) | types_of_groups(semantic_groups or ())
        wanted = np.zeros(N_NUMBERS, dtype=bool)
        for numbers, of in types.blocks:
            wanted[numbers[among(of, chosen)]] = True
    if listed is not None:
        if isinstance(listed, str | Path):
            where, codes = str(listed), [text.strip() for _, text in read_lines(listed) if text.strip()]
        else:
            where, codes = "concepts of reader 'umls'", list(listed)
        given = concept_numbers(pa.array([code.removeprefix("UMLS:") for code in codes], pa.string()), where)
        among_listed = np.zeros(N_NUMBERS, dtype=bool)
        among_listed[[history.current(number) for number in given.tolist()]] = True
        wanted = among_listed if wanted is None else wanted & among_listed
    return wanted
