"""Map reference sets: cross-references to ICD-10 and other classifications."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.errors import InputError, unknown_name
from st_biomed.readers.snomed.concepts import PREFIX, Concepts, constant
from st_biomed.readers.snomed.identifiers import CONCEPTS, are_identifiers, distinct
from st_biomed.readers.snomed.release import ActiveRows, Release
from st_biomed.records import Rows

DEFAULT = "ICD10,ICD10CM"
_SETS = {
    "ICD10": 447562003,
    "ICD10CM": 6011000124106,
    "ICDO": 446608001,
    "CTV3": 900000000000497000,
}
"""Prefix of the codes that a reference set maps to, and its identifier."""

_COLUMNS = {
    "ExtendedMap": ("refsetId", "referencedComponentId", "mapGroup", "mapRule", "mapTarget"),
    "SimpleMap": ("refsetId", "referencedComponentId", "mapTarget"),
}
_ALWAYS, _OTHERWISE = ("", "TRUE"), "OTHERWISE TRUE"
"""Rules that hold for every patient, and the one for patients for whom no other rule of its group holds."""
_GROUP = ("refsetId", "referencedComponentId", "mapGroup")
_PREDICATES = ("xref", "conditional", "additional")
_OPEN_END = r"\.?X*\?+$"  # of a code of ICD-10-CM whose seventh character the episode of care gives
_PREFIX = re.compile(r"[A-Za-z][\w.-]*")


def asked_maps(members: Sequence[str]) -> dict[int, str]:
    """Identifiers of map reference sets to the prefixes of the codes that they map to.

    Args:
        members: Names of known sets (``"ICD10"``), or prefixes with identifiers (``"ICD10=447562003"``).

    Raises:
        InputError: An unknown name, or another form.
    """
    maps: dict[int, str] = {}
    for member in members:
        prefix, equals, number = (part.strip() for part in member.partition("="))
        if not equals and prefix not in _SETS:
            raise unknown_name("map of reader 'snomed' (or PREFIX=identifier of its reference set)", member, _SETS)
        identifier = number if equals else str(_SETS[prefix])
        right = identifier.isascii() and identifier.isdecimal() and len(identifier) <= 18
        if not right or not are_identifiers(np.array([int(identifier)]), CONCEPTS)[0] or not _PREFIX.fullmatch(prefix):
            raise InputError(f"maps of reader 'snomed' must be PREFIX=identifier of a reference set, found {member!r}")
        maps[int(identifier)] = prefix
    return maps


def read_maps(
    release: Release, concepts: Concepts, known: np.ndarray, maps: dict[int, str], *, needed: bool
) -> Iterator[Rows]:
    """Read the extended (or complex) and the simple maps.

    Args:
        known: Whether a concept has a kept name, boolean ``[C]``.
        maps: The result of :func:`asked_maps`.
        needed: Whether each must occur; if not, the tally gets a note of those that do not.

    Raises:
        InputError: No active row of a needed map.
    """
    met: set[int] = set()
    found: list[tuple[np.ndarray, np.ndarray, pa.Array]] = []
    for kind, columns in _COLUMNS.items() if maps else ():
        blocks = list(release.rows(kind, *columns))
        current = release.current(kind)
        predicates = _predicates(blocks, current) if kind == "ExtendedMap" else []
        for i, rows in enumerate(blocks):
            is_current = current[rows.at]
            met.update(distinct(rows.numbers("refsetId")[is_current]).tolist())
            index = concepts.index(rows.numbers("referencedComponentId")[is_current])
            sets = rows.numbers("refsetId")[is_current]
            codes = pc.replace_substring_regex(_texts(rows, "mapTarget", is_current), _OPEN_END, "")
            conditions: dict[str, np.ndarray | None] = {
                "of other reference sets": np.isin(sets, list(maps)),
                "without a target": pc.not_equal(codes, "").to_numpy(zero_copy_only=False),
                **concepts.conditions(known, index),
            }
            keep = release.filter_rows(kind, len(sets), conditions)
            predicate = predicates[i] if predicates else np.zeros(len(sets), np.int32)
            prefixes = pa.array([maps[number] for number in sets[keep].tolist()], pa.string())
            targets = pc.binary_join_element_wise(prefixes, codes.filter(pa.array(keep)), ":")
            found.append((index[keep], predicate[keep], targets))
    absent = [number for number in maps if number not in met]
    for number in absent if needed else ():
        kind = f"reference set of option maps (no active row has that of {maps[number]})"
        raise unknown_name(kind, str(number), map(str, met))
    if absent:
        why = "no active row of its reference set" if any(map(release.has, _COLUMNS)) else "no map reference set"
        release.tally.note(f"no map to {', '.join(maps[number] for number in absent)}: {why}")
    if found:
        yield from _once(release, concepts, found)


def _texts(rows: ActiveRows, column: str, mask: np.ndarray) -> pa.Array:
    return pc.utf8_trim_whitespace(rows.strings(column).filter(pa.array(mask)).cast(pa.string()))


def _predicates(blocks: Sequence[ActiveRows], current: np.ndarray) -> list[np.ndarray]:
    """Places in ``_PREDICATES`` of the current rows of each block, int32 ``[N]``; a group may begin in an earlier block."""
    if not blocks:
        return []
    masks = [current[rows.at] for rows in blocks]
    rules = pa.concat_arrays([_texts(rows, "mapRule", mask) for rows, mask in zip(blocks, masks)])
    keys = [np.concatenate([rows.numbers(name)[mask] for rows, mask in zip(blocks, masks)]) for name in _GROUP]
    otherwise = pc.equal(rules, _OTHERWISE).to_numpy(zero_copy_only=False)
    ruled = ~pc.is_in(rules, pa.array([*_ALWAYS, _OTHERWISE])).to_numpy(zero_copy_only=False)
    group = np.unique(np.stack(keys), axis=1, return_inverse=True)[1].ravel()
    conditional = ruled | (otherwise & np.isin(group, group[ruled]))
    places = np.where(conditional, 1, np.where(keys[-1] > 1, 2, 0)).astype(np.int32)
    return np.split(places, np.cumsum([mask.sum() for mask in masks])[:-1])


def _once(
    release: Release, concepts: Concepts, found: list[tuple[np.ndarray, np.ndarray, pa.Array]]
) -> Iterator[Rows]:
    """Each cross-reference once."""
    concept, predicate = (np.concatenate([part[place] for part in found]) for place in (0, 1))
    codes = pa.concat_arrays([targets for *_, targets in found]).dictionary_encode()
    width = max(1, len(codes.dictionary))
    packed = (concept.astype(np.int64) * len(_PREDICATES) + predicate) * width + codes.indices.to_numpy()
    once = distinct(packed)
    release.tally.drop("Map: repeated", len(packed) - len(once))
    release.tally.keep(len(once))
    if len(once):
        rest, target = np.divmod(once, width)
        concept, predicate = np.divmod(rest, len(_PREDICATES))
        columns = {
            "code": concepts.curies(concept),
            "target": pa.DictionaryArray.from_arrays(target.astype(np.int32), codes.dictionary),
            "predicate": pa.DictionaryArray.from_arrays(predicate.astype(np.int32), pa.array(_PREDICATES)),
            "source": constant(PREFIX, len(once)),
        }
        yield Rows("xrefs", columns)
