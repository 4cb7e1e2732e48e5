"""The rows of a kind of file over several editions, and which of them are the latest."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from st_biomed.errors import InputError
from st_biomed.files.column_blocks import Block
from st_biomed.readers.snomed.identifiers import are_identifiers, member_numbers

_COMPONENTS = ("concepts", "descriptions", "relationships")


class Versions:
    """The ids, times and states of all rows of a kind."""

    def __init__(self) -> None:
        self._ids: list[np.ndarray] = []
        self._times: list[np.ndarray] = []
        self._active: list[np.ndarray] = []
        self._n_rows = 0

    def add(self, file: Path, block: Block, component: int | None) -> tuple[int, np.ndarray]:
        """Check and keep a block; its first row's place and which rows are active."""
        times, active = (block[name].to_numpy() for name in ("effectiveTime", "active"))
        if component is None:
            ids, right = member_numbers(block["id"])
            allowed = "id must be a UUID"
        else:
            numbers = block["id"].to_numpy()
            ids, right = numbers[:, None], are_identifiers(numbers, component)
            allowed = f"id must be an identifier of {_COMPONENTS[component]} with a right check digit"
        for name, is_right, form in (
            ("id", right, allowed),
            ("effectiveTime", (times > 19000000) & (times < 30000000), "effectiveTime must be a date like 20240131"),
            ("active", (active == 0) | (active == 1), "active must be 0 or 1"),
        ):
            for row in np.flatnonzero(~is_right)[:1]:
                found = str(block[name][int(row)].as_py())[:40]
                raise InputError(f"{file}:{block.lines[row]}: {form}, found {found!r}")
        start = self._n_rows
        self._ids.append(ids)
        self._times.append(times.astype(np.int32))
        self._active.append(active == 1)
        self._n_rows += len(times)
        return start, self._active[-1]

    def active(self) -> np.ndarray:
        return np.concatenate([np.empty(0, bool), *self._active])

    def identifiers(self) -> np.ndarray:
        return np.concatenate([np.empty(0, np.int64), *(ids[:, 0] for ids in self._ids)])

    def latest(self) -> np.ndarray:
        """Whether a row is the first among those with the latest time of its id."""
        if not self._ids:
            return np.empty(0, bool)
        ids = np.concatenate(self._ids)
        latest = np.ones(len(ids), dtype=bool)
        firsts = np.sort(ids[:, 0])
        if (firsts[1:] != firsts[:-1]).all():
            return latest
        order = np.lexsort((-np.concatenate(self._times), *ids.T))  # stable: of equal times the first row stays first
        ordered = ids[order]
        latest[order[1:]] = (ordered[1:] != ordered[:-1]).any(1)
        return latest
