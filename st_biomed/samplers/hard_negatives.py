"""Batches around prototypes: other names of their concepts, and the rows most similar to them in the model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from st_biomed.errors import InputError, check_instance, check_integer
from st_biomed.samplers.base import EpochBatchSampler, SamplerArguments
from st_biomed.samplers.batch_factories import TerminologyBatches
from st_biomed.samplers.neighbor_table import NeighborTable
from st_biomed.samplers.prototypes import ConceptRows
from st_biomed.terminology import Terminology
from st_biomed.training_data.chosen_sources import texts_named_by

if TYPE_CHECKING:
    from datasets import Dataset

SPARE = 16
"""Extra neighbors, for rows that are in the batch already."""


@dataclass(frozen=True, kw_only=True)
class HardNegativePlan:
    """Number of rows of each kind in a batch, ``prototypes * (1 + positives + neighbors)`` in total.

    The defaults are the Italian paper's: "we sample 4 prototypes p", "the number of positives as k = 20, and the number
    of possible negatives as m = 30" (Amore Bondarenko et al. 2022, section 4).

    Attributes:
        positives: Rows of the concepts of each prototype.
        neighbors: Nearest rows of each prototype.
        prototypes_per_concept: Maximum number of prototypes per concept, "a small number": 50 thousand steps in 4
            epochs of 20,447 concepts correspond to 2.4.
        lone_rows: Whether rows that share no concept with another row are also prototypes; they have only neighbors.
        prototype_sources: Sources of the terminology whose names alone are prototypes, all of them that share a concept with
            another row, such as the mentions of a linking data set; none for prototypes of every concept.
        candidate_sources: Sources of the terminology whose names alone are positives and neighbors, such as the dictionary
            of a linking data set; none for all rows.

    Raises:
        InputError: A number below 1.
    """

    prototypes: int = 4
    positives: int = 20
    neighbors: int = 30
    prototypes_per_concept: int = 3
    lone_rows: bool = False
    prototype_sources: tuple[str, ...] = ()
    candidate_sources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("prototypes", "positives", "neighbors", "prototypes_per_concept"):
            check_integer(name, getattr(self, name))
        for name in ("prototype_sources", "candidate_sources"):
            value = getattr(self, name)
            if not isinstance(value, (tuple, list)) or not all(isinstance(source, str) for source in value):
                raise InputError(f"{name} must be names of sources, found {value!r}")

    @property
    def batch_size(self) -> int:
        """Rows per batch."""
        return self.prototypes * (1 + self.positives + self.neighbors)


class HardNegativeBatchSampler(EpochBatchSampler):
    """Every batch holds some prototypes with other rows of their concepts and with their nearest rows.

    This is the dynamic sampling of CODER++ and of the Italian models. An epoch visits all prototypes once, in random
    order. For each prototype of a batch, ``positives`` rows that share a concept with it are drawn, other terms first.
    The ``neighbors`` nearest rows are added regardless of their concept ("possibly hard negatives"); the loss knows
    which of them are synonyms. A row occurs at most once in a batch. If a concept has fewer rows, further neighbors
    replace them, so every batch has exactly ``batch_size`` rows. If those are also in the batch already, other rows
    are used.

    The nearest rows come from a :class:`~st_biomed.samplers.neighbor_table.NeighborTable`, which
    :class:`~st_biomed.samplers.hard_negative_callback.HardNegativeCallback` updates during training.

    Args:
        dataset: Names (:func:`~st_biomed.training_data.names.names_dataset`), or mentions in context with the text id of their
            term as the label: columns ``text`` and ``label``.
        batch_size: The total of the plan.
        plan: The number of rows of each kind.
        **sampler_arguments: See :class:`~st_biomed.samplers.base.EpochBatchSampler`; batches depend on the neighbors as well as on
            ``seed`` and ``epoch``.

    Attributes:
        prototypes: Rows that are prototypes, sorted, ``[P]``; they depend on the dataset and the seed.
        candidates: Rows that may be positives or neighbors, sorted; ``None`` for all.
        rows_digest: Identifier of the dataset, the prototypes and the candidates.
        width: Number of neighbors per prototype that a table must have.

    Raises:
        InputError: A ``batch_size`` other than the plan's, a dataset (or its candidates) smaller than a batch, too few
            prototypes for a batch, or an unknown source of prototypes or candidates. In iteration: no table of neighbors yet.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        *,
        terminology: Terminology,
        plan: HardNegativePlan = HardNegativePlan(),
        **sampler_arguments: Unpack[SamplerArguments],
    ) -> None:
        super().__init__(dataset, batch_size, **sampler_arguments)
        self.plan = plan
        if batch_size != plan.batch_size:
            raise InputError(
                f"batch_size must be {plan.prototypes} prototypes x (1 + {plan.positives} positives + "
                f"{plan.neighbors} neighbors) = {plan.batch_size}, found {batch_size}"
            )
        if len(dataset) < batch_size:
            raise InputError(f"batch_size {batch_size} is too large: the dataset has {len(dataset):,} rows")
        check_instance("terminology", terminology, Terminology)
        self.rows = ConceptRows(dataset, terminology)
        rng = np.random.default_rng(self.seed)
        of_all = bool(plan.prototype_sources)
        per_concept = len(dataset) if of_all else plan.prototypes_per_concept
        self.prototypes = self.rows.prototypes(rng, per_concept, alone=plan.lone_rows)
        if of_all:
            texts = texts_named_by(terminology, plan.prototype_sources)
            self.prototypes = self.prototypes[texts[self.rows.labels[self.prototypes]]]
        self.candidates: np.ndarray | None = None
        self._never = np.zeros(len(dataset), dtype=bool)
        if plan.candidate_sources:
            named = texts_named_by(terminology, plan.candidate_sources)[self.rows.labels]
            self.candidates, self._never = np.flatnonzero(named), ~named
            if len(self.candidates) < batch_size:
                raise InputError(
                    f"batch_size {batch_size} is too large: {len(self.candidates):,} of {len(dataset):,} rows are of "
                    f"{', '.join(plan.candidate_sources)}"
                )
        if len(self.prototypes) < plan.prototypes:
            raise InputError(
                f"a batch has {plan.prototypes} prototypes, but only {len(self.prototypes)} of {len(dataset):,} rows "
                "can be one: too few concepts have two rows"
            )
        sha = hashlib.sha256(f"{len(dataset)} {terminology.digest}".encode())
        for part in (self.rows.labels, self.prototypes, self.candidates):
            sha.update(b"" if part is None else part.astype(np.int64).tobytes())
        self.rows_digest = sha.hexdigest()
        self.width = min(
            plan.positives + plan.neighbors + SPARE,
            (len(dataset) if self.candidates is None else len(self.candidates)) - 1,
        )
        self.table: NeighborTable | None = None

    def texts(self, rows: slice) -> list[str]:
        """The texts of some rows, without any format or transform of the dataset."""
        plain = self.dataset.select_columns("text").with_format("arrow")
        return plain[rows]["text"].to_pylist()

    def use(self, table: NeighborTable) -> None:
        """Use the neighbors of a table for the following batches.

        Raises:
            InputError: The table was made for other rows or prototypes, or has too few neighbors.
        """
        if table.rows_digest != self.rows_digest:
            raise InputError(
                f"the neighbors were found among other rows or for other prototypes ({table.rows_digest[:12]}, "
                f"expected {self.rows_digest[:12]}): was the dataset or the seed another one?"
            )
        if table.rows.shape != (len(self.prototypes), self.width):
            raise InputError(
                f"neighbors must have shape [{len(self.prototypes)}, {self.width}], found {list(table.rows.shape)}"
            )
        self.table = table

    def __iter__(self) -> Iterator[list[int]]:
        order = np.random.default_rng([self.seed, self.epoch]).permutation(len(self.prototypes))
        for i in range(len(self)):
            chosen = order[i * self.plan.prototypes : (i + 1) * self.plan.prototypes]
            yield self._batch(np.random.default_rng([self.seed, self.epoch, i]), chosen).tolist()

    def _batch(self, rng: np.random.Generator, chosen: np.ndarray) -> np.ndarray:
        """The rows around some prototypes, each prototype's together."""
        if self.table is None:
            raise InputError(
                "no neighbors have been found yet: give the trainer callbacks=[HardNegativeCallback()], which finds them"
            )
        taken = self._never.copy()
        taken[self.prototypes[chosen]] = True
        groups = []
        for prototype in self.prototypes[chosen]:
            positives = self._positives(rng, prototype, taken)
            taken[positives] = True
            groups.append([np.array([prototype]), positives])
        for group, which in zip(groups, chosen):
            near = self.table.rows[which]
            room = self.plan.positives + self.plan.neighbors - len(group[1])
            group.append(near[~taken[near]][:room])
            taken[group[-1]] = True
        rows = np.concatenate([part for group in groups for part in group])
        short = self.batch_size - len(rows)
        if short:
            rows = np.concatenate([rows, rng.choice(np.flatnonzero(~taken), short, replace=False)])
        return rows

    def _positives(self, rng: np.random.Generator, prototype: int, taken: np.ndarray) -> np.ndarray:
        """Random rows of its concepts that are not taken, "prioritizing contexts that use different synonyms"."""
        rows = self.rows.of_same_concept(prototype)
        rows = rng.permutation(rows[~taken[rows]])
        same_term = self.rows.labels[rows] == self.rows.labels[prototype]
        return rows[np.argsort(same_term, kind="stable")][: self.plan.positives]

    def __len__(self) -> int:
        return len(self.prototypes) // self.plan.prototypes


@dataclass(frozen=True, kw_only=True)
class HardNegativeBatches(TerminologyBatches, HardNegativePlan):
    """Creates a :class:`HardNegativeBatchSampler`; the options are those of :class:`HardNegativePlan`."""

    sampler_class: ClassVar = HardNegativeBatchSampler
    plan_class: ClassVar = HardNegativePlan
