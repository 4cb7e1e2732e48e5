"""The two areas under a precision-recall curve."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from st_biomed.metrics.scores import counts_at_thresholds


def precision_recall_curve(positive: ArrayLike, negative: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Recall and precision at every distinct score in descending order, ``[K + 1]`` both, starting at recall 0,
    precision 1.

    Args:
        positive: Scores of the positives, ``[P]``.
        negative: Scores of the negatives, ``[N]``.

    Raises:
        InputError: An empty class, or NaN.
    """
    hits, false = counts_at_thresholds(positive, negative)
    return np.r_[0.0, hits / hits[-1]], np.r_[1.0, hits / (hits + false)]


def pr_auc(positive: ArrayLike, negative: ArrayLike) -> float:
    """Area under the precision-recall curve by the trapezoid rule.

    The curve starts at precision 1 and recall 0, as in scikit-learn's ``auc(recall, precision)``. Linear interpolation
    overestimates a coarse curve; :func:`average_precision` does not.

    The arguments and errors are those of :func:`precision_recall_curve`.
    """
    recall, precision = precision_recall_curve(positive, negative)
    return float(np.trapezoid(precision, recall))


def average_precision(positive: ArrayLike, negative: ArrayLike) -> float:
    """Mean over the positives of the precision at their score, with ties taken together and no interpolation.

    The arguments and errors are those of :func:`precision_recall_curve`.
    """
    recall, precision = precision_recall_curve(positive, negative)
    return float(np.diff(recall) @ precision[1:])
