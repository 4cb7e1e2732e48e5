"""The figure by which the best weights are kept: known before training, not by an error at the first evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from st_biomed.errors import InputError, check_name
from st_biomed.evaluators.base import EmbeddingEvaluator
from st_biomed.evaluators.embedders import EmbedOnce
from st_biomed.evaluators.shared_embedding import SharedEvaluator

if TYPE_CHECKING:
    from sentence_transformers.base.evaluation import BaseEvaluator
    from transformers import TrainingArguments


def check_metric(training: TrainingArguments, dev: BaseEvaluator) -> None:
    """Raise InputError if ``metric_for_best_model`` is no figure of the evaluation in training.

    Args:
        training: The trainer's arguments; its trainer adds ``eval_`` to the name.
        dev: The evaluator in training.

    Raises:
        InputError: The name is not that of a figure, the best checkpoints are to be saved without one, or the best weights are
            to be kept by a loss, which recipes do not compute on an evaluation dataset.
    """
    metric = training.metric_for_best_model
    primary = getattr(dev, "primary_metric", None) or "sequential_score"
    if training.load_best_model_at_end and metric in (None, "loss", "eval_loss"):
        raise InputError(f"load_best_model_at_end: needs --metric_for_best_model, e.g. {primary}")
    if training.save_strategy == "best" and metric is None:
        raise InputError(f"save_strategy: best needs --metric_for_best_model, e.g. {primary}")
    if metric is not None and (name := metric.removeprefix("eval_")) != primary and (names := metric_names(dev)):
        check_name("metric_for_best_model", name, names)


def metric_names(evaluator: BaseEvaluator) -> list[str]:
    """Names of the figures of an evaluator of this package, found by measuring two-dimensional vectors at random.

    Returns:
        The names with their prefixes; none for an evaluator of others.
    """
    if isinstance(evaluator, SharedEvaluator):
        parts = [metric_names(part) for part in evaluator.evaluators]
        return [*(name for part in parts for name in part), str(evaluator.primary_metric)] if all(parts) else []
    if not isinstance(evaluator, EmbeddingEvaluator):
        return []
    draws = np.random.default_rng(0)

    def embed(texts: Sequence[str]) -> np.ndarray:
        return draws.standard_normal((len(texts), 2), dtype=np.float32)

    found, units = evaluator.compute_metrics(EmbedOnce(embed))
    bounds = [f"{metric}_{bound}" for metric in units for bound in ("low", "high")] if evaluator.n_bootstrap else []
    return [*evaluator.prefix_name_to_metrics(dict.fromkeys([*found, *bounds], 0.0), evaluator.name)]
