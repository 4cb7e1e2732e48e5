"""Metrics on arrays: pure numpy functions, without a model or text."""

from __future__ import annotations

from st_biomed.metrics.clustering_pair import PUBLISHED_THETAS, clustering_pair_metrics, concept_counts
from st_biomed.metrics.cosine import cosine_of_pairs, unit_rows
from st_biomed.metrics.holm import holm
from st_biomed.metrics.link_prediction import (
    KnownTriples,
    Ranks,
    Scorer,
    filtered_ranks,
    rank_metrics,
    rank_triples,
    target_ranks,
)
from st_biomed.metrics.linking import distinct_entries, first_hits, linking_metrics, mention_ranks, share_of_parts
from st_biomed.metrics.linking_gold import Gold, gold_of_mentions
from st_biomed.metrics.mcsm import MCSM, largest_mcsm, mcsm_scores, type_gains, without_self
from st_biomed.metrics.pair_levels import AllPairLevels, GoldPairs, ListedPairLevels, PairLevels
from st_biomed.metrics.precision_recall import average_precision, pr_auc, precision_recall_curve
from st_biomed.metrics.ranking import roc_auc, roc_curve, spearman
from st_biomed.metrics.relation_auc import detection_power, relation_metrics
from st_biomed.metrics.seed_interval import seed_interval
from st_biomed.metrics.significance import Interval, PairedTest, Units, compare_means
from st_biomed.metrics.tree_auc import discrimination, mean_auc
from st_biomed.metrics.units_in_files import load_units, save_units

__all__ = [
    "MCSM",
    "PUBLISHED_THETAS",
    "AllPairLevels",
    "Gold",
    "GoldPairs",
    "Interval",
    "KnownTriples",
    "ListedPairLevels",
    "PairLevels",
    "PairedTest",
    "Ranks",
    "Scorer",
    "Units",
    "average_precision",
    "clustering_pair_metrics",
    "compare_means",
    "concept_counts",
    "cosine_of_pairs",
    "detection_power",
    "discrimination",
    "distinct_entries",
    "filtered_ranks",
    "first_hits",
    "gold_of_mentions",
    "holm",
    "largest_mcsm",
    "linking_metrics",
    "load_units",
    "mcsm_scores",
    "mean_auc",
    "mention_ranks",
    "pr_auc",
    "precision_recall_curve",
    "rank_metrics",
    "rank_triples",
    "relation_metrics",
    "roc_auc",
    "roc_curve",
    "save_units",
    "seed_interval",
    "share_of_parts",
    "spearman",
    "target_ranks",
    "type_gains",
    "unit_rows",
    "without_self",
]
