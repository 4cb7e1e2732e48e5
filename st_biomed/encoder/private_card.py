"""Card data of a model without strings of its training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sentence_transformers import SentenceTransformerModelCardData

_SHOWN = ("examples", "_example_columns", "examples_table", "stats", "stats_table")


@dataclass
class PrivateCardData(SentenceTransformerModelCardData):
    """The card data of sentence-transformers, which shows no rows of the training data.

    The trainer writes a card beside every checkpoint, and names of a licensed terminology must not be in it.
    """

    def set_widget_examples(self, dataset: object) -> None:
        """Take no examples from the data."""

    def compute_dataset_metrics(  # type: ignore[override]  # versions of sentence-transformers differ in what else they pass
        self, dataset: Any, dataset_info: dict[str, Any], loss: Any, **options: Any
    ) -> dict[str, Any]:
        """sentence-transformers' sizes, columns and loss of a dataset, without its rows and counts of its labels."""
        metrics = super().compute_dataset_metrics(dataset, dataset_info, loss, **options)
        return {name: value for name, value in metrics.items() if name not in _SHOWN}
