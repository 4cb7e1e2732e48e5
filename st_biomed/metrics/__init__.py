"""Numbers from arrays: pure numpy, no model and no text."""

from __future__ import annotations

from st_biomed.metrics.cosine import cosine_of_pairs, unit_rows
from st_biomed.metrics.discrimination import discrimination
from st_biomed.metrics.precision_recall import average_precision, pr_auc
from st_biomed.metrics.ranking import roc_auc, spearman

__all__ = ["average_precision", "cosine_of_pairs", "discrimination", "pr_auc", "roc_auc", "spearman", "unit_rows"]
