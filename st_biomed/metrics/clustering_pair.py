"""Clustering pairs (CODER++): are two terms similar if and only if they name the same concept?

Every figure follows from the numbers of pairs and of gold pairs at each level of similarity.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.metrics.pair_levels import STEPS, TOP, ZERO, GoldPairs, PairLevels, floor_of

PUBLISHED_THETAS = tuple(hundredths / 100 for hundredths in range(98, 58, -2))
"""0.98, 0.96, ..., 0.60: the thresholds in the evaluation script of CODER++."""


def clustering_pair_metrics(levels: PairLevels, thetas: Sequence[float] | None = None) -> dict[str, float]:
    """F1 of "two terms name one concept if their cosine is above theta", and the areas under its curve (CODER++).

    Without ``thetas`` the F1 is the best over all thresholds. Only the similarities of gold pairs are tried. With TP
    gold pairs among P predicted pairs and G gold pairs in total, F1 is ``2 TP / (P + G)``. Between the similarities of
    two gold pairs a lower threshold only increases P, so the best set of pairs ends with a gold pair. Among several
    best thresholds the highest is used, which predicts the fewest pairs. The returned theta is one step of the grid
    below the last predicted pair; used again as the only threshold, it predicts the same pairs.

    Metrics: ``f1``, ``precision`` (0 if no pair is predicted), ``recall``, ``theta``; ``pr_auc`` by the trapezoid rule
    from precision 1 at recall 0, and ``average_precision``, as in :mod:`st_biomed.metrics.precision_recall`, over all
    thresholds with ties taken together; ``recall_ceiling``, the share of gold pairs that are examined, where the curve
    ends; ``n_terms``, ``n_gold_pairs`` and ``n_predicted``.

    Args:
        thetas: Thresholds to choose from; a single one is a threshold from other data. ``None`` for all thresholds.

    Raises:
        InputError: No gold pair, no threshold, or a threshold that is not between -1 and 1.
    """
    n_gold = len(levels.gold)
    if not n_gold:
        raise InputError("concepts: no two terms share a concept; at least one such pair is needed")
    gold = np.bincount(levels.gold, minlength=TOP + 1)
    gold[0] = 0
    above, right = (np.append(np.cumsum(counts[::-1])[::-1][1:], 0) for counts in (levels.counts, gold))
    if thetas is None:
        thetas = ((np.append(TOP, np.flatnonzero(gold)[::-1] - 1) - ZERO) / STEPS).tolist()
    if not len(thetas):
        raise InputError("thetas: expected at least one threshold, found none")
    thetas = sorted(thetas, reverse=True)
    floors = np.array([floor_of(theta) for theta in thetas])
    f1 = 2 * right[floors] / (above[floors] + n_gold)
    best = int(f1.argmax())
    n_right, n_predicted = int(right[floors[best]]), int(above[floors[best]])
    with_pairs = np.flatnonzero(levels.counts)[::-1]  # the curve has a point at every level that has a pair
    hits = np.cumsum(gold[with_pairs])
    precision, recall = np.r_[1.0, hits / np.cumsum(levels.counts[with_pairs])], np.r_[0.0, hits / n_gold]
    return {
        "f1": float(f1[best]),
        "precision": n_right / max(n_predicted, 1),
        "recall": n_right / n_gold,
        "theta": float(thetas[best]),
        "pr_auc": float(np.trapezoid(precision, recall)),
        "average_precision": float(np.diff(recall) @ precision[1:]),
        "recall_ceiling": float((levels.gold > 0).mean()),
        "n_terms": float(levels.n_terms),
        "n_gold_pairs": float(n_gold),
        "n_predicted": float(n_predicted),
    }


def concept_counts(levels: PairLevels, gold: GoldPairs, concepts: CSR, theta: float) -> np.ndarray:
    """The shares of each concept in the true positive, predicted and gold pairs; their sums over concepts are the
    totals.

    A gold pair is divided evenly among the shared concepts of its terms. One half of a false pair goes to each term,
    divided evenly among the concepts of that term.

    Args:
        concepts: Concepts 0..C-1 of each term, at least one.

    Returns:
        float64 ``[C, 3]``, rows of :class:`~st_biomed.metrics.Units` with the statistic ``f1``.
    """
    floor = floor_of(theta)
    n_concepts = int(concepts.indices.max()) + 1
    hit = levels.gold > floor
    share = (1 / np.bincount(gold.pair))[gold.pair]
    wanted = np.bincount(gold.concept, weights=share, minlength=n_concepts)
    right = np.bincount(gold.concept, weights=share * hit[gold.pair], minlength=n_concepts)
    ends = np.concatenate([gold.left[hit], gold.right[hit]])
    false = (levels.degrees(floor) - np.bincount(ends, minlength=levels.n_terms)) / (2 * concepts.counts)
    wrong = np.bincount(concepts.indices, weights=np.repeat(false, concepts.counts), minlength=n_concepts)
    return np.stack([right, right + wrong, wanted], axis=1)
