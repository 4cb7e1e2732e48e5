"""Training data from a terminology: names, definitions, relation pairs, passages, mentions; and splits of the terminology."""

from __future__ import annotations

from st_biomed.training_data.chosen_sources import texts_of_sources, with_parents_of
from st_biomed.training_data.columns import (
    DEFINITIONS,
    MENTION_PAIRS,
    NAMES,
    RELATIONS,
    SampleKind,
    terminology_digest,
)
from st_biomed.training_data.concept_graph import ConceptGraph
from st_biomed.training_data.definitions import definitions_dataset
from st_biomed.training_data.few_shot import FewShotSplit, few_shot_names
from st_biomed.training_data.held_out_concepts import Splits, split_by_concept, split_by_subtree, without_benchmark
from st_biomed.training_data.held_out_relations import draw_related, without_relations, without_relations_of
from st_biomed.training_data.high_level_concepts import HighLevelConcepts, child_concepts, top_concepts
from st_biomed.training_data.mention_pairs import MentionPairs, mention_pairs
from st_biomed.training_data.names import names_dataset
from st_biomed.training_data.parent_relations import with_parent_relations
from st_biomed.training_data.raw_passages import passages_dataset
from st_biomed.training_data.relation_lookup import RelationLookup
from st_biomed.training_data.relations import relation_pairs

__all__ = [
    "DEFINITIONS",
    "MENTION_PAIRS",
    "NAMES",
    "RELATIONS",
    "ConceptGraph",
    "FewShotSplit",
    "HighLevelConcepts",
    "MentionPairs",
    "RelationLookup",
    "SampleKind",
    "Splits",
    "child_concepts",
    "definitions_dataset",
    "draw_related",
    "few_shot_names",
    "mention_pairs",
    "names_dataset",
    "passages_dataset",
    "relation_pairs",
    "split_by_concept",
    "split_by_subtree",
    "terminology_digest",
    "texts_of_sources",
    "top_concepts",
    "with_parent_relations",
    "with_parents_of",
    "without_benchmark",
    "without_relations",
    "without_relations_of",
]
