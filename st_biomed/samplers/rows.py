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


class DefinitionRows:
    """The names and definitions of a terminology that a dataset holds, as labels, and their rows.

    Args:
        dataset: What ``definitions_dataset`` made of the terminology, or a selection of its rows in any order.
        terminology: Where the labels come from.

    Attributes:
        names: Concept to the labels of its names that are in the dataset.
        definitions: The same of its definitions.

    Raises:
        InputError: Other columns, labels of another terminology, or a label in two rows.
    """

    def __init__(self, dataset: Dataset, terminology: Terminology) -> None:
        DEFINITIONS.check(dataset)
        check_terminology(dataset, terminology.digest)
        labels, n_labels = labels_of(dataset), terminology.n_texts + terminology.n_definitions
        if len(labels) and (labels.min() < 0 or labels.max() >= n_labels):
            raise InputError(
                f"labels of names and definitions go from 0 to {n_labels - 1}, found {labels.min()} to {labels.max()}"
            )
        self._row = np.full(n_labels, -1, dtype=np.int64)
        self._row[labels] = np.arange(len(labels))
        twice = np.flatnonzero(self._row[labels] != np.arange(len(labels)))
        if len(twice):
            raise InputError(
                f"every name and definition has one row, found label {labels[twice[0]]} in several rows of the dataset"
            )
        defined = terminology.concept_definitions
        self.names = self._held(terminology.concept_texts)
        self.definitions = self._held(CSR(defined.indptr, defined.indices.astype(np.int64) + terminology.n_texts))

    def of(self, labels: np.ndarray) -> np.ndarray:
        """The rows of labels, same shape."""
        return self._row[labels]

    def _held(self, labels: CSR) -> CSR:
        """Of a table of labels those that are in the dataset."""
        held = self._row[labels.indices] >= 0
        if held.all():
            return labels
        concept = np.repeat(np.arange(labels.n_rows), labels.counts)
        return CSR.from_pairs(concept[held], labels.indices[held], labels.n_rows)
