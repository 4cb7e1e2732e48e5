"""Settings of a tree benchmark: held-out sub-trees, and the pairs to measure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import NamedTuple, Unpack

import numpy as np

from st_biomed.errors import InputError
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluatorOptions
from st_biomed.evaluators.data_folder import data_path, open_terminology, source_names
from st_biomed.evaluators.tree.evaluator import TreeEvaluator
from st_biomed.hierarchy import Hierarchy
from st_biomed.training_data import Splits, split_by_subtree
from st_biomed.training_data.held_out_concepts import DEV, TEST

_OF_SPLIT = ("subtrees", "depth", "dev", "test", "test_roots", "terminology", "dev_pairs", "test_pairs")


class HeldOutTrees(NamedTuple):
    """Terminologies for training, validation and testing, with the evaluators of the last two."""

    splits: Splits
    dev: TreeEvaluator
    test: TreeEvaluator


@dataclass(frozen=True)
class TreeSettings:
    """The held-out sub-trees, and the measured pairs of their names.

    Args:
        name: Prefix of the metrics.
        sources: The terminology, see :func:`~st_biomed.evaluators.data_folder.open_terminology`; only used if it is
            not passed to :meth:`hold_out`.
        pairs: A file of ``distance||term||term`` lines, in place of a terminology.
        whole: Whether to draw pairs from the whole terminology, without holding out anything from training.
        subtrees: Regular expression for the codes of the roots of sub-trees; empty to use the concepts at ``depth``.
        depth: Depth of the roots if ``subtrees`` is empty.
        dev, test: Shares of the roots, or their numbers if they are 1 or more.
        test_roots: Codes of the roots of test, in place of a draw.
        seed: Seed of the split; the pairs of dev and test are drawn with ``seed + 1`` and ``seed + 2``.
        pairs_per_class: Number of pairs at each distance.
        pairs_per_concept: Largest number of pairs at each distance with one concept as anchor; 0 for any. Otherwise a few large
            trees can have most pairs.
        distances: The distances; empty for all. Without synonyms there are no pairs at distance 0.
        distance: Definition of the distances of ``sources``, see :class:`~st_biomed.hierarchy.Hierarchy`; a recipe that
            holds the sub-trees out has its own.
        terminology: Digest of the terminology of a frozen protocol; empty otherwise.
        dev_pairs, test_pairs: SHA-256 of the pair lists of a frozen protocol; empty otherwise.
    """

    name: str = "tree"
    sources: list[str] = field(default_factory=list)
    pairs: str = ""
    whole: bool = False
    subtrees: str = ""
    depth: int = 1
    dev: float = 1 / 6
    test: float = 1 / 6
    test_roots: list[str] = field(default_factory=list)
    seed: int = 0
    pairs_per_class: int = 800
    pairs_per_concept: int = 0
    distances: list[int] = field(default_factory=list)
    distance: str = "sibling_parent"
    terminology: str = ""
    dev_pairs: str = ""
    test_pairs: str = ""

    @property
    def has_dev(self) -> bool:
        """Whether the benchmark has a dev split."""
        return bool(self.sources) and not self.whole and not self.pairs

    def evaluators(
        self, *, as_published: bool = False, **options: Unpack[EvaluatorOptions]
    ) -> list[EmbeddingEvaluator]:
        """The evaluator of the test trees, of all trees, or of a file; the published scoring is the same.

        Raises:
            InputError: Neither a terminology nor a file, or both; settings of the draw with a file, or of the held-out
                sub-trees with the whole terminology; a terminology without parents or without synonyms; or an error of
                :meth:`hold_out` or :meth:`TreeEvaluator.from_file`.
        """
        if bool(self.sources) == bool(self.pairs):
            raise InputError(f"{self.name}: expected either a terminology (sources) or a file (pairs) of the trees")
        if self.pairs:
            if drawn := self._given([part.name for part in fields(self) if part.name not in ("name", "pairs")]):
                raise InputError(f"{self.name}: pairs of a file are not drawn; remove {', '.join(drawn)}")
            options["name"] = self.name
            return [TreeEvaluator.from_file(data_path(self.pairs), **options)]
        if self.whole and (split := self._given(_OF_SPLIT)):
            raise InputError(f"{self.name}: whole: true holds no sub-trees out; remove {', '.join(split)}")
        hierarchy = self._hierarchy()
        if self.whole:
            options["name"] = self.name
            return [
                TreeEvaluator.from_hierarchy(
                    hierarchy,
                    pairs_per_class=self.pairs_per_class,
                    pairs_per_concept=self.pairs_per_concept,
                    distances=self.distances or None,
                    seed=self.seed,
                    **options,
                )
            ]
        return [self.hold_out(hierarchy, **options).test]

    def dev_evaluators(self, **options: Unpack[EvaluatorOptions]) -> list[EmbeddingEvaluator]:
        """The evaluator of the dev trees, without intervals; raises what :meth:`evaluators` does."""
        options["n_bootstrap"] = 0
        return [self.hold_out(self._hierarchy(), **options).dev]

    def _given(self, names: Iterable[str]) -> list[str]:
        """Those of some settings that differ from their defaults."""
        defaults = TreeSettings()
        return [name for name in names if getattr(self, name) != getattr(defaults, name)]

    def _hierarchy(self) -> Hierarchy:
        terminology = open_terminology(self.sources)
        if terminology.parents.num_rows == 0:
            raise InputError(f"{self.name}: no concept has a parent, the hierarchy is empty")
        hierarchy = Hierarchy(terminology, self.distance)
        if 0 in (self.distances or [0]) and terminology.concept_texts.counts.max() < 2:
            raise InputError(f"{self.name}: no concept has a synonym, so no pair is at distance 0")
        return hierarchy

    def hold_out(self, hierarchy: Hierarchy, **options: Unpack[EvaluatorOptions]) -> HeldOutTrees:
        """Split the terminology and draw the pairs.

        Distances are those of the whole hierarchy, so sub-trees below one parent remain siblings.

        Args:
            **options: Options of both evaluators; ``name`` is the protocol's. Dev has no intervals by default.

        Raises:
            InputError: Too few sub-trees or pairs, or a terminology or pairs that differ from the frozen ones.
        """
        if self.terminology and hierarchy.digest != self.terminology:
            raise InputError(
                f"protocol {self.name} was frozen on terminology {self.terminology[:12]}, found {hierarchy.digest[:12]}: "
                "figures would not be comparable; omit the protocol and pass its settings as arguments"
            )
        splits = split_by_subtree(
            hierarchy,
            pattern=self.subtrees or None,
            depth=None if self.subtrees else self.depth,
            dev=self.dev,
            test=self.test,
            test_roots=self.test_roots,
            seed=self.seed,
        )
        evaluators = []
        for side, frozen in ((DEV, self.dev_pairs), (TEST, self.test_pairs)):
            name = f"{self.name}_{'dev' if side == DEV else 'test'}"
            own: EvaluatorOptions = {**options, "name": name}
            if side == DEV:
                own.setdefault("n_bootstrap", 0)
            evaluator = TreeEvaluator.from_hierarchy(
                hierarchy,
                np.flatnonzero(splits.text_split == side),
                pairs_per_class=self.pairs_per_class,
                pairs_per_concept=self.pairs_per_concept,
                anchors=np.flatnonzero(splits.concept_split == side),
                distances=self.distances or None,
                seed=self.seed + side,
                text_subtree=splits.text_subtree,
                **own,
            )
            if frozen and evaluator.pairs_digest != frozen:
                raise InputError(
                    f"protocol {name}: pairs have sha256 {evaluator.pairs_digest}, expected the frozen {frozen}"
                )
            evaluators.append(evaluator)
        return HeldOutTrees(splits, *evaluators)

    def source_names(self) -> list[str]:
        """The sources of its terminology; none of a file's."""
        return source_names(self.sources)


FAMILY = "hierarchy"
SETTINGS = TreeSettings
