"""The average of encoders that one command trained, with its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sentence_transformers import SentenceTransformer

from st_biomed.averaging.average_encoders import average_encoders
from st_biomed.encoder.digest import model_digest
from st_biomed.release.run_data import AveragedModelData, AveragingData
from st_biomed.release.run_record import RunRecord


def average_trained(
    record: RunRecord, models: Mapping[str, SentenceTransformer], weights: Sequence[float]
) -> SentenceTransformer:
    """Average the weights of encoders as :func:`~st_biomed.averaging.average_encoders.average_encoders`, and record each.

    Args:
        record: The record of the command; a single encoder is no average, and not recorded.
        models: Name to encoder.
        weights: A number for each encoder; they add up to 1.

    Returns:
        The first model, changed in place.

    Raises:
        InputError: Encoders that differ in more than their weights, or invalid weights.
    """
    if len(models) > 1:
        averaged = [
            AveragedModelData(name=name, recipe=record.recipe, digest=model_digest(model), weight=weight)
            for (name, model), weight in zip(models.items(), weights)
        ]
        record.add_averaging(AveragingData(models=averaged, metrics=[], tolerance=0.0, curve=[], chosen=False))
    return average_encoders([*models.values()], weights, [*models])
