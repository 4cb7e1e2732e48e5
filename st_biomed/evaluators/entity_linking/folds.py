"""Linking over the folds of a cross-validation: the mean of the folds' figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from scipy.linalg import block_diag

from st_biomed.errors import InputError
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluationResult, EvaluatorOptions
from st_biomed.evaluators.embedders import Embed, EmbedOnce
from st_biomed.evaluators.entity_linking.evaluator import EntityLinkingEvaluator
from st_biomed.metrics.significance import Units

_UNSET = (None, False, None, "float32")
"""The embedding options of a fold that was given none."""


class FoldsEvaluator(EmbeddingEvaluator):
    """Mean over folds of the metrics of :class:`~st_biomed.evaluators.EntityLinkingEvaluator` (CADEC, PsyTAR).

    Counts (``n_...`` and ``concept_unsettled``) are sums. The units are the mentions, each in its fold, or their documents. A
    mention that several folds measure is drawn in all of them at once. Every fold has the same weight, regardless of its
    number of mentions.

    Args:
        folds: The evaluator of each fold, with the same ``ks`` and ``by_document``.
        **options: See :class:`~st_biomed.evaluators.base.EmbeddingEvaluator`.

    Raises:
        InputError: No fold, folds with different ``ks`` or ``by_document``, or that embed otherwise than this evaluator.
    """

    uses_task_prompts = True

    def __init__(self, folds: Sequence[EntityLinkingEvaluator], **options: Unpack[EvaluatorOptions]) -> None:
        super().__init__(primary="acc@1", **options)
        if not folds:
            raise InputError("folds: expected at least one, found none")
        for argument in ("ks", "by_document"):
            if len(values := {getattr(fold, argument) for fold in folds}) > 1:
                raise InputError(f"folds: expected the same {argument} in each, found {sorted(values)}")
        for fold in folds:
            for given, unset, own in zip(fold.embedding_options, _UNSET, self.embedding_options):
                if given not in (unset, own):
                    raise InputError(
                        f"folds: truncate_dim, bf16 and the cache are options of the FoldsEvaluator, found {given!r} in a fold"
                    )
        self.folds = list(folds)
        self._repeated = None if folds[0].by_document else _repeated_mentions(self.folds)

    def compute_metrics(self, embed: EmbedOnce) -> EvaluationResult:
        """The mean of the metrics of all folds; a subset such as the refined set may be empty in some folds."""
        times = Counter(name for fold in self.folds for name in fold.names.texts)
        if shared := [name for name, n in times.items() if n > 1]:
            embed.of_task("document")(shared)  # and keep them: a fold would let the names of its dictionary go
        return self._mean([fold.compute_metrics(embed) for fold in self.folds])

    def measure_folds(self, embed_of: Callable[[EntityLinkingEvaluator], Embed]) -> dict[str, float]:
        """The prefixed metrics with a way to embed for each fold, such as one that is fitted on its dictionary."""
        self._announce(-1, -1)
        observed = self._mean([fold.compute_metrics(EmbedOnce(embed_of(fold))) for fold in self.folds])
        return self._report(observed, None, -1, -1)

    @property
    def n_texts(self) -> int:
        """The sum over the folds."""
        return sum(fold.n_texts for fold in self.folds)

    @property
    def table_rows(self) -> dict[str, str]:
        """The same as that of a fold."""
        return {f"acc@{k}": f"acc@{k}" for k in self.folds[0].ks}

    def get_config_dict(self) -> dict[str, Any]:
        """The settings of each fold."""
        drawn = {"by_document": True} if self.folds[0].by_document else {}
        if self._repeated is not None:
            drawn = {"repeated_mentions": True}
        folds = [fold.get_config_dict() for fold in self.folds]
        return {"folds": folds, **drawn, **super().get_config_dict()}

    def _mean(self, results: Sequence[EvaluationResult]) -> EvaluationResult:
        """The mean of the metrics, and the units of all folds."""
        metrics, units = zip(*results)
        in_folds = {
            metric: _in_folds([fold_units[metric] for fold_units in units], self._repeated) for metric in units[0]
        }
        return EvaluationResult(mean_of_folds(metrics), in_folds)

    @property
    def citation(self) -> str:
        return self.folds[0].citation


def _repeated_mentions(folds: Sequence[EntityLinkingEvaluator]) -> np.ndarray | None:
    """The number of each mention of all folds, equal for equal mentions; ``None`` if no two folds have one in common.

    Mentions are equal if their place in a document, if they have one, their text and their ids are.
    """
    of_folds = [
        [
            (mention.document, mention.start, mention.end, mention.text, mention.gold)
            for mention in fold.queries.mentions
        ]
        for fold in folds
    ]
    if len(set().union(*of_folds)) == sum(len(set(of_fold)) for of_fold in of_folds):
        return None
    number: dict[tuple[object, ...], int] = {}
    return np.array([number.setdefault(mention, len(number)) for of_fold in of_folds for mention in of_fold])


def mean_of_folds(metrics: Sequence[Mapping[str, float]], prefix: str = "") -> dict[str, float]:
    """Mean of each metric that every fold has; counts (``n_...`` after the prefix, ``concept_unsettled``) are sums."""
    common = [key for key in metrics[0] if all(key in fold for fold in metrics)]
    return {key: float(_combine(key.removeprefix(prefix))([fold[key] for fold in metrics])) for key in common}


def _combine(metric: str) -> Callable[[Sequence[float]], Any]:
    return np.sum if metric.startswith("n_") or metric == "concept_unsettled" else np.mean


def _in_folds(units: Sequence[Units], repeated: np.ndarray | None) -> Units:
    """The units of all folds: (value, 1) in the two columns of their own; documents or repeated mentions are clusters."""
    rows = block_diag(*(fold_units.rows for fold_units in units))
    documents = [fold_units.clusters for fold_units in units if fold_units.clusters is not None]
    return Units(units[0].unit, rows, "macro_mean", np.concatenate(documents) if documents else repeated)
