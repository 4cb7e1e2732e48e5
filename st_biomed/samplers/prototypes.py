"""The rows of a concept, and the selection of its prototypes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from st_biomed.training_data.columns import NAMES, check_terminology, labels_of

if TYPE_CHECKING:
    from datasets import Dataset


class ConceptRows:
    """The rows of every concept: its names, or its mentions in context. A term may have many mentions.

    Args:
        dataset: Columns ``text`` and ``label``, the text id of the name or of the mentioned term.

    Attributes:
        labels: Text id of each row, ``[N]``.

    Raises:
        InputError: Other columns, or labels of another terminology.
    """

    def __init__(self, dataset: Dataset, terminology: Terminology) -> None:
        NAMES.check(dataset)
        check_terminology(dataset, terminology.digest)
        self.labels = labels_of(dataset)
        if len(self.labels) and (self.labels.min() < 0 or self.labels.max() >= terminology.n_texts):
            raise InputError(
                f"labels must be text ids from 0 to {terminology.n_texts - 1}, "
                f"found {self.labels.min()} to {self.labels.max()}"
            )
        self._concepts_of = terminology.text_concepts
        row, concept = self._concepts_of.take(self.labels)
        self._rows_of = CSR.from_pairs(concept, row, terminology.n_concepts)

    def of_same_concept(self, row: int) -> np.ndarray:
        """The other rows that share any concept with a row, sorted."""
        concepts = self._concepts_of.row(int(self.labels[row]))
        rows = self._rows_of.row(int(concepts[0]))
        if len(concepts) > 1:
            rows = np.unique(np.concatenate([self._rows_of.row(int(concept)) for concept in concepts]))
        return rows[rows != row]

    def prototypes(self, rng: np.random.Generator, per_concept: int, *, alone: bool = False) -> np.ndarray:
        """Choose prototypes of every concept: first one per term, then further rows of the same terms.

        "For each entity e a small number of prototypes is chosen in a way that prioritizes - where possible - a different
        synonym of e for each prototype" (Amore Bondarenko et al. 2022, section 3.2).

        Args:
            rng: Chooses the rows, and the terms if there are more terms than prototypes.
            per_concept: Maximum number of prototypes per concept.
            alone: Whether a row that shares no concept with another row is also a prototype.

        Returns:
            Sorted rows, ``[P]``; each occurs once, even if several concepts have chosen it.
        """
        counts = self._rows_of.counts
        concept = np.repeat(np.arange(len(counts)), counts)
        order = rng.permutation(len(concept))
        order = order[np.lexsort((self.labels[self._rows_of.indices[order]], concept[order]))]
        row, concept = self._rows_of.indices[order], concept[order]
        turn = _place_in_run(concept, self.labels[row])
        order = np.lexsort((rng.random(len(row)), turn, concept))
        row, concept = row[order], concept[order]
        chosen = np.unique(row[_place_in_run(concept) < per_concept])
        if alone:
            return chosen
        accompanied = np.zeros(len(self.labels), dtype=bool)
        accompanied[row[counts[concept] > 1]] = True
        return chosen[accompanied[chosen]]


def _place_in_run(*keys: np.ndarray) -> np.ndarray:
    """How many entries of the same keys stand before each, for entries in runs of equal keys, ``[M]``."""
    begins = np.zeros(len(keys[0]), dtype=bool)
    begins[:1] = True
    for key in keys:
        begins[1:] |= key[1:] != key[:-1]
    place = np.arange(len(begins))
    return place - np.maximum.accumulate(np.where(begins, place, 0))
