"""Evaluators embed texts and return metrics. They are imported on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from st_biomed.evaluators.base import EmbeddingEvaluator as EmbeddingEvaluator
    from st_biomed.evaluators.clustering_pair.evaluator import ClusteringPairEvaluator as ClusteringPairEvaluator
    from st_biomed.evaluators.embedders import model_embedder as model_embedder
    from st_biomed.evaluators.embedders import table_embedder as table_embedder
    from st_biomed.evaluators.entity_linking.evaluator import EntityLinkingEvaluator as EntityLinkingEvaluator
    from st_biomed.evaluators.entity_linking.folds import FoldsEvaluator as FoldsEvaluator
    from st_biomed.evaluators.entity_linking.predictions import LinkingPredictions as LinkingPredictions
    from st_biomed.evaluators.link_prediction.evaluator import LinkPredictionEvaluator as LinkPredictionEvaluator
    from st_biomed.evaluators.mcsm.evaluator import MCSMEvaluator as MCSMEvaluator
    from st_biomed.evaluators.relatedness.evaluator import RelatednessEvaluator as RelatednessEvaluator
    from st_biomed.evaluators.relation.draw import RelationDrawSettings as RelationDrawSettings
    from st_biomed.evaluators.relation.draw import draw_relation_pairs as draw_relation_pairs
    from st_biomed.evaluators.relation.evaluator import RelationEvaluator as RelationEvaluator
    from st_biomed.evaluators.shared_embedding import SharedEvaluator as SharedEvaluator
    from st_biomed.evaluators.terminal_table import metrics_table as metrics_table
    from st_biomed.evaluators.tree.evaluator import TreeEvaluator as TreeEvaluator
    from st_biomed.evaluators.tree.pairs import draw_pairs as draw_pairs
    from st_biomed.evaluators.vector_scorer import scorer_from_vectors as scorer_from_vectors

_HOME = {
    "ClusteringPairEvaluator": "clustering_pair.evaluator",
    "EmbeddingEvaluator": "base",
    "EntityLinkingEvaluator": "entity_linking.evaluator",
    "FoldsEvaluator": "entity_linking.folds",
    "LinkPredictionEvaluator": "link_prediction.evaluator",
    "LinkingPredictions": "entity_linking.predictions",
    "MCSMEvaluator": "mcsm.evaluator",
    "RelatednessEvaluator": "relatedness.evaluator",
    "RelationDrawSettings": "relation.draw",
    "RelationEvaluator": "relation.evaluator",
    "SharedEvaluator": "shared_embedding",
    "TreeEvaluator": "tree.evaluator",
    "draw_pairs": "tree.pairs",
    "draw_relation_pairs": "relation.draw",
    "metrics_table": "terminal_table",
    "model_embedder": "embedders",
    "scorer_from_vectors": "vector_scorer",
    "table_embedder": "embedders",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(sorted(_HOME))}")


def __dir__() -> list[str]:
    return sorted(__all__)
