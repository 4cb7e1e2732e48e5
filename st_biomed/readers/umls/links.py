"""MRREL: parents, relations, and the trade names of drugs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import check_name
from st_biomed.readers._columns import among
from st_biomed.readers.umls.folder import MetaFolder, curies
from st_biomed.records import Rows, Tally

RELATIONS = ("named", "all", "rel", "none")
"""The choices of relations and of their names."""

_HIERARCHICAL = ("PAR", "CHD")
"""The values of REL that state a parent."""

_TRADE_NAMES = {"tradename_of": ("CUI2", "CUI1"), "has_tradename": ("CUI1", "CUI2")}
"""RELA to the columns of the trade name and of its drug: the second concept has the relation to the first."""


class _Block(NamedTuple):
    """Rows of one table: the numbers of their two ends, and the other columns."""

    table: str
    ends: dict[str, np.ndarray]
    rest: dict[str, pa.Array]

    def filter(self, keep: np.ndarray) -> _Block:
        return _Block(
            self.table,
            {name: end[keep] for name, end in self.ends.items()},
            {name: column.filter(pa.array(keep)) for name, column in self.rest.items()},
        )


class Links:
    """The content of MRREL.

    Attributes:
        trade_names: Numbers of trade names, sorted, and of their drugs; empty if not requested.
    """

    def __init__(self, folder: MetaFolder, blocks: list[_Block], trade_names: tuple[np.ndarray, np.ndarray]) -> None:
        self._folder, self._blocks = folder, blocks
        self.trade_names = trade_names

    def rows(self, known: np.ndarray) -> Iterator[Rows]:
        """Parents and relations between known concepts. Call it once: every block is released after it is yielded."""
        self._blocks.reverse()
        while self._blocks:
            block = self._blocks.pop()
            head, tail = block.ends.values()
            keep = self._folder.keep_known("MRREL", known[head] & known[tail])
            if keep.true_count:
                block = block.filter(keep.to_numpy(zero_copy_only=False))
                yield Rows(block.table, {name: curies(end) for name, end in block.ends.items()} | block.rest)


def read_links(
    folder: MetaFolder,
    *,
    sources: Sequence[str] | None,
    asked: Sequence[str],
    parent_sources: Sequence[str],
    relations: str,
    inverses: bool,
    least_rows: int,
    trade_names: bool,
) -> Links:
    """Read MRREL.

    Args:
        sources: Sources whose rows are kept; ``None`` for all.
        asked: The sources that must occur.
        parent_sources: Sources whose parents are kept, which must occur; empty for all.
        relations: One of ``RELATIONS``.
        inverses: Whether to keep both of two inverse relations.
        least_rows: Relations with fewer rows are dropped.

    Raises:
        InputError: An option needs MRREL or MRDOC, which is missing; no row has a requested source.
    """
    _need_files(folder, asked, parent_sources, relations, trade_names=trade_names)
    second_of_pair = set() if inverses else _second_of_inverse_pairs(folder)
    blocks: list[_Block] = []
    pairs = [np.empty((0, 2), dtype=np.int64)]
    counts: Counter[str] = Counter()
    met: set[str] = set()
    for block in folder.blocks("MRREL", ("CUI1", "REL", "CUI2", "RELA", "SAB", "SUPPRESS")):
        met.update(block["SAB"].dictionary.to_pylist())
        number = {end: folder.numbers("MRREL", block, end, optional=True) for end in ("CUI1", "CUI2")}
        keep = _rows_of_sources(folder, block, number, sources)
        if trade_names:
            pairs += _trade_name_pairs(block, number, keep)
        if parent_sources:
            others = among(block["REL"], _HIERARCHICAL) & ~among(block["SAB"], parent_sources)
            folder.tally.drop("MRREL: parents of other sources", int((keep & others).sum()))
            keep &= ~others
        blocks += _parents(block, number, keep)
        keep &= ~among(block["REL"], _HIERARCHICAL)
        kept = _relations(block, number, keep, relations, second_of_pair, folder.tally)
        for entry in kept.rest["relation"].value_counts().to_pylist():
            counts[entry["values"]] += entry["counts"]
        blocks.append(kept)
    for option, wanted in (("relation_sources", asked), ("parent_sources", parent_sources)):
        for source in wanted:
            check_name(f"value of option {option} (no row of MRREL has it)", source, met)
    rare = {name for name, count in counts.items() if count < least_rows}
    if rare:
        for i, block_of_links in enumerate(blocks):  # in place, so that each block is freed at once
            blocks[i] = _without(rare, block_of_links, folder.tally)
    distinct = np.unique(np.concatenate(pairs), axis=0)
    return Links(folder, blocks, (distinct[:, 0], distinct[:, 1]))


def _need_files(
    folder: MetaFolder, asked: Sequence[str], parent_sources: Sequence[str], relations: str, *, trade_names: bool
) -> None:
    """Reject options that need MRREL where it is missing."""
    if asked:
        folder.need("MRREL", "relation_sources needs")
    if parent_sources:
        folder.need("MRREL", "parent_sources needs")
    if relations in ("all", "rel"):
        folder.need("MRREL", f"relations={relations} needs")
    if trade_names:
        folder.need("MRREL", "trade_names (or preset 'sapbert') needs; trade_names=false reads without it")


def _rows_of_sources(
    folder: MetaFolder, block: dict[str, pa.Array], number: dict[str, np.ndarray], sources: Sequence[str] | None
) -> np.ndarray:
    """The rows between two different concepts from the sources; the others are counted."""
    return folder.filter_rows(
        "MRREL",
        len(block["REL"]),
        {
            "without a concept": (number["CUI1"] >= 0) & (number["CUI2"] >= 0),
            "other sources": None if sources is None else among(block["SAB"], sources),
            "suppressed": folder.not_suppressed(block["SUPPRESS"]),
            "of a concept to itself": number["CUI1"] != number["CUI2"],
        },
    )


def _trade_name_pairs(block: dict[str, pa.Array], number: dict[str, np.ndarray], keep: np.ndarray) -> list[np.ndarray]:
    """Numbers of the trade name and of the drug of each row between them, ``[N, 2]`` for each relation."""
    pairs = []
    for relation, (brand, drug) in _TRADE_NAMES.items():
        rows = keep & among(block["RELA"], (relation,))
        pairs.append(np.stack([number[brand][rows], number[drug][rows]], axis=1))
    return pairs


def _parents(block: dict[str, pa.Array], number: dict[str, np.ndarray], keep: np.ndarray) -> list[_Block]:
    """The rows with REL = PAR or CHD."""
    found = []
    for rel, child, parent in (("PAR", "CUI1", "CUI2"), ("CHD", "CUI2", "CUI1")):
        ends = {"child": number[child], "parent": number[parent]}
        rows = keep & among(block["REL"], (rel,))
        found.append(_Block("parents", ends, {"source": block["SAB"]}).filter(rows))
    return found


def _relations(
    block: dict[str, pa.Array],
    number: dict[str, np.ndarray],
    keep: np.ndarray,
    relations: str,
    second_of_pair: set[str],
    tally: Tally,
) -> _Block:
    """The other rows, named by RELA or REL as ``relations`` says; those that are left out are counted."""
    named = ~among(block["RELA"], ("",))
    by_rela = pa.array(named & (relations != "rel"))
    names = pc.if_else(by_rela, _plain(block["RELA"]), _plain(block["REL"])).dictionary_encode()
    conditions: dict[str, np.ndarray | None] = {
        "stated not to be related (XR)": ~among(block["REL"], ("XR",)),
        "no parents": np.full(len(keep), relations != "none"),
        "relations without a RELA": named if relations == "named" else None,
        "inverse relations": ~among(names, second_of_pair),
    }
    for reason, condition in conditions.items():
        if condition is not None:
            tally.drop(f"MRREL: {reason}", int((keep & ~condition).sum()))
            keep = keep & condition
    ends = {"head": number["CUI2"], "tail": number["CUI1"]}
    return _Block("relations", ends, {"relation": names, "source": block["SAB"]}).filter(keep)


def _without(rare: set[str], block: _Block, tally: Tally) -> _Block:
    """A block without its rare relations, which are counted; parents are unchanged."""
    if block.table != "relations":
        return block
    common = ~among(block.rest["relation"], rare)
    tally.drop("MRREL: rare relations", int((~common).sum()))
    return block.filter(common)


def _second_of_inverse_pairs(folder: MetaFolder) -> set[str]:
    """The second by name of each two relations that are inverse in MRDOC."""
    folder.need("MRDOC", "inverses=false needs for the pairs of inverse relations")
    pairs: set[tuple[str, str]] = set()
    for block in folder.blocks("MRDOC", ("VALUE", "TYPE", "EXPL")):
        inverse = pa.array(among(block["TYPE"], ("rela_inverse", "rel_inverse")))
        pairs.update(zip(*(block[name].filter(inverse).to_pylist() for name in ("VALUE", "EXPL"))))
    return {max(pair) for pair in pairs if all(pair) and pair[0] != pair[1]}


def _plain(column: pa.Array) -> pa.Array:
    return column.cast(pa.string())
