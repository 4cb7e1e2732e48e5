"""Recipe arguments for the data of HiPrBERT's parts: their sources, and the size of their batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from datasets import Dataset
from sentence_transformers import SentenceTransformer

from st_biomed.samplers import PairBatches
from st_biomed.settings.checks import about, one_of
from st_biomed.settings.keyword_options import unless_none
from st_biomed.terminology import Terminology
from st_biomed.training.parts import Part, PartArguments
from st_biomed.training_data import names_dataset, texts_of_sources, with_parent_relations, with_parents_of


@dataclass
class SourceArguments(PartArguments):
    """Data of the parts: in the paper, UMLS has no hierarchy (3.1 and 3.3), and the size of a batch counts pairs (4.1)."""

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
    relation_parents: list[str] = field(
        default_factory=list,
        metadata={
            "help": "sources whose parents are relations isa and inverse_isa too, e.g. UMLS for all of its vocabularies; none, the "
            "default, for none (4.2)"
        },
    )
    batch_unit: str = field(
        default="names",
        metadata=about(
            "what the batch size counts for synonyms and the hierarchy: names, or pairs, two names or an anchor and a partner (4.1)",
            one_of("names", "pairs"),
        ),
    )

    def with_relations(self, whole: Terminology) -> Terminology:
        """The terminology with the parents of ``relation_parents`` as relations.

        Raises:
            InputError: A source without a parent.
        """
        return with_parent_relations(whole, unless_none(self.relation_parents))

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

    def part(self, name: str, model: SentenceTransformer, train: Terminology, folder: Path, seed: int) -> Part:
        """As :meth:`PartArguments.part`, with batches of pairs if ``batch_unit`` says so; a relation has them anyway."""
        part = super().part(name, model, train, folder, seed)
        if self.batch_unit == "names" or name == "relations":
            return part
        partners = sum(self.partners)
        group = {"names": 1 + partners, "pairs": partners} if name == "hierarchy" else {"names": 2, "pairs": 1}
        return part._replace(batches=PairBatches.of(part.batches, **group))


def _chosen(sources: list[str]) -> list[str]:
    return [] if sources == ["all"] else sources
