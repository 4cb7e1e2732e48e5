"""Batches of different concepts with two names each, for training on a graph of concepts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from st_biomed.errors import InputError, check_instance, check_integer
from st_biomed.samplers.base import EpochBatchSampler, SamplerArguments
from st_biomed.samplers.batch_factories import TerminologyBatches
from st_biomed.samplers.language_pairs import SynonymPairStrata
from st_biomed.samplers.packing import fill_batches, max_batches
from st_biomed.samplers.rows import NameRows
from st_biomed.terminology import Terminology
from st_biomed.training_data.draws import draw_distinct

if TYPE_CHECKING:
    from datasets import Dataset

PIVOT = "en"
"""BERGAMOT's pairs are within English, within each other language, and between each other language and English."""

_BLOCK = 64  # batches whose names are looked up together


@dataclass(frozen=True, kw_only=True)
class GraphPlan:
    """Which pairs of names an epoch has.

    Attributes:
        max_pairs_per_concept: Maximum number of pairs per concept in a stratum and an epoch.
        pivot_language: ISO 639-1 code; ``None`` to ignore languages.

    Raises:
        InputError: A number below 1.
    """

    max_pairs_per_concept: int = 50
    pivot_language: str | None = PIVOT

    def __post_init__(self) -> None:
        check_integer("max_pairs_per_concept", self.max_pairs_per_concept)


class GraphBatchSampler(EpochBatchSampler):
    """Every batch holds two names of each of ``batch_size / 2`` different concepts.

    The pairs are drawn by strata, again in every epoch. The strata of a concept are the pairs of two names in one
    language, and the pairs of a name in another language with a name in the pivot language. At most
    ``max_pairs_per_concept`` of each are drawn, as :class:`~st_biomed.samplers.synonyms.SynonymBatchSampler` draws
    them. If all names are in the pivot language, these are all pairs of synonyms. A concept contributes at most one
    pair per batch. Pairs that do not fill a last batch are left out of the epoch.

    Args:
        dataset: Names, see :func:`~st_biomed.training_data.names.names_dataset`.
        batch_size: Rows of every batch, an even number from 4 on.
        plan: Which pairs of names an epoch has.
        **sampler_arguments: See :class:`~st_biomed.samplers.base.EpochBatchSampler`.

    Attributes:
        n_skipped: Concepts left out because the dataset has no pair of their names that could be drawn.

    Raises:
        InputError: No pair of names, no name in the pivot language, another ``batch_size``, too few concepts for a batch.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        *,
        terminology: Terminology,
        plan: GraphPlan = GraphPlan(),
        **sampler_arguments: Unpack[SamplerArguments],
    ) -> None:
        super().__init__(dataset, batch_size, **sampler_arguments)
        if batch_size < 4 or batch_size % 2:
            raise InputError(
                f"batch_size must be an even number of at least 4 (two names of each concept), found {batch_size}"
            )
        self.plan = plan
        check_instance("terminology", terminology, Terminology)
        self.rows = NameRows(dataset, terminology)
        self._strata = SynonymPairStrata(terminology, self.rows.names, plan.pivot_language)
        concepts, self._place = np.unique(self._strata.concepts, return_inverse=True)
        self.n_skipped = int((self.rows.names.counts > 0).sum()) - len(concepts)
        drawn = np.minimum(self._strata.pairs, plan.max_pairs_per_concept)
        pairs = np.zeros(len(concepts), dtype=np.int64)
        np.add.at(pairs, self._place, drawn)
        self._n_concepts = len(concepts)
        self._n_batches = max_batches(pairs, batch_size // 2)
        if not self._n_batches:
            raise InputError(
                f"batch_size {batch_size} is too large: it holds {batch_size // 2:,} concepts, "
                f"{len(concepts):,} have two names, so that {2 * len(concepts)} is the most"
            )

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng([self.seed, self.epoch])
        stratum, pair = draw_distinct(rng, self._strata.pairs, self.plan.max_pairs_per_concept)
        owner = rng.permutation(self._n_concepts)[self._place[stratum]]
        order = rng.permutation(len(owner))  # the pairs of a concept come together, in a random order
        order = order[np.argsort(owner[order], kind="stable")]
        batches = fill_batches(rng, owner[order], self._n_batches, self.batch_size // 2)
        for start in range(0, self._n_batches, _BLOCK):
            drawn = order[batches[start : start + _BLOCK]].reshape(-1)
            rows = self.rows.of(self._strata.texts(stratum[drawn], pair[drawn]))
            yield from rows.reshape(-1, self.batch_size).tolist()

    def __len__(self) -> int:
        return self._n_batches


@dataclass(frozen=True, kw_only=True)
class GraphBatches(TerminologyBatches, GraphPlan):
    """Creates a :class:`GraphBatchSampler`; the options are those of :class:`GraphPlan`."""

    sampler_class: ClassVar = GraphBatchSampler
    plan_class: ClassVar = GraphPlan
