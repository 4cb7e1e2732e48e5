"""Recipe arguments for the partners of an anchor of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from st_biomed.errors import InputError
from st_biomed.samplers.hierarchy import HierarchyBatches
from st_biomed.settings.checks import COUNT, LARGEST, SIZE, about, within
from st_biomed.settings.keyword_options import unless_none

if TYPE_CHECKING:
    from st_biomed.hierarchy import Hierarchy


@dataclass
class PartnerArguments:
    """The arguments of :class:`~st_biomed.samplers.HierarchyBatches` (HiPrBERT, section 3.4)."""

    partners: list[int] = field(
        default_factory=lambda: [5, 5, 5, 5],
        metadata=about("number of partners of an anchor at distance 0, 1, 2, ...", SIZE),
    )
    synonym_anchors: float = field(
        default=0.0, metadata=about("minimum share of anchors with a synonym", within("[0, 1]"))
    )
    anchor_repeats: list[str] = field(
        default_factory=list,
        metadata={
            "help": "SOURCE=N: repeat the anchors of a source N times per epoch (the published code: PHECODE=70 CPT_FOREST=10)"
        },
    )
    names_per_partner: int = field(
        default=1, metadata=about("maximum number of names that each draw of a related concept adds to a group", COUNT)
    )

    def partner_batches(self, hierarchy: Hierarchy, folder: Path) -> HierarchyBatches:
        """The batches of anchors and their partners."""
        return HierarchyBatches.of(
            hierarchy,
            folder,
            partners=self.partners,
            synonym_anchors=self.synonym_anchors,
            anchor_repeats=self.repeats_by_source(),
            names_per_partner=self.names_per_partner,
        )

    def repeats_by_source(self) -> dict[str, int]:
        """``anchor_repeats`` as a dictionary.

        Raises:
            InputError: An entry is not ``SOURCE=N``.
        """
        numbers = {}
        for pair in unless_none(self.anchor_repeats):
            source, equals, number = pair.partition("=")
            if not (source and equals and number.isdecimal() and 0 < int(number[:11]) <= LARGEST):
                raise InputError(f"anchor_repeats must have the form SOURCE=N with N from 1, found {pair!r}")
            numbers[source] = int(number)
        return numbers
