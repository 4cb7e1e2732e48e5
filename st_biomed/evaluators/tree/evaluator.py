"""Tree discrimination: do cosines order pairs of texts like their distance in a hierarchy?"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from st_biomed.errors import InputError, check_instance
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluationResult, EvaluatorOptions
from st_biomed.evaluators.embedders import EmbedOnce
from st_biomed.evaluators.tree.file import pair_lines, read_pairs, write_pairs
from st_biomed.evaluators.tree.pairs import draw_pairs
from st_biomed.losses.citations import HIPRBERT
from st_biomed.metrics import Units, cosine_of_pairs, discrimination
from st_biomed.metrics.distance_resampler import units_of_trees

if TYPE_CHECKING:
    from st_biomed.hierarchy import Hierarchy

logger = logging.getLogger(__name__)


class TreeEvaluator(EmbeddingEvaluator):
    """Measures how well cosines separate pairs at one distance of a hierarchy from pairs at another (HiPrBERT, 4.2).

    The metrics are those of :func:`~st_biomed.metrics.tree_auc.discrimination`: ``auc_ivj``, ``pr_auc_ivj``,
    ``ap_ivj`` and ``spearman_ivj`` for every pair of distances i < j (six pairs for four distances, ten for five),
    ``spearman_global``, and ``mean_auc``, the primary metric. With several trees, the metrics are also given as the
    mean over the trees that have both distances (``macro_auc_ivj``) and for each tree (``<tree>/auc_ivj``); a tree
    that lacks a distance has no ``mean_auc``.

    Args:
        pairs: Two texts each, ``[N]``.
        distances: Distance of each pair, ``[N]`` integers from 0; at least two different ones.
        trees: Name of the tree or source of each pair, ``[N]``.
        subtrees: Numbers of the sub-trees that the two texts of each pair belong to, ``[N, 2]``. If there are many, the
            interval and the paired test draw sub-trees, see :class:`~st_biomed.metrics.distance_resampler.DistanceAUCResampler`.
        **options: See :class:`~st_biomed.evaluators.base.EmbeddingEvaluator`.

    Raises:
        InputError: Different lengths, an invalid pair, a negative distance, or only one distance.

    Example:
        ::

            evaluator = TreeEvaluator.from_hierarchy(hierarchy, held_out_texts, name="icd10cm")
            before = evaluator(model)
            ...
            print(evaluator.table(before=before, after=evaluator(model)))
    """

    def __init__(
        self,
        pairs: Sequence[tuple[str, str]],
        distances: Sequence[int] | np.ndarray,
        *,
        trees: Sequence[str] | None = None,
        subtrees: np.ndarray | None = None,
        **options: Unpack[EvaluatorOptions],
    ) -> None:
        super().__init__(primary="mean_auc", **options)
        if len(pairs) != len(distances) or (trees is not None and len(trees) != len(pairs)):
            found = f"{len(pairs):,} pairs and {len(distances):,} distances"
            found += "" if trees is None else f" and {len(trees):,} trees"
            raise InputError(f"pairs, distances and trees must be equally many, found {found}")
        if subtrees is not None and np.shape(subtrees) != (len(pairs), 2):
            raise InputError(
                f"subtrees: expected two numbers for each of {len(pairs):,} pairs, found {np.shape(subtrees)}"
            )
        if subtrees is not None and len(pairs) and np.min(subtrees) < 0:
            raise InputError(
                f"subtrees: must be numbers from 0, found {np.min(subtrees)}; each text belongs to a sub-tree"
            )
        for i, pair in enumerate(pairs):
            if len(pair) != 2 or not all(isinstance(text, str) for text in pair):
                raise InputError(f"pairs[{i}]: expected two texts, found {pair!r}")
        self.distances = np.asarray(distances)
        if self.distances.dtype.kind not in "iu" or self.distances.min(initial=0) < 0:
            raise InputError("distances: expected whole numbers from 0, found others")
        if len(self.counts) < 2:
            raise InputError(f"distances: at least two different ones are needed, found {list(self.counts)}")
        row: dict[str, int] = {}
        ends = np.array([[row.setdefault(text, len(row)) for text in pair] for pair in pairs])
        self.texts = list(row)
        self.left, self.right = ends.T
        self.trees = None if trees is None else np.array(trees, dtype=object)
        self.subtrees = None if subtrees is None else np.asarray(subtrees)

    # ------------------------------------------------------------------ making one

    @classmethod
    def from_hierarchy(
        cls,
        hierarchy: Hierarchy,
        texts: np.ndarray | None = None,
        *,
        pairs_per_class: int = 800,
        pairs_per_concept: int = 0,
        anchors: np.ndarray | None = None,
        distances: Sequence[int] | None = None,
        seed: int = 0,
        text_subtree: np.ndarray | None = None,
        **options: Unpack[EvaluatorOptions],
    ) -> TreeEvaluator:
        """Draw the pairs from a hierarchy, see :func:`~st_biomed.evaluators.tree.pairs.draw_pairs`.

        Args:
            hierarchy, texts, pairs_per_class, pairs_per_concept, anchors, distances, seed: See there.
            text_subtree: Number of the sub-tree of each text of the hierarchy, int ``[T]``.
            **options: See :class:`~st_biomed.evaluators.base.EmbeddingEvaluator`.

        Raises:
            InputError: No hierarchy, or no pair at one of the distances.
        """
        ids, levels = draw_pairs(
            hierarchy,
            texts,
            pairs_per_class=pairs_per_class,
            pairs_per_concept=pairs_per_concept,
            anchors=anchors,
            distances=distances,
            seed=seed,
        )
        strings = hierarchy.terminology.texts["text"].take(ids.ravel()).to_pylist()
        subtrees = None if text_subtree is None else text_subtree[ids]
        evaluator = cls(list(zip(strings[::2], strings[1::2])), levels, subtrees=subtrees, **options)
        for level, n in evaluator.counts.items():
            if n < pairs_per_class and not pairs_per_concept:
                logger.warning(
                    "%s, distance %d: %d pairs, %d were asked for", evaluator.name or "tree", level, n, pairs_per_class
                )
        return evaluator

    @classmethod
    def from_file(cls, path: str | Path, **options: Unpack[EvaluatorOptions]) -> TreeEvaluator:
        """Read ``distance||term||term`` lines.

        Raises:
            InputError: No such file, or a line of another form, with file and line.
        """
        pairs, distances = read_pairs(path)
        return cls(pairs, distances, **options)

    @classmethod
    def join(cls, trees: Mapping[str, TreeEvaluator], **options: Unpack[EvaluatorOptions]) -> TreeEvaluator:
        """One evaluator of several trees, from the evaluator of each tree.

        Raises:
            InputError: No tree was given, or something else than a mapping of evaluators.
        """
        check_instance("trees", trees, Mapping)
        if not trees:
            raise InputError("join needs at least one tree, found none")
        parts = list(trees.values())
        for tree, part in trees.items():
            check_instance(f"trees[{tree!r}]", part, TreeEvaluator)
        subtrees, n_before = [], 0
        for part in parts:
            if part.subtrees is not None:
                subtrees.append(part.subtrees + n_before)
                n_before += 1 + int(part.subtrees.max())
        return cls(
            [pair for part in parts for pair in part.pairs],
            np.concatenate([part.distances for part in parts]),
            trees=[tree for tree, part in trees.items() for _ in part.distances],
            subtrees=np.concatenate(subtrees) if len(subtrees) == len(parts) else None,
            **options,
        )

    # ------------------------------------------------------------------ the pairs

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The two texts of each pair, ``[N]``."""
        return [(self.texts[a], self.texts[b]) for a, b in zip(self.left, self.right)]

    @property
    def counts(self) -> dict[int, int]:
        """Distance to number of pairs."""
        return {int(level): int(n) for level, n in zip(*np.unique(self.distances, return_counts=True))}

    @cached_property
    def pairs_digest(self) -> str:
        """SHA-256 of the pairs as written by :meth:`to_file`."""
        return hashlib.sha256(pair_lines(self.pairs, self.distances)).hexdigest()

    def to_file(self, path: str | Path) -> None:
        """Write ``distance||term||term`` lines (the names of trees are not part of this format).

        Raises:
            InputError: A term with ``||`` or a line break.
        """
        write_pairs(path, self.pairs, self.distances)

    # ------------------------------------------------------------------ measuring

    def compute_metrics(self, embed: EmbedOnce) -> EvaluationResult:
        """The metrics listed above: first over all pairs, then the mean over trees, then each tree."""
        cosines = cosine_of_pairs(embed(self.texts), self.left, self.right)
        metrics = discrimination(cosines, self.distances)
        columns = [cosines, self.distances, *(() if self.subtrees is None else self.subtrees.T)]
        units = {"mean_auc": Units("pair", np.stack(columns, axis=1), "mean_auc")}
        if self.trees is None:
            return EvaluationResult(metrics, units)
        per_tree = {}
        for tree in dict.fromkeys(self.trees):
            rows = self.trees == tree
            per_tree[tree] = discrimination(cosines[rows], self.distances[rows])
            if len(per_tree[tree]) < len(metrics):
                per_tree[tree].pop("mean_auc", None)
        values = {key: [of_tree[key] for of_tree in per_tree.values() if key in of_tree] for key in metrics}
        metrics |= {f"macro_{key}": float(np.mean(of_trees)) for key, of_trees in values.items() if of_trees}
        metrics |= {f"{tree}/{key}": value for tree, of_tree in per_tree.items() for key, value in of_tree.items()}
        return EvaluationResult(metrics, units)

    @property
    def table_rows(self) -> dict[str, str]:
        """The rows of a table, label to metric, for the AUCs, their mean and the rank correlation."""
        rows = {f"{i}v{j}": f"auc_{i}v{j}" for i, j in combinations(self.counts, 2)}
        return rows | {"mean": "mean_auc", "spearman": "spearman_global"}

    def get_config_dict(self) -> dict[str, Any]:
        """Pairs per distance, their digest and that of their trees and sub-trees, never their texts."""
        counts = {str(level): n for level, n in self.counts.items()}
        drawn = {"resampling": units_of_trees(self.subtrees)}
        if groups := [part.tolist() for part in (self.trees, self.subtrees) if part is not None]:
            drawn["groups_sha256"] = hashlib.sha256(json.dumps(groups).encode()).hexdigest()
        return {"pairs": counts, "pairs_sha256": self.pairs_digest, **drawn, **super().get_config_dict()}

    @property
    def citation(self) -> str:
        return HIPRBERT.strip()
