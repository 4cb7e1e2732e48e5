"""From the names and definitions of a batch to concepts, on the batch's device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from st_biomed.csr import CSR, DeviceTables, expand, shares_key
from st_biomed.errors import InputError
from st_biomed.terminology import Terminology
from st_biomed.terminology.lookup import ConceptLookup

if TYPE_CHECKING:
    from torch import Tensor


class DefinitionLookup(ConceptLookup):
    """Which concepts a name names and a definition defines, for labels that stand for either.

    A label below ``n_texts`` is the text id of a name; ``n_texts + k`` is row ``k`` of ``terminology.definitions``, see
    :func:`~st_biomed.training_data.definitions.definitions_dataset`. Between names all is as in
    :class:`~st_biomed.terminology.lookup.ConceptLookup`. A string that defines several concepts has all of them.

    A definition and a text without a common concept are neither positives nor negatives if any of their concepts share a
    name: "cold" names a rhinitis and a low temperature, so a definition of one may well describe the other. The same holds
    for a name and a definition that are one string but belong to different concepts.

    Raises:
        InputError: It has no definition.
    """

    def __init__(self, terminology: Terminology) -> None:
        super().__init__(terminology)
        if not terminology.n_definitions:
            raise InputError(f"no definitions: {terminology!r} has none")
        self.n_definitions = terminology.n_definitions
        self.n_labels = self.n_texts + self.n_definitions
        self.expected += f" and definitions from {self.n_texts} to {self.n_labels - 1}"
        names = terminology.text_concepts
        string, defined = _strings(terminology)
        near = defined.compose(terminology.concept_texts).compose(names)
        self.unambiguous = self.unambiguous and bool((defined.counts == 1).all())
        self._tables = DeviceTables(
            indptr=np.concatenate([names.indptr, names.indptr[-1] + defined.indptr[1:]]),
            concepts=np.concatenate([names.indices, defined.indices]),
            near_indptr=near.indptr,
            near=near.indices,
            string=string,
        )

    def same_text(self, labels_a: Tensor, labels_b: Tensor) -> Tensor:
        """Whether two rows are the same string, boolean ``[A, B]``, for labels ``[A]`` and ``[B]``."""
        return self._string(labels_a)[:, None] == self._string(labels_b)[None, :]

    def ignored_pairs(self, labels_a: Tensor, labels_b: Tensor) -> Tensor:
        """Pairs that are neither positive nor negative, boolean ``[A, B]``, for labels ``[A]`` and ``[B]``."""
        shape = len(labels_a), len(labels_b)
        out = shares_key(*self._near(labels_a), *self.concepts(labels_b), shape)
        out |= shares_key(*self.concepts(labels_a), *self._near(labels_b), shape)
        out |= self.same_text(labels_a, labels_b)
        return out & ~self.same_concept(labels_a, labels_b)

    def _near(self, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The concepts that share a name with those of each definition; names have none.

        Args:
            labels: ``[B]``.

        Returns:
            ``(rows, concepts)``, both ``[M]``.
        """
        tables = self._tables.on(labels.device)
        (rows,) = (labels >= self.n_texts).nonzero(as_tuple=True)
        return expand(tables["near_indptr"], tables["near"], rows, labels[rows] - self.n_texts)

    def _string(self, labels: Tensor) -> Tensor:
        """One label for each string, ``[B]``: a name's where a name is that string, else the first definition's."""
        definition = (labels - self.n_texts).clamp_(min=0)
        return labels.where(labels < self.n_texts, self._tables.on(labels.device)["string"][definition])

    def get_config_dict(self) -> dict[str, Any]:
        """What decides the meaning of the labels, for cards and records."""
        return {**super().get_config_dict(), "labels": "names and definitions"}

    def __repr__(self) -> str:
        return (
            f"DefinitionLookup({self.n_texts:,} texts, {self.n_definitions:,} definitions, "
            f"terminology {self.digest[:12]})"
        )


def _strings(terminology: Terminology) -> tuple[np.ndarray, CSR]:
    """What is one string among definitions and names.

    Returns:
        The label of each definition's string, int64 ``[K]``, and the concepts that its string defines, K rows.
    """
    encoded = terminology.definitions["text"].combine_chunks().dictionary_encode()
    index = encoded.indices.to_numpy()
    _, label = np.unique(index, return_index=True)
    label += terminology.n_texts
    names = terminology.texts["text"]
    text_ids = np.flatnonzero(pc.is_in(names, value_set=encoded.dictionary).to_numpy())
    if len(text_ids):
        label[pc.index_in(names.take(pa.array(text_ids)), value_set=encoded.dictionary).to_numpy()] = text_ids
    concepts = CSR.from_pairs(index, terminology.definitions["concept"].to_numpy(), len(encoded.dictionary))
    rows, concept = concepts.take(index)
    return label[index], CSR.from_pairs(rows, concept, len(index))
