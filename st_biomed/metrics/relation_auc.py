"""Separation of related and unrelated pairs by scores, for each relation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from st_biomed.errors import InputError
from st_biomed.metrics.ranking import roc_auc
from st_biomed.metrics.relation_resampler import EVERY
from st_biomed.metrics.scores import checked


def relation_metrics(
    positives: Mapping[str, ArrayLike],
    negatives: ArrayLike | Mapping[str, ArrayLike],
    nulls: Mapping[str, ArrayLike] | None = None,
) -> dict[str, float]:
    """``macro_auc``, ``macro_power``, and for each relation ``<relation>/auc``, ``<relation>/n`` and
    ``<relation>/power``.

    ``auc`` is the ROC-AUC of the relation's pairs against the negatives (HiPrBERT, section 4.2), ``n`` the number of
    its pairs, ``power`` :func:`detection_power`; ``macro`` is the unweighted mean over the relations.

    Args:
        positives: Relation to the scores of its pairs, ``[P]`` each.
        negatives: Scores of unrelated pairs, ``[N]`` for all relations, or separately for each relation.
        nulls: Scores of random pairs for each relation, ``[M]`` each; without them there is no power.

    Raises:
        InputError: No relation, a relation without positives, negatives or nulls, or NaN.
    """
    if not positives:
        raise InputError("positives: expected pairs of at least one relation, found none")
    sets = {"negatives": negatives, "nulls": nulls}
    for name, scores in sets.items():
        if isinstance(scores, Mapping) and (without := [relation for relation in positives if relation not in scores]):
            raise InputError(f"{name}: relation {without[0]!r} has none")
    of_relation: dict[str, float] = {}
    for relation, scores in positives.items():
        against = negatives[relation] if isinstance(negatives, Mapping) else negatives
        of_relation[f"{relation}/auc"] = roc_auc(scores, against)
        of_relation[f"{relation}/n"] = float(len(np.asarray(scores)))
        if nulls is not None:
            of_relation[f"{relation}/power"] = detection_power(scores, nulls[relation])
    macro = {
        f"macro_{kind}": float(np.mean([of_relation[f"{relation}/{kind}"] for relation in positives]))
        for kind in ("auc", *(["power"] if nulls is not None else []))
    }
    return macro | of_relation


def relation_rows(
    positives: Mapping[str, ArrayLike],
    negatives: ArrayLike | Mapping[str, ArrayLike],
    pairs: ArrayLike | None = None,
) -> np.ndarray:
    """Rows of :class:`~st_biomed.metrics.Units` with the statistic ``macro_auc``: score, number of the relation, related,
    and number of the pair.

    Args:
        positives: Relation to the scores of its pairs; its position is its number.
        negatives: Scores of unrelated pairs, whose relation is :data:`~st_biomed.metrics.relation_resampler.EVERY`, or separately
            for each relation.
        pairs: Number of each pair ``[N]`` in the order of the rows, from 0 and below 2^53, the same for a pair in either
            direction and in every relation. Without them, no pair is taken to be shared.

    Returns:
        float64 ``[N, 4]``, or ``[N, 3]`` without numbers of the pairs: the pairs of the relations in their order, then the
        unrelated pairs.
    """
    parts = [(scores, number, 1) for number, scores in enumerate(positives.values())]
    if isinstance(negatives, Mapping):
        parts += [(negatives[name], number, 0) for number, name in enumerate(positives)]
    else:
        parts.append((negatives, EVERY, 0))
    columns = [
        np.column_stack([scores, np.full(np.size(scores), number), np.full(np.size(scores), related)])
        for scores, number, related in parts
    ]
    rows = np.concatenate(columns).astype(np.float64)
    return rows if pairs is None else np.column_stack([rows, pairs])


def detection_power(positive: ArrayLike, null: ArrayLike, *, alpha: float = 0.05) -> float:
    """Share of known relationships whose score is significant (cui2vec, Beam et al. 2020).

    A score is significant if it is above the ``1 - alpha`` quantile of the null distribution, interpolated linearly;
    an equal score is not.

    Args:
        positive: Scores of known pairs, ``[P]``.
        null: Scores of random pairs, ``[M]``.
        alpha: Significance level of the one-sided test; the published level by default.

    Raises:
        InputError: An empty side, NaN, or a level outside (0, 1).
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie between 0 and 1, found {alpha}")
    threshold = np.quantile(checked(null, "null scores"), 1 - alpha)
    return float((checked(positive, "positive scores") > threshold).mean())
