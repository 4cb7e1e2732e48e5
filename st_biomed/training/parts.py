"""The parts of a training on a terminology: synonyms, definitions, relations and the hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from inspect import get_annotations
from pathlib import Path
from typing import Any, NamedTuple

from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from torch import nn

from st_biomed.errors import InputError, unknown_name
from st_biomed.losses.cached import CachedInfoNCELoss, cached_if
from st_biomed.losses.distilled import LabelMap
from st_biomed.losses.info_nce import InfoNCELoss
from st_biomed.losses.multi_similarity_arguments import MultiSimilarityArguments
from st_biomed.samplers import BatchesByName, RankAlignedMixing, ShuffledBatches, SynonymBatches, TrainingBatches
from st_biomed.samplers.definitions import DefinitionBatches
from st_biomed.settings.checks import COUNT, about, above, at_least, check_unused, within
from st_biomed.terminology import Terminology
from st_biomed.terminology.definition_lookup import DefinitionLookup
from st_biomed.training.arguments import EncoderArguments
from st_biomed.training.distance_arguments import DistanceArguments
from st_biomed.training.hierarchy_arguments import HierarchyArguments
from st_biomed.training_data import RelationLookup, definitions_dataset, names_dataset, relation_pairs


class Part(NamedTuple):
    """The rows, the loss and the batches of one part of a training.

    Attributes:
        rows: The training dataset.
        loss: The loss of its batches.
        batches: How rows are grouped into batches.
        texts_of: Maps labels to text ids; ``None`` if the labels are text ids.
    """

    rows: Dataset
    loss: nn.Module
    batches: TrainingBatches
    texts_of: LabelMap | None = None


@dataclass
class DefinitionArguments(EncoderArguments):
    """Settings of the training on names and definitions of their concepts."""

    definition_temperature: float = field(
        default=0.05, metadata=about("temperature of InfoNCE between names and definitions", above(0))
    )
    siblings: float = field(
        default=0.25,
        metadata=about("share of siblings in a batch of definitions; they are hard negatives", within("[0, 1)")),
    )

    def definitions(self, model: SentenceTransformer, train: Terminology, folder: Path) -> Part:
        """The part of names and definitions, with InfoNCE over all texts of a batch.

        Args:
            model: The encoder.
            train: The training terminology.
            folder: The folder in which it is saved.

        Raises:
            InputError: The terminology has no definition.
        """
        loss = self.info_nce(model, self.definition_temperature, DefinitionLookup(train))
        return Part(definitions_dataset(train), loss, DefinitionBatches.of(train, folder, siblings=self.siblings))

    def info_nce(
        self, model: SentenceTransformer, temperature: float, lookup: Terminology | DefinitionLookup
    ) -> nn.Module:
        """InfoNCE over all texts of a batch, without mining.

        Args:
            model: The encoder.
            temperature: The divisor of the cosines.
            lookup: Determines the labels that belong together.
        """
        loss = cached_if(self.mini_batch_size, InfoNCELoss, CachedInfoNCELoss)
        return loss(model, temperature, miner=None, lookup=lookup, gather_across_devices=self.gather_across_devices)


@dataclass
class PartArguments(HierarchyArguments, MultiSimilarityArguments, DistanceArguments, EncoderArguments):
    """Settings of each part of a training. Section numbers refer to the HiPrBERT paper."""

    shared_concept_negatives: bool = field(
        default=False, metadata={"help": "relation pairs that share a concept are negatives, as in the published code"}
    )
    mixing_temperature: float = field(
        default=1.0,
        metadata=about(
            "temperature of mixing the parts: 1 is proportional to size, larger values are more even", at_least(1)
        ),
    )
    max_pairs_per_concept: int = field(default=50, metadata=about("synonym pairs per concept and epoch", COUNT))

    def options_of_parts(self) -> dict[str, tuple[str, ...]]:
        """Name of a part to the options that it alone reads."""
        hierarchy = [option.name for option in fields(HierarchyArguments)]
        return {
            "synonyms": ("synonym_preset", "max_pairs_per_concept"),
            "hierarchy": (*hierarchy, "level_function"),
            "relations": ("relation_preset", "shared_concept_negatives"),
        }

    def check_options_of_parts(self, parts: Sequence[str]) -> None:
        """Raise InputError if an option is given, and its part is not among those to train on, or as ``check_groups``."""
        if "hierarchy" in parts:
            self.check_groups()
        for part, options in self.options_of_parts().items():
            if part not in parts:
                check_unused(self, options, f"parts {' '.join(parts)}", by=("parts",))
        if not {"synonyms", "relations"} & set(parts):
            check_unused(self, ("margin", "mining", "mine"), f"parts {' '.join(parts)}", by=("parts",))
        if len(parts) == 1:
            check_unused(self, ("mixing_temperature",), f"one part, {parts[0]}", by=("parts",))

    def part(self, name: str, model: SentenceTransformer, train: Terminology, folder: Path, seed: int) -> Part:
        """The rows, the loss and the batches of a part.

        Args:
            name: ``synonyms``, ``relations`` or ``hierarchy``.
            model: The encoder.
            train: The training terminology.
            folder: The folder in which it is saved.
            seed: Seed of the relation pairs, which are drawn once.
        """
        if name == "synonyms":
            return self._synonyms(model, train, folder)
        return self._hierarchy(model, train, folder) if name == "hierarchy" else self._relations(model, train, seed)

    def mix(self, training: SentenceTransformerTrainingArguments, parts: Mapping[str, Part]) -> None:
        """Set the batch samplers of the trainer, so that one run takes the batches of all parts."""
        training.batch_sampler = BatchesByName({name: part.batches for name, part in parts.items()})
        training.multi_dataset_batch_sampler = RankAlignedMixing(temperature=self.mixing_temperature)

    def synonym_rows(self, train: Terminology) -> Dataset:
        """The names that are trained as synonyms."""
        return names_dataset(train)

    def synonym_batches(self, train: Terminology, folder: Path, rows: Dataset) -> TrainingBatches:
        """The batches of synonym pairs.

        Args:
            train: The training terminology.
            folder: The folder in which it is saved.
            rows: The names.
        """
        return SynonymBatches.of(train, folder, dataset=rows, max_pairs_per_concept=self.max_pairs_per_concept)

    def synonym_loss(self, model: SentenceTransformer, train: Terminology) -> nn.Module:
        """The loss of the synonyms.

        Args:
            model: The encoder.
            train: The training terminology.
        """
        return self.multi_similarity(model, self.synonym_preset, train, **self.embedding())

    def relation_rows(self, train: Terminology, seed: int) -> Dataset:
        """Pairs of names of related concepts, drawn once with a seed."""
        return relation_pairs(train, seed=seed)

    def _synonyms(self, model: SentenceTransformer, train: Terminology, folder: Path) -> Part:
        """Names of one concept against names of other concepts (3.4, 3.5)."""
        rows, loss = self.synonym_rows(train), self.synonym_loss(model, train)
        return Part(rows, loss, self.synonym_batches(train, folder, rows))

    def _relations(self, model: SentenceTransformer, train: Terminology, seed: int) -> Part:
        """Names of related concepts against mined names of other pairs ("We do the same for UMLS relational data", 3.4)."""
        lookup = RelationLookup(train, shared_concept_negatives=self.shared_concept_negatives)
        loss = self.multi_similarity(model, self.relation_preset, lookup, **self.embedding())
        pairs = self.relation_rows(train, seed)
        return Part(pairs, loss, ShuffledBatches.of(pairs), lookup.texts)

    def _hierarchy(self, model: SentenceTransformer, train: Terminology, folder: Path) -> Part:
        """Anchors and their partners at every distance (3.4), with the ordinal loss (3.5)."""
        hierarchy = self.trained_hierarchy(train)
        loss = self.ordinal_loss(model, hierarchy, **self.embedding())
        return Part(names_dataset(train), loss, self.partner_batches(hierarchy, folder))


@dataclass
class MixedPartArguments(DefinitionArguments, PartArguments):
    """Settings of a training in parts with fixed shares; definitions are an additional part."""

    shares: list[float] = field(
        default_factory=list,
        metadata=about(
            "share of the steps of each part, in the order of the parts; proportional to size by default", above(0)
        ),
    )
    synonym_temperature: float | None = field(
        default=None,
        metadata=about(
            "temperature of InfoNCE over all names of a batch, in place of the loss of synonym_preset", above(0)
        ),
    )
    pivot_language: str | None = field(
        default=None,
        metadata={"help": "make pairs within each language and between it and this one, e.g. en; empty: all pairs"},
    )

    def check_shares(self, parts: list[str]) -> None:
        """Raise InputError if the shares do not fit the parts.

        Args:
            parts: Names of the parts.

        Raises:
            InputError: The number of shares is not the number of parts, or a mixing temperature is set in addition to shares.
        """
        if self.shares and (len(self.shares) != len(parts) or self.mixing_temperature != 1):
            raise InputError(
                f"shares: one for each of {' '.join(parts)} is needed, and no mixing_temperature; found {len(self.shares)}"
            )

    relations: list[str] = field(
        default_factory=list, metadata={"help": "names of the relations to train on; all by default"}
    )

    def options_of_parts(self) -> dict[str, tuple[str, ...]]:
        """As :meth:`PartArguments.options_of_parts`; the benchmarks have distances of their own."""
        of = super().options_of_parts()
        return {
            "synonyms": (*of["synonyms"], "synonym_temperature", "pivot_language"),
            "hierarchy": (*of["hierarchy"], *(option.name for option in fields(DistanceArguments))),
            "relations": (*of["relations"], "relations"),
            "definitions": tuple(get_annotations(DefinitionArguments)),
        }

    def check_options_of_parts(self, parts: Sequence[str]) -> None:
        """As :meth:`PartArguments.check_options_of_parts`, and options of a preset that InfoNCE replaces."""
        super().check_options_of_parts(parts)
        if self.synonym_temperature is not None:
            miner = () if "relations" in parts else ("margin", "mining", "mine")
            where = f"synonym_temperature {self.synonym_temperature:g}"
            check_unused(self, ("synonym_preset", *miner), where, by=("synonym_temperature", "parts"))

    def part(self, name: str, model: SentenceTransformer, train: Terminology, folder: Path, seed: int) -> Part:
        """As :meth:`PartArguments.part`, with the additional part ``definitions``."""
        if name == "definitions":
            return self.definitions(model, train, folder)
        return super().part(name, model, train, folder, seed)

    def synonym_batches(self, train: Terminology, folder: Path, rows: Dataset) -> TrainingBatches:
        """As :meth:`PartArguments.synonym_batches`, with the pivot language."""
        plan: dict[str, Any] = {
            "max_pairs_per_concept": self.max_pairs_per_concept,
            "pivot_language": self.pivot_language or None,
        }
        return SynonymBatches.of(train, folder, dataset=rows, **plan)

    def synonym_loss(self, model: SentenceTransformer, train: Terminology) -> nn.Module:
        """As :meth:`PartArguments.synonym_loss`, or InfoNCE if it has a temperature."""
        if self.synonym_temperature is None:
            return super().synonym_loss(model, train)
        return self.info_nce(model, self.synonym_temperature, train)

    def relation_rows(self, train: Terminology, seed: int) -> Dataset:
        """As :meth:`PartArguments.relation_rows`, for the selected relations."""
        return relation_pairs(train, self.relations or None, seed=seed)

    def mix(self, training: SentenceTransformerTrainingArguments, parts: Mapping[str, Part]) -> None:
        """As :meth:`PartArguments.mix`, with the given shares."""
        super().mix(training, parts)
        if self.shares:
            training.multi_dataset_batch_sampler = RankAlignedMixing(shares=tuple(self.shares))


def check_parts(terminology: Sequence[str], parts: Sequence[str], known: Sequence[str]) -> None:
    """Raise InputError if the terminology or the parts are invalid.

    Args:
        terminology: Sources of the terminology.
        parts: Names of the parts to train on.
        known: Names of all parts.

    Raises:
        InputError: One of the two lists is empty or has an entry twice, or a part is unknown.
    """
    for name, values in (("terminology", terminology), ("parts", parts)):
        if not values or len(set(values)) < len(values):
            raise InputError(f"{name}: one or several different ones are needed, found {' '.join(values) or 'none'}")
    for part in parts:
        if part not in known:
            raise unknown_name("part", part, known)
