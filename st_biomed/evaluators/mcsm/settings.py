"""Settings of an MCSM benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

from st_biomed.errors import InputError
from st_biomed.evaluators.base import EvaluatorOptions
from st_biomed.evaluators.data_folder import data_path, open_terminology, source_names
from st_biomed.evaluators.mcsm.evaluator import MCSMEvaluator
from st_biomed.hierarchy import Hierarchy
from st_biomed.hierarchy.concept_types import ConceptTypes

if TYPE_CHECKING:
    from st_biomed.terminology import Terminology


@dataclass(frozen=True)
class MCSMSettings:
    """The settings of an MCSM benchmark.

    Args:
        name: Prefix of the metrics.
        sources: The terminology, see :func:`~st_biomed.evaluators.data_folder.open_terminology`.
        languages: Only terms of these languages; empty for all.
        below: Codes of roots: these and all concepts below them are measured; empty for all concepts.
        types: A table of concepts and types (columns ``code`` and ``type``), in place of the terminology's own types.
        branches: Codes whose branches are the types.
        children_of: Code of a concept whose children's branches are the types.
        groups, only_types, least_concepts, last_type_only: See :meth:`ConceptTypes.select`.
        keep_untyped, k: See :class:`MCSMEvaluator`.
        keys: ``"names"``, or ``"codes"`` for a matrix by codes.
    """

    name: str
    sources: list[str]
    languages: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    types: str = ""
    branches: list[str] = field(default_factory=list)
    children_of: str = ""
    groups: str = ""
    only_types: list[str] = field(default_factory=list)
    least_concepts: int = 1
    last_type_only: bool = False
    keep_untyped: bool = False
    k: int = 40
    keys: str = "names"

    def evaluators(self, *, as_published: bool = False, **options: Unpack[EvaluatorOptions]) -> list[MCSMEvaluator]:
        """The evaluator; as published (CODER's script), it uses only the last type of a concept.

        Raises:
            InputError: Types from several places, or an error of :meth:`MCSMEvaluator.from_terminology`.
        """
        if sum(map(bool, (self.types, self.branches, self.children_of))) > 1:
            raise InputError(f"{self.name}: types, branches and children_of: only one of them may be set")
        whole = terminology = open_terminology(self.sources)
        if self.below or self.languages:
            terminology = whole.subset(below=self.below or None, languages=self.languages or None)
        types, labels = None, {}
        if self.types:
            types = ConceptTypes.from_file(data_path(self.types))
        elif self.branches or self.children_of:
            types = ConceptTypes.from_branches(
                Hierarchy(whole), self.branches or None, children_of=self.children_of or None
            )
            labels = _labels(whole, types.names)
        options["name"] = self.name
        evaluator = MCSMEvaluator.from_terminology(
            terminology,
            types,
            groups=self.groups or None,
            only_types=self.only_types or None,
            least_concepts=self.least_concepts,
            last_type_only=self.last_type_only or as_published,
            keep_untyped=self.keep_untyped,
            keys=self.keys,
            k=self.k,
            labels=labels,
            **options,
        )
        return [evaluator]

    def source_names(self) -> list[str]:
        """The sources of its terminology."""
        return source_names(self.sources)


def _labels(terminology: Terminology, codes: Sequence[str]) -> dict[str, str]:
    """Preferred name and code of the concepts that are types; none where a name may not be passed on."""
    if not all(source.redistributable for source in terminology.sources.values()):
        return {}
    row = {code: i for i, code in enumerate(terminology.codes)}
    texts, strings = terminology.preferred_texts, terminology.strings
    named = [code for code in codes if code in row and texts[row[code]] >= 0]
    return {code: f"{strings[int(texts[row[code]])]} ({code})" for code in named}


FAMILY = "types"
SETTINGS = MCSMSettings
