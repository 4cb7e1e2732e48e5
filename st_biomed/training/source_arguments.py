"""Recipe arguments for the sources that give the hierarchy, and those that give the synonyms."""

from __future__ import annotations

from dataclasses import dataclass, field

from datasets import Dataset

from st_biomed.terminology import Terminology
from st_biomed.training.parts import PartArguments
from st_biomed.training_data import names_dataset, texts_of_sources, with_parents_of


@dataclass
class SourceArguments(PartArguments):
    """Sources of the parts: in the paper, UMLS has no hierarchy, and the hierarchies are few (HiPrBERT, 3.1 and 3.3)."""

    hierarchy_sources: list[str] = field(
        default_factory=list,
        metadata={
            "help": "sources whose parents form the hierarchy, e.g. PHECODE LOINC; all, the default, for all (3.1)"
        },
    )
    synonym_sources: list[str] = field(
        default_factory=list,
        metadata={
            "help": "sources whose names are trained as synonyms, e.g. UMLS for all of its vocabularies; all, the default, for all"
        },
    )

    def with_hierarchy(self, whole: Terminology) -> Terminology:
        """The terminology with the parents of ``hierarchy_sources`` alone.

        Raises:
            InputError: A source without a parent.
        """
        return with_parents_of(whole, _chosen(self.hierarchy_sources))

    def synonym_rows(self, train: Terminology) -> Dataset:
        """As :meth:`PartArguments.synonym_rows`, with the names of ``synonym_sources`` alone.

        Raises:
            InputError: A source without a name.
        """
        sources = _chosen(self.synonym_sources)
        return names_dataset(train, texts_of_sources(train, sources) if sources else None)


def _chosen(sources: list[str]) -> list[str]:
    return [] if sources == ["all"] else sources
