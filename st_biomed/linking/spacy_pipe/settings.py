"""The settings of the spaCy component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, get_args

from st_biomed.errors import InputError, check_integer, check_several, unknown_name
from st_biomed.linking.spacy_pipe.mentions import Abbreviations

if TYPE_CHECKING:
    from st_biomed.linking.concept_index import ConceptIndex


@dataclass(frozen=True)
class Settings:
    """What a linker does.

    Attributes:
        k: Maximum number of concepts of an entity.
        threshold: Minimum score of the best concept for ``kb_id_``; ``None`` sets it on every entity.
        conditions: Conditions on the concepts by name, see :class:`~st_biomed.linking.Conditions`.
        labels: Only entities with one of these labels are linked; by default all. Names that are found are linked in
            any case.
        find_names: Whether to find names of the index in the text and add them as entities.
        label: Label of the entities that are added.
        abbreviations: ``detected``: short forms are replaced where a detector has left ``doc._.abbreviations``;
            ``defined``: also where the document defines them (Schwartz and Hearst, PSB 2003); ``none``: never. Of
            several definitions of a short form, the last one before the end of the entity counts, or else the first.

    Raises:
        InputError: A value out of range, an unknown name, or a label without ``find_names``.
    """

    k: int = 5
    threshold: float | None = None
    conditions: Mapping[str, Any] = field(default_factory=dict)
    labels: Sequence[str] = ()
    find_names: bool = False
    label: str = "CONCEPT"
    abbreviations: Abbreviations = "detected"

    def __post_init__(self) -> None:
        check_integer("k", self.k)
        if self.threshold is not None and not (isinstance(self.threshold, int | float) and isfinite(self.threshold)):
            raise InputError(f"threshold: expected a number or None, found {self.threshold!r}")
        check_several("labels", self.labels, "labels of entities")
        if self.abbreviations not in get_args(Abbreviations):
            raise unknown_name("abbreviations", self.abbreviations, get_args(Abbreviations))
        if not self.label:
            raise InputError("label: expected a name, found ''")
        if self.label != "CONCEPT" and not self.find_names:
            raise InputError(
                "label: is that of the names that find_names adds; set find_names to true, or remove label"
            )

    def takes(self, label: str) -> bool:
        """Whether entities with this label are linked."""
        return not self.labels or label in self.labels or (self.find_names and label == self.label)

    def check(self, index: ConceptIndex) -> None:
        """Check what depends on the index.

        Raises:
            InputError: Conditions that the index does not know, or a threshold that is no cosine.
        """
        index.check(**self.conditions)
        if self.threshold is not None and index.manifest.similarity == "cosine" and not -1 <= self.threshold <= 1:
            raise InputError(f"threshold {self.threshold:g}: the scores of {index.folder} are cosines, from -1 to 1")
