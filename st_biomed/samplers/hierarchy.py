"""Batches from a hierarchy: an anchor and its partners at every distance, group after group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

import numpy as np

from st_biomed.csr import CSR
from st_biomed.errors import InputError, check_instance, check_integer, check_name, check_number
from st_biomed.hierarchy import Hierarchy
from st_biomed.samplers.base import EpochBatchSampler, SamplerArguments
from st_biomed.samplers.batch_factories import TerminologyBatches, cached_terminology, dataset_fields
from st_biomed.samplers.groups import PartnerGroups
from st_biomed.samplers.named_functions import function_name, function_named
from st_biomed.samplers.rows import NameRows
from st_biomed.settings.checks import LARGEST
from st_biomed.terminology import Terminology

if TYPE_CHECKING:
    from datasets import Dataset

_BLOCK = 32  # batches that are drawn together
_HIERARCHIES: dict[tuple[object, ...], Hierarchy] = {}


@dataclass(frozen=True, kw_only=True)
class HierarchyPlan:
    """The anchors of an epoch, and their partners.

    Attributes:
        partners: Number of partners at each distance from 0 to ``hierarchy.far``, as a sequence or a mapping from
            distance to number; by default one synonym and two partners at every other distance.
        synonym_anchors: Share of anchors that must have a synonym, from 0 (no requirement) to 1.
        anchor_repeats: Mapping from source to the number of times each of its anchors occurs in an epoch; 1 for other
            sources. A concept belongs to the sources of its edges; if there are several, the largest number applies.
        names_per_partner: Maximum number of names that one draw of a related concept adds to the partners at its
            distance; above 1, fewer concepts are partners. Concepts are drawn with replacement: one that is drawn again
            adds other names of it, or repeats, which do not count.

    Raises:
        InputError: A number out of range.
    """

    partners: Sequence[int] | Mapping[int, int] | None = None
    synonym_anchors: float = 0.0
    anchor_repeats: Mapping[str, int] | None = None
    names_per_partner: int = 1

    def __post_init__(self) -> None:
        if not 0 <= check_number("synonym_anchors", self.synonym_anchors) <= 1:
            raise InputError(f"synonym_anchors must be a share from 0 to 1, found {self.synonym_anchors}")
        check_integer("names_per_partner", self.names_per_partner)
        if self.partners is not None and not isinstance(self.partners, (Sequence, Mapping)):
            raise InputError(f"partners must be a sequence or a mapping of integers, found {self.partners!r}")
        counts = self.partners.values() if isinstance(self.partners, Mapping) else self.partners or ()
        for count in counts:
            check_integer("partners", count, 0)
        if self.anchor_repeats is not None:
            check_instance("anchor_repeats", self.anchor_repeats, Mapping)
            for repeats in self.anchor_repeats.values():
                check_integer("anchor_repeats", repeats)
                if repeats > LARGEST:
                    raise InputError(f"anchor_repeats must be at most {LARGEST}, found {repeats}")


class HierarchyBatchSampler(EpochBatchSampler):
    """Every batch holds groups of one anchor and its partners, and always ``batch_size`` rows.

    A group has ``1 + sum(partners)`` rows: the anchor, then ``partners[0]`` other names of its concept, then
    ``partners[d]`` names at each distance ``d``. Partners are drawn uniformly and with replacement from the relatives
    of the anchor's concept (a concept related in two ways, e.g. by two common parents, is twice as likely), each with one
    of its names; a concept that is drawn twice may contribute two names. Their distance is checked for the texts: a
    nearer relation by another path excludes a partner. Missing partners at a distance are replaced by far texts, which
    are drawn from the anchor's sources until they are at the largest distance. No text occurs twice in a group, unless the sources are too small. Rows that do not fit a group are
    random texts from the sources of the batch's anchors.

    The distances here are the hierarchy's own levels, from 0 to ``hierarchy.far``, *before* its level function. The
    function is applied only to batches: it changes the distances that a loss sees within a group, but never the
    members of the group. If its levels differ, request partners at the levels before the function.

    An anchor is a (concept, name) pair of a concept that has a parent or a child. An epoch visits all anchors once in
    random order, except for a remainder smaller than a batch. With ``synonym_anchors``, that share of the anchors is
    drawn from anchors with a synonym, repeated as often as needed. ``anchor_repeats`` repeats the anchors of small
    hierarchies, as in HiPrBERT's published code. With ``names_per_partner`` above 1, each draw of a related concept
    contributes several names, so a batch also holds synonyms of siblings: hard positives and hard negatives at once.

    Args:
        dataset: Names, see :func:`~st_biomed.training_data.names.names_dataset`.
        batch_size: Rows of every batch; at least one group.
        **sampler_arguments: See :class:`~st_biomed.samplers.base.EpochBatchSampler`.

    Attributes:
        partners: Number of partners at each distance.
        group_size: ``1 + sum(partners)``, for a loss within groups; use a multiple as ``batch_size``.

    Raises:
        InputError: An empty hierarchy, a number out of range, no synonyms although some are required, or too few
            anchors or texts for one batch.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int,
        *,
        hierarchy: Hierarchy,
        plan: HierarchyPlan = HierarchyPlan(),
        **sampler_arguments: Unpack[SamplerArguments],
    ) -> None:
        super().__init__(dataset, batch_size, **sampler_arguments)
        check_instance("hierarchy", hierarchy, Hierarchy)
        self.hierarchy = hierarchy
        self.partners = partners_per_distance(plan.partners, hierarchy.far)
        self.group_size = 1 + sum(self.partners)
        self.plan = plan
        if batch_size < self.group_size:
            raise InputError(
                f"batch_size must hold an anchor and its {sum(self.partners)} partners, so at least "
                f"{self.group_size}; found {batch_size}"
            )
        self.rows = NameRows(dataset, hierarchy.terminology)
        if batch_size > len(self.rows.texts):
            raise InputError(f"batch_size {batch_size} is too large: the dataset has {len(self.rows.texts)} texts")
        placed = (hierarchy.parents.counts > 0) | (hierarchy.children.counts > 0)
        if not placed.any():
            raise InputError(f"the hierarchy is empty: no concept of {hierarchy.terminology!r} has a parent")
        names = self.rows.names
        repeats = placed * repeats_per_concept(hierarchy, plan.anchor_repeats or {})
        self._anchors = _entries(names, repeats)
        self._with_synonym = _entries(names, repeats * (names.counts > 1))
        if plan.synonym_anchors > 0 and not len(self._with_synonym):
            raise InputError(
                f"synonym_anchors is {plan.synonym_anchors}, but no concept of the hierarchy has two names"
            )
        self._per_batch = batch_size // self.group_size
        self._n_batches = len(self._anchors) // self._per_batch
        if not self._n_batches:
            raise InputError(
                f"batch_size {batch_size} is too large: {len(self._anchors)} anchors do not fill "
                f"{self._per_batch} groups of {self.group_size}"
            )
        self._groups = PartnerGroups(hierarchy, self.rows, self.partners, plan.names_per_partner)

    def __len__(self) -> int:
        return self._n_batches

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng([self.seed, self.epoch])
        anchors = self._epoch_anchors(rng).reshape(self._n_batches, self._per_batch)
        for start in range(0, self._n_batches, _BLOCK):
            block = anchors[start : start + _BLOCK]
            groups = self._groups.draw(rng, block.reshape(-1))
            texts = np.empty((len(block), self.batch_size), dtype=np.int64)
            full = self._per_batch * self.group_size
            texts[:, :full] = groups.reshape(len(block), full)
            chosen = rng.integers(self._per_batch, size=(len(block), self.batch_size - full))
            near = np.take_along_axis(groups[:, 0].reshape(block.shape), chosen, axis=1).reshape(-1)
            texts[:, full:] = self._groups.others(rng, near, 1).reshape(chosen.shape)
            yield from self.rows.of(texts).tolist()

    def _epoch_anchors(self, rng: np.random.Generator) -> np.ndarray:
        """The anchors of an epoch in order, as entries of the concept-to-names table."""
        total = self._n_batches * self._per_batch
        chosen = round(self.plan.synonym_anchors * total)
        anchors = np.concatenate([_cycle(rng, self._with_synonym, chosen), _cycle(rng, self._anchors, total - chosen)])
        return rng.permutation(anchors) if chosen else anchors


