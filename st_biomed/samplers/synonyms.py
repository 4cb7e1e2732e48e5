"""Batches of synonyms: a few names of each of a few concepts (SapBERT's pairs, which are never written out)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from st_biomed.errors import InputError, check_instance, check_integer
from st_biomed.samplers.base import EpochBatchSampler, SamplerArguments
from st_biomed.samplers.batch_factories import TerminologyBatches
from st_biomed.samplers.language_pairs import SynonymPairStrata
from st_biomed.samplers.rows import NameRows
from st_biomed.terminology import Terminology
from st_biomed.training_data.draws import draw_distinct, pair_of

if TYPE_CHECKING:
    from datasets import Dataset

_BLOCK = 64  # batches whose names are looked up together


@dataclass(frozen=True, kw_only=True)
class SynonymPlan:
    """The synonyms of an epoch.

    Attributes:
        names_per_concept: K, the names in a group.
        max_pairs_per_concept: Maximum number of synonym pairs per concept in an epoch.
        pivot_language: ISO 639-1 code of the language that other languages are paired with, e.g. ``"en"``; by default
            languages are ignored. Needs two names per concept.

    Raises:
        InputError: A number out of range, or a pivot language with groups of another size.
    """

    names_per_concept: int = 2
    max_pairs_per_concept: int = 50
    pivot_language: str | None = None

    def __post_init__(self) -> None:
        check_integer("names_per_concept", self.names_per_concept, 2)
        check_integer("max_pairs_per_concept", self.max_pairs_per_concept)
        if self.pivot_language is not None and self.names_per_concept != 2:
            raise InputError(
                f"pivot_language {self.pivot_language!r} needs names_per_concept=2, found {self.names_per_concept}"
            )


class SynonymBatchSampler(EpochBatchSampler):
    """Every batch holds groups of names of one concept, and always ``batch_size`` rows.

    With two names per concept, an epoch visits all pairs of synonyms once, in random order, with at most
    ``max_pairs_per_concept`` of a concept ("any concepts with more than 50 positive pairs are randomly trimmed to 50
    pairs", SapBERT, section 3), drawn again in every epoch. With K names, a concept has enough groups for that many
    pairs: ``ceil(min(cap, n(n-1)/2) / (k(k-1)/2))`` with ``k = min(K, n)`` distinct names each.

    With a pivot language the pairs are drawn by strata, as in BERGAMOT: for each concept, pairs within each language
    and pairs of each other language with the pivot, at most ``max_pairs_per_concept`` of each.

    The groups of a concept are spread evenly over the epoch. Two groups of a concept share a batch only if the epoch
    has fewer than about twice as many batches as the concept has groups. The stream of groups is cut every
    ``batch_size`` rows, through a group if the sizes do not add up. Rows that do not fill a last batch are left out of
    the epoch.

    Args:
        dataset: Names, see :func:`~st_biomed.training_data.names.names_dataset`.
        batch_size: Rows of every batch; at least two groups.
        **sampler_arguments: See :class:`~st_biomed.samplers.base.EpochBatchSampler`.

    Attributes:
        n_skipped: Concepts left out because the dataset has only one of their names.

    Raises:
        InputError: No concept with two names, no name in the pivot language, too few groups for one batch.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        *,
        terminology: Terminology,
        plan: SynonymPlan = SynonymPlan(),
        **sampler_arguments: Unpack[SamplerArguments],
    ) -> None:
        super().__init__(dataset, batch_size, **sampler_arguments)
        self.plan = plan
        names_per_concept, pivot_language = plan.names_per_concept, plan.pivot_language
        if batch_size < 2 * names_per_concept:
            raise InputError(
                f"batch_size must hold two groups of {names_per_concept} names, so at least "
                f"{2 * names_per_concept}; found {batch_size}"
            )
        check_instance("terminology", terminology, Terminology)
        self.rows = NameRows(dataset, terminology)
        counts = self.rows.names.counts
        self.n_skipped = int((counts == 1).sum())
        self._concepts = np.flatnonzero(counts > 1).astype(np.int32)
        if not len(self._concepts):
            raise InputError(f"no synonyms: none of {self.n_skipped:,} concepts has two names")
        self._counts = counts[self._concepts]
        self._strata = (
            None if pivot_language is None else SynonymPairStrata(terminology, self.rows.names, pivot_language)
        )
        self._pairs = self._counts * (self._counts - 1) // 2 if self._strata is None else self._strata.pairs
        size = np.minimum(self._counts, names_per_concept) if self._strata is None else np.full(len(self._pairs), 2)
        per_group = size * (size - 1) // 2
        self._groups = -(-np.minimum(self._pairs, plan.max_pairs_per_concept) // per_group)
        self._n_batches = int((self._groups * size).sum()) // batch_size
        if not self._n_batches:
            raise InputError(
                f"batch_size {batch_size} is too large: {len(self._concepts):,} concepts with synonyms fill "
                f"{int((self._groups * size).sum())} rows"
            )

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng([self.seed, self.epoch])
        if self.plan.names_per_concept == 2:
            owner, pair = draw_distinct(rng, self._pairs, self.plan.max_pairs_per_concept)
        else:
            owner, pair = np.repeat(np.arange(len(self._groups), dtype=np.int32), self._groups), None
        order = _spread(rng, owner, self._groups)
        left = np.empty(0, dtype=np.int64)
        step = _BLOCK * self.batch_size // self.plan.names_per_concept
        for start in range(0, len(order), step):
            group = order[start : start + step]
            if self._strata is not None and pair is not None:
                texts = self._strata.texts(owner[group], pair[group]).reshape(-1)
            elif pair is None:
                which, rank = draw_distinct(rng, self._counts[owner[group]], self.plan.names_per_concept)
                texts = self._texts_at(owner[group][which], rank)
            else:
                texts = self._texts_at(np.repeat(owner[group], 2), np.stack(pair_of(pair[group]), axis=1).reshape(-1))
            rows = np.concatenate([left, self.rows.of(texts)])
            full = len(rows) // self.batch_size * self.batch_size
            yield from rows[:full].reshape(-1, self.batch_size).tolist()
            left = rows[full:]

    def _texts_at(self, concept: np.ndarray, rank: np.ndarray) -> np.ndarray:
        """The names of concepts (by their place among those with synonyms) with a rank, ``[N]``."""
        names = self.rows.names
        return names.indices[names.indptr[self._concepts[concept]] + rank]

    def __len__(self) -> int:
        return self._n_batches


@dataclass(frozen=True, kw_only=True)
class SynonymBatches(TerminologyBatches, SynonymPlan):
    """Creates a :class:`SynonymBatchSampler`; the options are those of :class:`SynonymPlan`."""

    sampler_class: ClassVar = SynonymBatchSampler
    plan_class: ClassVar = SynonymPlan


def _spread(rng: np.random.Generator, owner: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """A random order of groups in which those of one owner keep their distance.

    The epoch is cut into as many equal parts as the owner has groups, from a random point on; one group falls into
    the first half of each part.

    Args:
        owner: Owner of each group, sorted, ``[G]``.
        groups: Number of groups of each owner, ``[N]``.

    Returns:
        Group indices in order, ``[G]``.
    """
    place = rng.random(len(owner), dtype=np.float32)
    place *= 0.5
    place += np.arange(len(owner)) - np.repeat(np.cumsum(groups) - groups, groups)
    place /= groups[owner]
    place += rng.random(len(groups), dtype=np.float32)[owner]
    place %= 1
    return np.argsort(place, kind="stable")
