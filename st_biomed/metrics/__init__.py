"""Numbers from arrays: pure numpy, no model and no text."""

from __future__ import annotations

from st_biomed.metrics.bootstrap import Interval, PairedTest, bootstrap_interval, paired_test
from st_biomed.metrics.cosine import cosine_of_pairs, unit_rows
from st_biomed.metrics.discrimination import discrimination
from st_biomed.metrics.linking import distinct_entries, first_hits, linking_metrics, mention_ranks, share_of_parts
from st_biomed.metrics.linking_gold import Gold, gold_of_mentions
from st_biomed.metrics.precision_recall import average_precision, pr_auc
from st_biomed.metrics.ranking import roc_auc, spearman

__all__ = [
    "Gold",
    "Interval",
    "PairedTest",
    "average_precision",
    "bootstrap_interval",
    "cosine_of_pairs",
    "discrimination",
    "distinct_entries",
    "first_hits",
    "gold_of_mentions",
    "linking_metrics",
    "mention_ranks",
    "paired_test",
    "pr_auc",
    "roc_auc",
    "share_of_parts",
    "spearman",
    "unit_rows",
]
