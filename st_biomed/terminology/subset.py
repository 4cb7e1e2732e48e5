"""A part of a terminology's tables: rows that meet a condition, as boolean masks, and indices anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.records import Tally
from st_biomed.terminology.groupings import above_names, note_groupings


def mask(selected: np.ndarray | Sequence[int] | None, size: int, name: str) -> np.ndarray:
    """A boolean mask ``[size]`` from a mask, indices or nothing.

    Raises:
        InputError: A mask of another length, something else than indices, or an index out of range.
    """
    if selected is None:
        return np.ones(size, dtype=bool)
    selected = np.asarray(selected)
    if selected.dtype == bool:
        if selected.shape != (size,):
            raise InputError(f"subset: {name} mask has shape {selected.shape}, expected ({size},)")
        return selected
    if selected.size and selected.dtype.kind not in "iu":
        raise InputError(f"subset: {name} are indices or a mask, found {selected.dtype}; codes are given with codes=")
    if selected.size and (selected.min() < 0 or selected.max() >= size):
        raise InputError(f"subset: {name} go from 0 to {size - 1}, found {selected.min()} to {selected.max()}")
    out = np.zeros(size, dtype=bool)
    out[selected.astype(np.int64)] = True
    return out


def having(column: pa.ChunkedArray, allowed: Sequence[str], what: str) -> np.ndarray:
    """Rows of a dictionary-encoded column with one of some values.

    Args:
        what: What a row without one lacks, for the error.

    Raises:
        InputError: No row has one of them.
    """
    present = sorted(set(column.unique().to_pylist()))
    for value in allowed:
        if value not in present:
            hint = f"there are {present[:20]}{', ...' if len(present) > 20 else ''}" if present else "none has any"
            raise InputError(f"subset: no {what} {value!r}; {hint}")
    return pc.is_in(column, value_set=pa.array(list(allowed), pa.string())).to_numpy()


def with_codes(codes: pa.Array, wanted: Sequence[str]) -> np.ndarray:
    """Concepts with one of some codes, boolean ``[C]``.

    Raises:
        InputError: No concept has one of them.
    """
    index = pc.index_in(pa.array(list(wanted), pa.string()), value_set=codes)
    missing = [code for code, at in zip(wanted, index.to_pylist()) if at is None]
    if missing:
        raise InputError(f"subset: {no_code(missing[0], codes)}")
    out = np.zeros(len(codes), dtype=bool)
    out[index.to_numpy()] = True
    return out


def no_code(code: str, codes: pa.Array) -> str:
    """That no concept has a code, with one that differs from it by its prefix or by case, or else with an example."""
    local = pc.replace_substring_regex(pc.utf8_lower(codes), "^[^:]*:", "")
    same = codes.filter(pc.equal(local, code.rpartition(":")[2].lower()))
    example = f"codes look like {codes[0].as_py()!r}" if len(codes) else "the terminology is empty"
    return f"no concept has code {code!r}; {f'did you mean {same[0].as_py()!r}?' if len(same) else example}"


def and_below(reached: np.ndarray, child: np.ndarray, parent: np.ndarray) -> np.ndarray:
    """Some concepts and all below them, boolean ``[C]``.

    Args:
        reached: The concepts to begin with, boolean ``[C]``.
        child, parent: Concept indices of every edge.
    """
    return reached | CSR.from_pairs(parent, child, len(reached)).reach(np.flatnonzero(reached))


def on_cycles(child: np.ndarray, parent: np.ndarray, n_concepts: int) -> np.ndarray:
    """The edges that lie on a cycle, boolean ``[E]``: those within a strongly connected component.

    Args:
        child, parent: Concept indices of every edge, ``[E]``.
        n_concepts: C.
    """
    component = strong_components(child, parent, n_concepts)
    return component[child] == component[parent]


def strong_components(child: np.ndarray, parent: np.ndarray, n_concepts: int) -> np.ndarray:
    """The strongly connected component of each concept, ``[C]``."""
    graph = coo_array((np.ones(len(child), dtype=bool), (child, parent)), shape=(n_concepts, n_concepts))
    return connected_components(graph, directed=True, connection="strong")[1]


def of_same(
    tables: Mapping[str, pa.Table], column: str, allowed: Sequence[str] | None, tally: Tally
) -> dict[str, pa.Table]:
    """The tables without the rows of another language or source; the terms stay as they are.

    Args:
        column: ``"language"`` or ``"source"``.
        allowed: Its values to keep; ``None`` for all.
    """
    part = dict(tables)
    if allowed is None:
        return part
    values = pa.array(list(allowed), pa.string())
    for name, table in tables.items():
        if name != "terms" and column in table.column_names:
            part[name] = table.filter(pc.is_in(table[column], value_set=values))
            tally.drop(f"{name} of another {column}", table.num_rows - part[name].num_rows)
    return part


_INDEX_COLUMNS = {
    "terms": {"concept": "concepts", "text": "texts"},
    "parents": {"child": "concepts", "parent": "concepts"},
    "relations": {"head": "concepts", "tail": "concepts"},
    "types": {"concept": "concepts"},
    "xrefs": {"concept": "concepts"},
    "definitions": {"concept": "concepts"},
}
"""Table to its columns that are indices, and of what."""


def renumbered(
    whole: Mapping[str, pa.Table], part: Mapping[str, pa.Table], tally: Tally, chosen: np.ndarray | None = None
) -> dict[str, pa.Table]:
    """Drop the concepts and texts that no term uses, and rows that point at them; the order stays.

    A grouping node stays if it is chosen and a concept that stays is below it.

    Args:
        part: The same, some of them with fewer rows; why is counted already.
        chosen: The concepts that grouping nodes may be among, boolean ``[C]``; all by default.
        tally: Counts all rows of the whole as read, those that are left as kept and those that point outside.

    Returns:
        The tables with indices of their own.
    """
    tables, new = dict(part), {}
    for column, table in _INDEX_COLUMNS["terms"].items():
        used = np.zeros(whole[table].num_rows, dtype=bool)
        used[part["terms"][column].to_numpy()] = True
        if table == "concepts":
            used |= _groupings(whole, part, used, chosen, tally)
        new[table] = np.where(used, np.cumsum(used) - 1, -1).astype(np.int32)
        tables[table] = part[table].filter(pa.array(used))
    for table, ends in _INDEX_COLUMNS.items():
        rows = part[table]
        known = np.ones(rows.num_rows, dtype=bool)
        for name, end_table in ends.items():
            index = new[end_table][rows[name].to_numpy()]
            known &= index >= 0
            rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(index))
        tables[table] = rows.filter(pa.array(known))
        tally.read(whole[table].num_rows)
        tally.keep(tables[table].num_rows)
        tally.drop(f"{table} of concepts outside the subset", part[table].num_rows - tables[table].num_rows)
    return tables


def _groupings(
    whole: Mapping[str, pa.Table],
    part: Mapping[str, pa.Table],
    named: np.ndarray,
    chosen: np.ndarray | None,
    tally: Tally,
) -> np.ndarray:
    """The grouping nodes that stay, boolean ``[C]``; ``named`` are the concepts that stay."""
    nameless = np.ones(len(named), dtype=bool)
    nameless[whole["terms"]["concept"].to_numpy()] = False
    if not nameless.any():
        return nameless
    child, parent = (part["parents"][end].to_numpy() for end in ("child", "parent"))
    kept = above_names(named, nameless if chosen is None else nameless & chosen, child, parent)
    note_groupings(int(kept.sum()), tally)
    return kept
