"""Recipe arguments for the distances of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from st_biomed.errors import InputError
from st_biomed.hierarchy import DISTANCES, Hierarchy
from st_biomed.hierarchy.kinships import KINSHIPS
from st_biomed.hierarchy.level_functions import LEVEL_FUNCTIONS, largest_split
from st_biomed.settings.checks import COUNT, about, one_of
from st_biomed.settings.keyword_options import unless_none
from st_biomed.terminology import Terminology


@dataclass
class DistanceArguments:
    """The arguments of :class:`~st_biomed.hierarchy.Hierarchy` (HiPrBERT, section 3.3)."""

    distance: str = field(
        default="sibling_parent",
        metadata=about("sibling_parent (3.3), lca_depth, decimals or hops", one_of(*DISTANCES)),
    )
    source_distances: list[str] = field(
        default_factory=list,
        metadata={
            "help": "SOURCE=DISTANCE: another distance for the parents of a source (the published code: PHECODE=decimals)"
        },
    )
    levels: list[str] = field(
        default_factory=lambda: ["sibling", "parent_child"],
        metadata=about(
            "kinships from near to far, for sibling_parent (3.3; section 5 has more of them)",
            one_of(*KINSHIPS, called="kinship"),
        ),
    )
    max_distance: int | None = field(
        default=None, metadata=about("largest distance of lca_depth, decimals and hops; 3 by default", COUNT)
    )
    level_function: str = field(
        default="none",
        metadata=about(
            "two levels for each distance, a nearer one for deep pairs: none, depth, or hierarchy for the depth in the "
            "pair's own hierarchy (section 5)",
            one_of("none", *LEVEL_FUNCTIONS),
        ),
    )

    def hierarchy(self, terminology: Terminology, **changed: Any) -> Hierarchy:
        """The distances of a terminology before any level function, which are measured and decide the partners;
        ``changed`` are arguments of :class:`~st_biomed.hierarchy.Hierarchy` in place of those here.

        Raises:
            InputError: An error of :class:`~st_biomed.hierarchy.Hierarchy`.
        """
        own = {"source_distances": self.distance_type_of_source(), "max_distance": self.max_distance}
        return Hierarchy(terminology, self.distance, levels=self.levels, **{**own, **changed})

    def trained_hierarchy(self, terminology: Terminology) -> Hierarchy:
        """The distances in a batch, see :mod:`~st_biomed.hierarchy.level_functions`.

        Raises:
            InputError: As of :meth:`hierarchy`, and of :meth:`check_distances`.
        """
        self.check_distances()
        if self.level_function == "none":
            return self.hierarchy(terminology)
        largest = None if self.max_distance is None else largest_split(self.max_distance)
        return self.hierarchy(terminology, max_distance=largest, level_function=LEVEL_FUNCTIONS[self.level_function])

    def check_distances(self) -> None:
        """Raise InputError if the distances do not fit each other, before anything is read.

        Raises:
            InputError: An entry of ``source_distances`` is malformed, or ``max_distance`` does not fit ``levels`` or
                ``level_function``.
        """
        own, far = self.distance_type_of_source(), len(self.levels) + 1
        if self.distance == "sibling_parent" and not own and self.max_distance not in (None, far):
            raise InputError(f"max_distance follows from levels ({far}) for sibling_parent, found {self.max_distance}")
        if self.level_function != "none" and largest_split(self.max_distance or far) > 127:
            raise InputError(f"max_distance must be at most 64 with level_function, found {self.max_distance}")

    def distance_type_of_source(self) -> dict[str, str]:
        """``source_distances`` as a dictionary.

        Raises:
            InputError: An entry is not ``SOURCE=DISTANCE``.
        """
        found = {}
        for pair in unless_none(self.source_distances):
            source, equals, definition = pair.partition("=")
            if not (source and equals and definition in DISTANCES):
                raise InputError(
                    f"source_distances must have the form SOURCE=DISTANCE with {', '.join(DISTANCES)}, found {pair!r}"
                )
            found[source] = definition
        return found
