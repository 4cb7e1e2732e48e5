"""Discrimination of ordinal classes by a score."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from st_biomed.errors import InputError
from st_biomed.metrics.precision_recall import average_precision, pr_auc
from st_biomed.metrics.ranking import roc_auc, spearman


def discrimination(scores: np.ndarray, distances: np.ndarray) -> dict[str, float]:
    """Metrics for every pair of distances, and for all distances at once (HiPrBERT, section 4.2).

    For distances i < j: ``auc_ivj`` (ROC-AUC), ``pr_auc_ivj`` (trapezoid), ``ap_ivj`` (average precision) and
    ``spearman_ivj``, each with the items at i as positives. ``mean_auc`` is the mean of the ROC-AUCs,
    ``spearman_global`` the rank correlation of the score with minus the distance.

    Args:
        scores: Scores, higher for nearer, ``[N]``.
        distances: Integers, ``[N]``.

    Returns:
        The metrics, beginning with the AUCs; empty if there are fewer than two distances.

    Raises:
        InputError: NaN among the scores, or arrays of different lengths.
    """
    duels = _duels(scores, distances)
    if not duels:
        return {}
    metrics = {f"auc_{duel}": roc_auc(near, far) for duel, near, far in duels}
    metrics["mean_auc"] = float(np.mean(list(metrics.values())))
    metrics["spearman_global"] = spearman(-distances.astype(np.int64), scores)
    for duel, near, far in duels:
        is_near = np.repeat([1, 0], [len(near), len(far)])
        metrics[f"pr_auc_{duel}"] = pr_auc(near, far)
        metrics[f"ap_{duel}"] = average_precision(near, far)
        metrics[f"spearman_{duel}"] = spearman(is_near, np.concatenate([near, far]))
    return metrics


def mean_auc(scores: np.ndarray, distances: np.ndarray) -> float:
    """Only the ``mean_auc`` of :func:`discrimination`; 0.5 if there are fewer than two distances.

    Raises:
        InputError: NaN among the scores.
    """
    aucs = [roc_auc(near, far) for _, near, far in _duels(scores, distances)]
    return float(np.mean(aucs)) if aucs else 0.5


def _duels(scores: np.ndarray, distances: np.ndarray) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Scores at each two distances i < j, and what the two are called."""
    if np.shape(scores) != np.shape(distances):
        raise InputError(f"distances: expected one for each of {len(scores):,} scores, found {len(distances):,}")
    at = {int(distance): scores[distances == distance] for distance in np.unique(distances)}
    return [(f"{i}v{j}", at[i], at[j]) for i, j in combinations(at, 2)]