@dataclass(frozen=True, kw_only=True)
class HierarchyBatches(TerminologyBatches, HierarchyPlan):
    """Creates a :class:`HierarchyBatchSampler`; the options are those of :class:`HierarchyPlan`.

    Attributes:
        distance, levels, max_distance, source_distances: The definition of the hierarchy's distances.
        level_function, weight_function: Names of the hierarchy's functions, see :func:`function_name`.
    """

    plan_class: ClassVar = HierarchyPlan

    distance: str
    levels: tuple[str | tuple[str, ...], ...]
    max_distance: int
    source_distances: tuple[tuple[str, str], ...] = ()
    level_function: str | None = None
    weight_function: str | None = None

    @classmethod
    def of(  # type: ignore[override]
        cls,
        hierarchy: Hierarchy | Terminology,
        path: str | Path | None = None,
        *,
        dataset: Dataset | None = None,
        **options: Any,
    ) -> Self:
        """The batches of the names of a hierarchy's terminology.

        Args:
            hierarchy: The distances; for a terminology, those of ``Hierarchy(terminology)``.
            path: Folder where the terminology is saved; needed only to unpickle the batches in another process, where
                the hierarchy's functions must also be importable by name (no lambda, no instance).
            dataset: The training dataset, if it holds only a selection of the names.
            **options: Attributes of the plan.

        Raises:
            InputError: An option that the plan does not have, or a number out of range.
        """
        cls.check_options(options)
        hierarchy = hierarchy if isinstance(hierarchy, Hierarchy) else Hierarchy(hierarchy)
        batches = cls(
            **dataset_fields(hierarchy.terminology, path, dataset),
            distance=hierarchy.distance_type,
            levels=hierarchy.levels,
            max_distance=hierarchy.max_distance,
            source_distances=tuple(hierarchy.source_distances.items()),
            level_function=function_name(hierarchy.level_function),
            weight_function=function_name(hierarchy.weight_function),
            **options,
        )
        partners_per_distance(batches.partners, hierarchy.far)
        _HIERARCHIES[batches._key] = hierarchy
        return batches

    @property
    def _key(self) -> tuple[object, ...]:
        functions = self.level_function, self.weight_function
        return self.digest, self.distance, self.levels, self.max_distance, self.source_distances, *functions

    def sampler(self, dataset: Dataset, batch_size: int, seed: int) -> HierarchyBatchSampler:
        if self._key not in _HIERARCHIES:
            _HIERARCHIES[self._key] = Hierarchy(
                cached_terminology(self.digest, self.path),
                self.distance,
                levels=self.levels,
                max_distance=self.max_distance,
                source_distances=dict(self.source_distances),
                level_function=function_named(self.level_function),
                weight_function=function_named(self.weight_function),
            )
        return HierarchyBatchSampler(dataset, batch_size, seed=seed, hierarchy=_HIERARCHIES[self._key], plan=self)


