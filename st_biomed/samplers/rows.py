"""The rows of a dataset that are names of a concept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from st_biomed.training_data.columns import NAMES, check_terminology, labels_of

if TYPE_CHECKING:
    from datasets import Dataset


class NameRows:
    """The names of a terminology that a dataset holds, as text ids, and their rows.

    Args:
        dataset: The ``names_dataset`` of the terminology, or a selection of its rows in any order.
        terminology: The terminology of the labels.

    Attributes:
        names: Concept to the text ids that are in the dataset.
        texts: Those text ids, sorted, ``[N]``.

    Raises:
        InputError: Other columns, labels of another terminology, or a text id in two rows.
    """

    def __init__(self, dataset: Dataset, terminology: Terminology) -> None:
        NAMES.check(dataset)
        check_terminology(dataset, terminology.digest)
        labels = labels_of(dataset)
        self._row: np.ndarray | None = None
        if np.array_equal(labels, np.arange(terminology.n_texts)):
            self.names, self.texts = terminology.concept_texts, labels
            return
        if len(labels) and (labels.min() < 0 or labels.max() >= terminology.n_texts):
            raise InputError(
                f"labels must be text ids from 0 to {terminology.n_texts - 1}, found {labels.min()} to {labels.max()}"
            )
        self._row = np.full(terminology.n_texts, -1, dtype=np.int64)
        self._row[labels] = np.arange(len(labels))
        self.texts = np.flatnonzero(self._row >= 0)
        if len(self.texts) < len(labels):
            first = labels[np.flatnonzero(self._row[labels] != np.arange(len(labels)))[0]]
            raise InputError(f"every name must have one row, found text id {first} in several")
        every = terminology.concept_texts
        held = self._row[every.indices] >= 0
        concept = np.repeat(np.arange(every.n_rows), every.counts)
        self.names = CSR.from_pairs(concept[held], every.indices[held], every.n_rows)

    def of(self, texts: np.ndarray) -> np.ndarray:
        """The rows of text ids, in the same shape."""
        return texts if self._row is None else self._row[texts]
