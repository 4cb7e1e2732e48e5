"""MRCONSO: the names of the concepts, and the choice of the preferred one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError, unknown_name
from st_biomed.readers._columns import among
from st_biomed.readers._languages import two_letters
from st_biomed.readers._normalizers import normalize
from st_biomed.readers.umls.folder import N_NUMBERS, MetaFolder, curies
from st_biomed.records import Rows

_FILTERS = {"languages": "LAT", "sources": "SAB", "term_types": "TTY"}
_PREFERENCES = (("LAT", "ENG"), ("TS", "P"), ("STT", "PF"), ("ISPREF", "Y"))
"""Columns and values that make a row a concept's preferred name, in order of priority."""

_NO_NAME = np.iinfo(np.int64).max


class _Block(NamedTuple):
    """Kept names: their columns without the kind, and for each row its concept's number and its rank."""

    columns: dict[str, pa.Array]
    numbers: np.ndarray
    ranks: np.ndarray


class Names:
    """The kept names.

    Attributes:
        present: Whether a concept is in MRCONSO, boolean by number.
        known: Whether a concept has a kept name, boolean by number.
        languages: SAB to the LAT of its rows, kept or not.
    """

    def __init__(
        self, blocks: list[_Block], best: np.ndarray, present: np.ndarray, languages: dict[str, set[str]]
    ) -> None:
        self._blocks, self._best, self.present, self.languages = blocks, best, present, languages
        self.known = best < _NO_NAME

    def rows(self, trade_names: tuple[np.ndarray, np.ndarray]) -> Iterator[Rows]:
        """The terms. Call it once: every block is released after it is yielded.

        Args:
            trade_names: Numbers of trade names, sorted, and of their drugs. The drugs get the names of the trade names
                too, as additional records that the tally does not count.
        """
        self._blocks.reverse()
        while self._blocks:
            columns, numbers, ranks = self._blocks.pop()
            preferred = pa.array((self._best[numbers] == ranks).astype(np.int32))
            kinds = pa.DictionaryArray.from_arrays(preferred, pa.array(["synonym", "preferred"]))
            yield Rows("terms", {**columns, "kind": kinds})
            yield from self._trade_names(columns, numbers, *trade_names)

    def _trade_names(
        self, columns: dict[str, pa.Array], numbers: np.ndarray, brands: np.ndarray, drugs: np.ndarray
    ) -> Iterator[Rows]:
        first, last = (np.searchsorted(brands, numbers, side) for side in ("left", "right"))
        row = np.repeat(np.arange(len(numbers)), last - first)
        drug = drugs[np.arange(len(row)) + np.repeat(last - np.cumsum(last - first), last - first)]
        known = self.known[drug]
        if known.any():
            taken = {name: column.take(pa.array(row[known])) for name, column in columns.items()}
            kinds = pa.array(["synonym"] * int(known.sum()), pa.string())
            yield Rows("terms", {**taken, "code": curies(drug[known]), "kind": kinds})


def read_names(
    folder: MetaFolder,
    wanted: Mapping[str, np.ndarray | None],
    filters: Mapping[str, Sequence[str] | None],
    presets: Mapping[str, str],
    normalizer: str,
) -> Names:
    """Read MRCONSO.

    Args:
        wanted: A description of other concepts, and whether to keep a concept, boolean by number, or ``None`` for all.
        filters: Languages, sources and term types to keep, ``None`` for all.
        presets: The filters that a preset set, and its name.
        normalizer: A key of ``NORMALIZERS``.

    Raises:
        InputError: No row has a requested language, source or term type, or any of those of a preset.
    """
    blocks: list[_Block] = []
    best = np.full(N_NUMBERS, _NO_NAME)
    present = np.zeros(N_NUMBERS, dtype=bool)
    met: dict[str, set[str]] = {option: set() for option in _FILTERS}
    languages: dict[str, set[str]] = defaultdict(set)
    start = 0
    read = ("CUI", "LAT", "TS", "STT", "ISPREF", "SAB", "TTY", "STR", "SUPPRESS")
    for block in folder.blocks("MRCONSO", read, plain=("STR",)):
        size = len(block["STR"])
        numbers = folder.numbers("MRCONSO", block, "CUI")
        present[numbers] = True
        for source, language in _pairs(block["SAB"], block["LAT"]):
            languages[source].add(language)
        conditions: dict[str, np.ndarray | None] = {}
        for option, column in _FILTERS.items():
            met[option].update(block[column].dictionary.to_pylist())
            allowed = filters[option]
            conditions[f"other {option.replace('_', ' ')}"] = (
                None if allowed is None else among(block[column], allowed)
            )
        conditions["suppressed"] = folder.not_suppressed(block["SUPPRESS"])
        conditions.update({others: None if these is None else these[numbers] for others, these in wanted.items()})
        keep = folder.filter_rows("MRCONSO", size, conditions)
        texts = normalize(block["STR"].filter(pa.array(keep)), normalizer)
        filled = pc.not_equal(texts, "")
        folder.tally.drop("MRCONSO: empty names", len(texts) - filled.true_count)
        keep[keep] = filled.to_numpy(zero_copy_only=False)
        folder.tally.keep(int(keep.sum()))
        rank = np.arange(start, start + size)
        for i, (column, value) in enumerate(reversed(_PREFERENCES)):
            rank += (~among(block[column], (value,))).astype(np.int64) << (40 + i)
        np.minimum.at(best, numbers[keep], rank[keep])
        start += size
        if keep.any():
            kept = {name: block[name].filter(pa.array(keep)) for name in ("CUI", "LAT", "SAB")}
            columns = {
                "code": _with_values(kept["CUI"], pc.binary_join_element_wise("UMLS", kept["CUI"].dictionary, ":")),
                "text": texts if filled.true_count == len(texts) else texts.filter(filled),
                "language": _with_values(kept["LAT"], iso(kept["LAT"].dictionary)),
                "source": kept["SAB"],
            }
            blocks.append(_Block(columns, numbers[keep], rank[keep]))
    for option, values in met.items():
        _check_met(folder, option, filters[option] or (), values, presets.get(option))
    return Names(blocks, best, present, languages)


def _check_met(folder: MetaFolder, option: str, asked: Sequence[str], met: set[str], preset: str | None) -> None:
    """Reject values that no row has; some values of a preset may be missing, which the tally mentions."""
    absent = [value for value in asked if value not in met]
    if preset is None:
        for value in absent:
            raise unknown_name(f"value of option {option} (no row of MRCONSO has it)", value, met)
    elif absent and len(absent) == len(asked):
        raise InputError(
            f"{folder.path}: preset {preset!r} reads {option} {', '.join(asked)}, and no row of MRCONSO has any of "
            f"them; found {', '.join(sorted(met)) or 'none'}"
        )
    for value in absent:
        folder.tally.mention(f"MRCONSO: {option} {value} of preset {preset!r}, which no row has")


def _pairs(first: pa.Array, second: pa.Array) -> Iterator[tuple[str, str]]:
    """The pairs of values in the same row of two dictionary-encoded columns."""
    width = len(second.dictionary)
    packed = first.indices.to_numpy().astype(np.int64) * width + second.indices.to_numpy()
    for pair in np.flatnonzero(np.bincount(packed)).tolist():
        yield first.dictionary[pair // width].as_py(), second.dictionary[pair % width].as_py()


def _with_values(column: pa.Array, values: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(column.indices, values)


def iso(languages: pa.Array) -> pa.Array:
    """LAT as ISO 639-1 codes; unknown codes in lower case."""
    return pa.array([two_letters(name.lower()) for name in languages.to_pylist()], pa.string())
