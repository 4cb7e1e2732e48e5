"""The concept lookup of a loss, from its argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

from st_biomed.errors import InputError

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology
    from st_biomed.terminology.lookup import ConceptLookup


def concept_lookup(lookup: ConceptLookup | Terminology | None) -> ConceptLookup | None:
    """The lookup itself, or one made from a terminology.

    Raises:
        InputError: It is neither.
    """
    from st_biomed.terminology import Terminology
    from st_biomed.terminology.lookup import ConceptLookup

    if lookup is None or isinstance(lookup, ConceptLookup):
        return lookup
    if isinstance(lookup, Terminology):
        return ConceptLookup(lookup)
    raise InputError(f"lookup must be a ConceptLookup, a Terminology or None, found {type(lookup).__name__}")
