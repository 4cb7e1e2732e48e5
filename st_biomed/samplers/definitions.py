"""Batches of names with definitions of their concepts, siblings among them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError, check_instance, check_number
from st_biomed.samplers.base import EpochBatchSampler, SamplerArguments
from st_biomed.samplers.batch_factories import TerminologyBatches
from st_biomed.samplers.rows import DefinitionRows
from st_biomed.samplers.shared_keys import SharedKeyMembers
from st_biomed.terminology import Terminology
from st_biomed.training_data.definitions import definitions_dataset

if TYPE_CHECKING:
    from datasets import Dataset

_TRIES = 8  # siblings that are drawn of each anchor, until the batch has enough different ones
_SPARE = 4  # concepts that are drawn for each free place, of which those of the batch are rejected


@dataclass(frozen=True, kw_only=True)
class DefinitionPlan:
    """Who shares a batch.

    Attributes:
        siblings: Share of the concepts of a batch that are siblings of others in it, rounded down: hard negatives, whose
            definitions often differ in a word. From 0 up to, but not including, 1.

    Raises:
        InputError: A share out of range.
    """

    siblings: float = 0.25

    def __post_init__(self) -> None:
        if not 0 <= check_number("siblings", self.siblings) < 1:
            raise InputError(f"siblings must be at least 0 and less than 1, found {self.siblings}")


class DefinitionBatchSampler(EpochBatchSampler):
    """Every batch holds ``batch_size / 2`` different concepts, each with one of its names and one of its definitions.

    BioLORD-2023 trains on pairs of a name and a definition (Remy, Demuynck and Demeester 2024). An epoch visits every
    concept that has both once, as an anchor in random order, except for a remainder smaller than a batch; its name and its
    definition are drawn anew in every epoch. The rest of a batch are siblings of the anchors: concepts with a common
    parent, which have both, too. If the anchors have too few siblings, other concepts fill the batch.

    Rows come in pairs of a name and its definition: first the anchors', then the siblings'.

    Args:
        dataset: What :func:`~st_biomed.training_data.definitions.definitions_dataset` gives, or a selection of its rows.
        batch_size: Rows of every batch, an even number of at least 4.
        **sampler_arguments: See :class:`~st_biomed.samplers.base.EpochBatchSampler`.

    Attributes:
        n_skipped: Concepts with a name in the dataset that are left out, having no definition there.

    Raises:
        InputError: An odd or too small batch, no concept with both, or too few for one batch.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        *,
        terminology: Terminology,
        plan: DefinitionPlan = DefinitionPlan(),
        **sampler_arguments: Unpack[SamplerArguments],
    ) -> None:
        super().__init__(dataset, batch_size, **sampler_arguments)
        if batch_size < 4 or batch_size % 2:
            raise InputError(
                f"batch_size must be an even number of at least 4, a name and a definition each; found {batch_size}"
            )
        self.plan = plan
        check_instance("terminology", terminology, Terminology)
        self.rows = DefinitionRows(dataset, terminology)
        both = (self.rows.names.counts > 0) & (self.rows.definitions.counts > 0)
        self.n_skipped = int((self.rows.names.counts > 0).sum() - both.sum())
        self._concepts = np.flatnonzero(both)
        self.n_siblings = int(plan.siblings * (batch_size // 2))
        self.n_anchors = batch_size // 2 - self.n_siblings
        if not len(self._concepts):
            raise InputError(f"none of {self.n_skipped:,} concepts with a name in the dataset has a definition there")
        if len(self._concepts) < batch_size // 2:
            raise InputError(
                f"batch_size {batch_size} is too large: {len(self._concepts):,} concepts have a name and a definition"
            )
        child, parent = (terminology.parents[end].to_numpy() for end in ("child", "parent"))
        parents = CSR.from_pairs(child, parent, terminology.n_concepts)
        children = CSR.from_pairs(parent[both[child]], child[both[child]], terminology.n_concepts)
        self._siblings = SharedKeyMembers([(parents, children)])

    def __len__(self) -> int:
        return len(self._concepts) // self.n_anchors

    def __iter__(self) -> Iterator[list[int]]:
        anchors = np.random.default_rng([self.seed, self.epoch]).permutation(self._concepts)
        for i in range(len(self)):
            rng = np.random.default_rng([self.seed, self.epoch, i])
            chosen = anchors[i * self.n_anchors : (i + 1) * self.n_anchors]
            concepts = np.concatenate([chosen, self._others(rng, chosen)])
            labels = [self._one_of(rng, kind, concepts) for kind in (self.rows.names, self.rows.definitions)]
            yield self.rows.of(np.stack(labels, axis=1).reshape(-1)).tolist()

    def _others(self, rng: np.random.Generator, anchors: np.ndarray) -> np.ndarray:
        """Different siblings of some of the anchors, then any concepts where these are too few, ``[n_siblings]``."""
        if not self.n_siblings:
            return anchors[:0]
        drawn = self._siblings.draw(rng, rng.permutation(anchors), _TRIES).T.reshape(-1)
        siblings = _different(drawn[drawn >= 0], anchors)[: self.n_siblings]
        short = self.n_siblings - len(siblings)
        if not short:
            return siblings
        return np.concatenate([siblings, self._any(rng, np.concatenate([anchors, siblings]), short)])

    def _any(self, rng: np.random.Generator, taken: np.ndarray, n: int) -> np.ndarray:
        """Different concepts that are not taken, drawn evenly, ``[n]``; all concepts are listed only if few are free."""
        drawn = _different(rng.choice(self._concepts, _SPARE * n), taken)[:n]
        short = n - len(drawn)
        if not short:
            return drawn
        free = np.setdiff1d(self._concepts, np.concatenate([taken, drawn]), assume_unique=True)
        return np.concatenate([drawn, rng.choice(free, short, replace=False)])

    @staticmethod
    def _one_of(rng: np.random.Generator, labels: CSR, concepts: np.ndarray) -> np.ndarray:
        """One label of each concept, drawn evenly, ``[N]``."""
        start = labels.indptr[concepts]
        rank = (rng.random(len(concepts)) * (labels.indptr[concepts + 1] - start)).astype(np.int64)
        return labels.indices[start + rank]


def _different(drawn: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """The drawn concepts that are not taken, each once, in the order of their first draw."""
    drawn = drawn[~np.isin(drawn, taken)]
    _, first = np.unique(drawn, return_index=True)
    return drawn[np.sort(first)]


@dataclass(frozen=True, kw_only=True)
class DefinitionBatches(TerminologyBatches, DefinitionPlan):
    """Makes a :class:`DefinitionBatchSampler`; options are those of :class:`DefinitionPlan`."""

    sampler_class: ClassVar = DefinitionBatchSampler
    plan_class: ClassVar = DefinitionPlan

    @staticmethod
    def all_texts(terminology: Terminology) -> Dataset:
        return definitions_dataset(terminology)