def partners_per_distance(partners: Sequence[int] | Mapping[int, int] | None, max_distance: int) -> tuple[int, ...]:
    """The number of partners at each distance from 0 to ``max_distance``.

    Raises:
        InputError: A distance or a number out of range, or no partner at all.
    """
    if partners is None:
        return (1,) + (2,) * max_distance
    counts = dict(partners) if isinstance(partners, Mapping) else dict(enumerate(partners))
    numbers = tuple(counts.get(d, 0) for d in range(max_distance + 1))
    if set(counts) - set(range(max_distance + 1)) or min(numbers) < 0 or not sum(numbers):
        raise InputError(f"partners must give a number for each distance from 0 to {max_distance}, found {partners}")
    return numbers


def repeats_per_concept(hierarchy: Hierarchy, anchor_repeats: Mapping[str, int]) -> np.ndarray:
    """The number of times that the anchors of each concept occur in an epoch, ``[C]``.

    Raises:
        InputError: A source that is not in the hierarchy, or has no edge there and thus no anchor.
    """
    sources = list(hierarchy.terminology.sources)
    placed = hierarchy.terminology.parents["source"].unique().to_pylist()
    for source in anchor_repeats:
        check_name("source of anchor_repeats", source, sources)
        if source not in placed:
            raise InputError(f"anchor_repeats must name sources with parents, found {source!r}, which has none")
    repeats = np.ones(hierarchy.terminology.n_concepts, dtype=np.int32)
    if not anchor_repeats:
        return repeats
    of_source = np.array([anchor_repeats.get(source, 1) for source in sources], dtype=np.int32)
    concept, of_concept = hierarchy.concept_sources.take(np.arange(hierarchy.terminology.n_concepts))
    np.maximum.at(repeats, concept, of_source[of_concept])
    return repeats


def _entries(names: CSR, repeats: np.ndarray) -> np.ndarray:
    """Entries of the concept-to-names table, those of each concept ``repeats`` times, int32."""
    entries = np.flatnonzero(np.repeat(repeats > 0, names.counts)).astype(np.int32)
    if repeats.max(initial=0) <= 1:
        return entries
    return np.repeat(entries, repeats[np.searchsorted(names.indptr, entries, side="right") - 1])


def _cycle(rng: np.random.Generator, entries: np.ndarray, n: int) -> np.ndarray:
    """The first ``n`` of random orders of all entries one after another."""
    orders = [rng.permutation(entries) for _ in range(-(-n // max(1, len(entries))))]
    return np.concatenate([*orders, entries[:0]])[:n]
