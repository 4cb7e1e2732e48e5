"""The rows of a dataset that are names, or definitions, of a concept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from st_biomed.training_data.columns import DEFINITIONS, NAMES, check_terminology, labels_of

if TYPE_CHECKING:
    from datasets import Dataset


class _LabelRows:
    """The rows of a dataset by their labels.

    Args:
        labels: The label of each row, ``[N]``.
        n_labels: Labels are below this number.

    Raises:
        InputError: A label out of range, or in two rows.
    """

    def __init__(self, labels: np.ndarray, n_labels: int, what: str) -> None:
        if labels.dtype.kind not in "iu":
            raise InputError(f"labels of {what} must be integers in every row, found {labels.dtype}")
        if len(labels) and (labels.min() < 0 or labels.max() >= n_labels):
            raise InputError(
                f"labels of {what} must be from 0 to {n_labels - 1}, found {labels.min()} to {labels.max()}"
            )
        self._row = np.full(n_labels, -1, dtype=np.int64)
        self._row[labels] = np.arange(len(labels))
        twice = np.flatnonzero(self._row[labels] != np.arange(len(labels)))
        if len(twice):
            raise InputError(f"labels of {what} have one row each, found label {labels[twice[0]]} in several rows")

    def of(self, labels: np.ndarray) -> np.ndarray:
        """The rows of labels, in the same shape."""
        return self._row[labels]

    def _held(self, labels: CSR) -> CSR:
        """Of a table of labels those that are in the dataset."""
        held = self._row[labels.indices] >= 0
        if held.all():
            return labels
        concept = np.repeat(np.arange(labels.n_rows), labels.counts)
        return CSR.from_pairs(concept[held], labels.indices[held], labels.n_rows)


class NameRows(_LabelRows):
    """The names of a terminology that a dataset holds, as text ids, and their rows.

    Args:
        dataset: The ``names_dataset`` of the terminology, or a selection of its rows in any order.

    Attributes:
        names: Concept to the text ids that are in the dataset.
        texts: Those text ids, sorted, ``[N]``.

    Raises:
        InputError: Other columns, labels of another terminology, or a text id in two rows.
    """

    def __init__(self, dataset: Dataset, terminology: Terminology) -> None:
        NAMES.check(dataset)
        check_terminology(dataset, terminology.digest)
        super().__init__(labels_of(dataset), terminology.n_texts, "names")
        self.names, self.texts = self._held(terminology.concept_texts), np.flatnonzero(self._row >= 0)


class DefinitionRows(_LabelRows):
    """The names and definitions of a terminology that a dataset holds, as labels, and their rows.

    Args:
        dataset: What ``definitions_dataset`` made of the terminology, or a selection of its rows in any order.

    Attributes:
        names: Concept to the labels of its names that are in the dataset.
        definitions: The same of its definitions.

    Raises:
        InputError: Other columns, labels of another terminology, or a label in two rows.
    """

    def __init__(self, dataset: Dataset, terminology: Terminology) -> None:
        DEFINITIONS.check(dataset)
        check_terminology(dataset, terminology.digest)
        n_labels = terminology.n_texts + terminology.n_definitions
        super().__init__(labels_of(dataset), n_labels, "names and definitions")
        defined = terminology.concept_definitions
        self.names = self._held(terminology.concept_texts)
        self.definitions = self._held(CSR(defined.indptr, defined.indices.astype(np.int64) + terminology.n_texts))
