"""Rows of a dataset as labels: what tells texts apart that have one label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from st_biomed.csr import DeviceTables
from st_biomed.training_data.columns import labels_of

if TYPE_CHECKING:
    from datasets import Dataset
    from torch import Tensor


class RowLabels:
    """Labels that are rows of a dataset, and the dataset's own labels of them.

    The contexts of a term share its label. A loss that has to know the context of each text gets rows for labels.
    Rows with equal text and label are one row, the first of them.

    Args:
        dataset: Columns ``text`` and ``label`` (int64).

    Attributes:
        texts: The text of each row, ``[N]``.
    """

    def __init__(self, dataset: Dataset) -> None:
        self.texts: list[str] = dataset.select_columns("text").with_format("arrow")[:]["text"].to_pylist()
        labels = labels_of(dataset).copy()
        self._labels = DeviceTables(labels=labels)
        self._row: dict[tuple[str, int], int] = {}
        for row, key in enumerate(zip(self.texts, labels.tolist())):
            self._row.setdefault(key, row)

    def dataset(self, dataset: Dataset) -> Dataset:
        """The dataset with rows in place of labels when it is read; a sampler still finds its labels."""
        return dataset.with_transform(_Transform(self._row))

    def labels(self, rows: Tensor) -> Tensor:
        """The dataset's labels of rows of any shape."""
        return self._labels.on(rows.device)["labels"][rows]


class _Transform:
    """Replaces the labels of what a dataset reads by rows."""

    def __init__(self, row: dict[tuple[str, int], int]) -> None:
        self.row = row

    def __deepcopy__(self, memo: dict[int, Any]) -> _Transform:
        return self  # a dataset copies its transform with each of its views, and the rows never change

    def __call__(self, batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        return {"text": batch["text"], "label": [self.row[key] for key in zip(batch["text"], batch["label"])]}
