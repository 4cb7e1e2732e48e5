"""Batches of different concepts with two names each, for training on a graph of concepts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sentence_transformers.base import DefaultBatchSampler

from st_biomed.errors import InputError
from st_biomed.samplers.arguments import TrainingBatches, known_by, recall
from st_biomed.samplers.dealing import deal, most_batches
from st_biomed.samplers.rows import NameRows
from st_biomed.samplers.strata import PairStrata
from st_biomed.terminology import Terminology
from st_biomed.training_data.draws import draw_distinct

if TYPE_CHECKING:
    import torch
    from datasets import Dataset

PIVOT = "en"
"""BERGAMOT's pairs are English-English, within a language of its own, and from each language to English."""

_BLOCK = 64  # batches whose names are looked up together


class GraphBatchSampler(DefaultBatchSampler):
    """Every batch holds two names of each of ``batch_size / 2`` concepts, and no concept twice.

    The pairs are drawn by strata, anew every epoch: of each concept those of two names in one language, and those of a
    name in another language with one in the pivot language, at most ``max_pairs_per_concept`` of each, as
    :class:`~st_biomed.samplers.synonyms.SynonymBatchSampler` draws them. Where all names are in the pivot language, these
    are all pairs of synonyms. A concept that has more pairs than an epoch has batches gives as many, and what does not
    fill a last batch waits for another epoch's order.

    Args:
        dataset: Names, see :func:`~st_biomed.training_data.names.names_dataset`.
        batch_size: Rows of every batch, an even number from 4 on.
        drop_last: Ignored: an incomplete batch is always dropped.
        valid_label_columns: Ignored.
        generator: Ignored: an epoch depends on ``seed`` and ``epoch`` alone, in every process.
        seed: Seed.
        terminology: Where the labels come from.
        max_pairs_per_concept: Most pairs of a concept in a stratum and an epoch.
        pivot_language: ISO 639-1 code; ``None`` where languages do not matter.

    Attributes:
        n_skipped: Concepts left out because the dataset has no pair of names of them that could be drawn.

    Raises:
        InputError: No pair of names, no name in the pivot language, a number out of range, too few concepts for a batch.
    """

    def __init__(  # noqa: PLR0913 - the host's six arguments and ours
        self,
        dataset: Dataset,
        batch_size: int,
        drop_last: bool = True,
        valid_label_columns: list[str] | None = None,
        generator: torch.Generator | None = None,
        seed: int = 0,
        *,
        terminology: Terminology,
        max_pairs_per_concept: int = 50,
        pivot_language: str | None = PIVOT,
    ) -> None:
        super().__init__(dataset, batch_size, drop_last, valid_label_columns, generator, seed)
        self.dataset = dataset
        if batch_size < 4 or batch_size % 2:
            raise InputError(
                f"batch_size holds two names of at least two concepts: 4 or a larger even number, found {batch_size}"
            )
        if max_pairs_per_concept < 1:
            raise InputError(f"max_pairs_per_concept must be at least 1, found {max_pairs_per_concept}")
        self.max_pairs_per_concept = max_pairs_per_concept
        self.rows = NameRows(dataset, terminology)
        self._strata = PairStrata(terminology, self.rows.names, pivot_language)
        concepts, self._place = np.unique(self._strata.concepts, return_inverse=True)
        self.n_skipped = int((self.rows.names.counts > 0).sum()) - len(concepts)
        drawn = np.minimum(self._strata.pairs, max_pairs_per_concept)
        pairs = np.zeros(len(concepts), dtype=np.int64)
        np.add.at(pairs, self._place, drawn)
        self._n_concepts = len(concepts)
        self._n_batches = most_batches(pairs, batch_size // 2)
        if not self._n_batches:
            raise InputError(
                f"batch_size {batch_size} is too large: it holds {batch_size // 2:,} concepts, "
                f"{len(concepts):,} have two names, so that {2 * len(concepts)} is the most"
            )

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng([self.seed, self.epoch])
        stratum, pair = draw_distinct(rng, self._strata.pairs, self.max_pairs_per_concept)
        owner = rng.permutation(self._n_concepts)[self._place[stratum]]
        order = rng.permutation(len(owner))  # the pairs of a concept come together, in a random order
        order = order[np.argsort(owner[order], kind="stable")]
        batches = deal(rng, owner[order], self._n_batches, self.batch_size // 2)
        for start in range(0, self._n_batches, _BLOCK):
            drawn = order[batches[start : start + _BLOCK]].reshape(-1)
            rows = self.rows.of(self._strata.texts(stratum[drawn], pair[drawn]))
            yield from rows.reshape(-1, self.batch_size).tolist()

    def __len__(self) -> int:
        return self._n_batches


@dataclass(frozen=True, kw_only=True)
class GraphBatches(TrainingBatches):
    """Makes a :class:`GraphBatchSampler`; see :class:`~st_biomed.samplers.arguments.TrainingBatches`.

    Attributes:
        digest: Digest of the terminology.
        path: Folder where it is saved, for other processes.
        max_pairs_per_concept: Most pairs of a concept in a stratum and an epoch.
        pivot_language: Language that others are paired with.
    """

    digest: str
    path: str | None = None
    max_pairs_per_concept: int = 50
    pivot_language: str | None = PIVOT

    @classmethod
    def of(
        cls,
        terminology: Terminology,
        path: str | Path | None = None,
        *,
        dataset: Dataset | None = None,
        max_pairs_per_concept: int = 50,
        pivot_language: str | None = PIVOT,
    ) -> GraphBatches:
        """The batches of a terminology's names.

        Args:
            terminology: Where the labels come from.
            path: Folder where it is saved; needed only to unpickle the batches in another process.
            dataset: The training dataset, if it holds a selection of the names only.
            max_pairs_per_concept, pivot_language: See :class:`GraphBatchSampler`.
        """
        return cls(
            **known_by(terminology, path, dataset),
            max_pairs_per_concept=max_pairs_per_concept,
            pivot_language=pivot_language,
        )

    def sampler(self, dataset: Dataset, batch_size: int, seed: int) -> GraphBatchSampler:
        return GraphBatchSampler(
            dataset,
            batch_size,
            seed=seed,
            terminology=recall(self.digest, self.path),
            max_pairs_per_concept=self.max_pairs_per_concept,
            pivot_language=self.pivot_language,
        )
