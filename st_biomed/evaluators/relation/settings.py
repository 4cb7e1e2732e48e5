"""Settings of a relation benchmark, with its unrelated pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Unpack

from st_biomed.errors import InputError, unknown_name
from st_biomed.evaluators.base import EvaluatorOptions
from st_biomed.evaluators.data_folder import data_path, open_terminology, source_names
from st_biomed.evaluators.relation.draw import RelationDrawSettings
from st_biomed.evaluators.relation.evaluator import RelationEvaluator
from st_biomed.evaluators.relation.lists import HIPRBERT_28, HIPRBERT_CLINICAL

LISTS: dict[str, Sequence[str] | Mapping[str, Sequence[str]]] = {
    "hiprbert_28": HIPRBERT_28,
    "hiprbert_clinical": HIPRBERT_CLINICAL,
}


@dataclass(frozen=True)
class RelationSettings(RelationDrawSettings):
    """The settings of a relation benchmark.

    Args:
        name: Prefix of the metrics.
        sources: The terminology, see :func:`~st_biomed.evaluators.data_folder.open_terminology`.
        pairs: A file of ``term||term||relation`` lines, in place of a terminology.
        relations: Names of the relations; empty for all with at least ``min_pairs``.
        relation_list: ``"hiprbert_28"`` or ``"hiprbert_clinical"`` in place of names.
        negatives, n_negatives, power, max_pairs, min_pairs, keys, names_per_pair, seed: See
            :class:`~st_biomed.evaluators.relation.draw.RelationDrawSettings`; of a terminology alone.
    """

    name: str
    sources: list[str] = field(default_factory=list)
    pairs: str = ""
    relations: list[str] = field(default_factory=list)
    relation_list: str = ""

    def evaluators(
        self, *, as_published: bool = False, **options: Unpack[EvaluatorOptions]
    ) -> list[RelationEvaluator]:
        """The evaluator; the published scoring is the same.

        Raises:
            InputError: Neither a terminology nor a file, or both; relations in two places; an unknown list; settings
                of the draw with a file; or an error of
                :class:`~st_biomed.evaluators.relation.evaluator.RelationEvaluator`.
        """
        if bool(self.sources) == bool(self.pairs):
            raise InputError(f"{self.name}: expected either a terminology (sources) or a file (pairs) of relations")
        if self.relations and self.relation_list:
            raise InputError(f"{self.name}: relations and relation_list: only one of them may be set")
        if self.relation_list and self.relation_list not in LISTS:
            raise unknown_name("relation_list", self.relation_list, LISTS)
        relations = LISTS[self.relation_list] if self.relation_list else self.relations or None
        options["name"] = self.name
        if self.pairs:
            if drawn := [
                part.name for part in fields(RelationDrawSettings) if getattr(self, part.name) != part.default
            ]:
                raise InputError(f"{self.name}: pairs of a file are not drawn; remove {', '.join(drawn)}")
            named = None if relations is None else list(relations)
            return [RelationEvaluator.from_file(data_path(self.pairs), relations=named, **options)]
        return [RelationEvaluator.from_terminology(open_terminology(self.sources), relations, self, **options)]

    def source_names(self) -> list[str]:
        """The sources of its terminology; none of a file's."""
        return source_names(self.sources)


FAMILY = "relations"
SETTINGS = RelationSettings
