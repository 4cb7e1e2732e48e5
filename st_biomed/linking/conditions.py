"""Conditions on the concepts and names that a mention may be linked to, as a mask over the names of concepts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from os.path import commonprefix
from typing import TYPE_CHECKING, Any

import numpy as np

from st_biomed.errors import InputError, check_name, check_several, unknown_name
from st_biomed.records import STANDARD
from st_biomed.terminology.subset import and_below

if TYPE_CHECKING:
    from st_biomed.linking.catalog import Catalog


@dataclass(frozen=True)
class Conditions:
    """All given conditions apply, before the best concepts are selected.

    Attributes:
        types: Only concepts with one of these semantic types.
        leaves: Only concepts without children: the valid codes of a classification such as ICD-10-CM.
        standard: Only concepts that their source marks as standard: those of OMOP that records are mapped to.
        below: Only these concepts and all below them, by their codes.
        sources: Only names that one of these sources has.
        languages: Only names in one of these languages; with sources, one of these sources has the name in it.

    Raises:
        InputError: A string in place of a list, an empty list, or no truth value where one is expected.
    """

    types: Sequence[str] | None = None
    leaves: bool = False
    standard: bool = False
    below: Sequence[str] | None = None
    sources: Sequence[str] | None = None
    languages: Sequence[str] | None = None

    def __post_init__(self) -> None:
        for name in ("leaves", "standard"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name}: expected True or False, found {getattr(self, name)!r}")
        for name in ("types", "below", "sources", "languages"):
            value = getattr(self, name)
            check_several(name, value, "semantic types" if name == "types" else "codes" if name == "below" else name)
            if value is not None:
                object.__setattr__(self, name, tuple(value))
                if not value:
                    raise InputError(f"{name}: expected at least one, found none")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Conditions:
        """Conditions by their names.

        Raises:
            InputError: An unknown name, or a value as above.
        """
        known = [field.name for field in fields(cls)]
        for name in given:
            check_name("condition", name, known)
        return cls(**given)

    @property
    def given(self) -> list[str]:
        """Names of the conditions that are given."""
        return [field.name for field in fields(self) if getattr(self, field.name) not in (None, False)]

    def entries(self, catalog: Catalog) -> np.ndarray:
        """The names of concepts that may be found, boolean ``[E]`` over the entries of ``catalog.name_concepts``.

        Raises:
            InputError: The index does not know what is asked for, or no name meets all conditions.
        """
        concepts = np.ones(len(catalog.concepts), dtype=bool)
        if self.types is not None:
            concepts &= catalog.of_types(self.types)
        if self.leaves:
            concepts &= leaves_of(catalog)
        if self.standard:
            concepts &= standard_of(catalog)
        if self.below is not None:
            concepts &= below_of(catalog, self.below)
        chosen = concepts[catalog.name_concepts.indices]
        if self.languages is not None or self.sources is not None:
            chosen &= from_origins(catalog, self.languages, self.sources)
        if not chosen.any():
            raise InputError(f"{', '.join(self.given)}: no name of the index meets all of these conditions")
        return chosen


def leaves_of(catalog: Catalog) -> np.ndarray:
    """Concepts without children, boolean ``[C]``.

    Raises:
        InputError: The index has no hierarchy.
    """
    if catalog.parents is None:
        raise InputError("leaves: the index has no hierarchy, because its source has none")
    leaves = np.ones(len(catalog.concepts), dtype=bool)
    leaves[catalog.parents.indices] = False
    return leaves


def standard_of(catalog: Catalog) -> np.ndarray:
    """Concepts with the type :data:`~st_biomed.records.STANDARD`, boolean ``[C]``.

    Raises:
        InputError: No concept has it.
    """
    standard = np.array([STANDARD in names for names in catalog.types or ()], dtype=bool)
    if not standard.any():
        raise InputError(
            "standard: no concept of the index is marked as standard; the reader omop marks those of OMOP"
        )
    return standard


def below_of(catalog: Catalog, codes: Sequence[str]) -> np.ndarray:
    """Some concepts and all below them, boolean ``[C]``.

    Raises:
        InputError: An unknown code, or an index without a hierarchy.
    """
    if catalog.parents is None:
        raise InputError("below: the index has no hierarchy, because its source has none")
    reached = np.zeros(len(catalog.concepts), dtype=bool)
    for code in codes:
        if (at := catalog.place(code)) is None:
            raise InputError(
                f"below: no concept has code {code!r}; did you mean {_nearest(code, catalog.concepts)!r}?"
            )
        reached[at] = True
    child = np.repeat(np.arange(len(reached)), catalog.parents.counts)
    return and_below(reached, child, catalog.parents.indices)


def from_origins(catalog: Catalog, languages: Sequence[str] | None, sources: Sequence[str] | None) -> np.ndarray:
    """Names of concepts in some languages and of some sources, boolean ``[E]``.

    Raises:
        InputError: An unknown language or source, or an index that does not know them.
    """
    if catalog.origins is None:
        given = "languages" if languages is not None else "sources"
        raise InputError(f"{given}: the index has no {given} of names, because its source has none")
    for field, wanted in (("language", languages), ("source", sources)):
        known = catalog.origins.named(field)
        for value in wanted or ():
            if value not in known:
                raise unknown_name(field, value, known)
    return catalog.origins.having(languages, sources)


def _nearest(code: str, codes: Sequence[str]) -> str:
    """The code with the same letters and digits, with or without the prefix; or the one that begins most alike."""
    bare = _bare(code)
    for other in codes:
        if bare and bare in (_bare(other), _bare(other.partition(":")[2])):
            return other
    ordered = sorted(codes)
    at = bisect_left(ordered, code)
    return max(ordered[max(at - 1, 0) : at + 1], key=lambda other: len(commonprefix([code, other])))  # noqa: RUF071  # codes


def _bare(code: str) -> str:
    return "".join(filter(str.isalnum, code)).lower()
