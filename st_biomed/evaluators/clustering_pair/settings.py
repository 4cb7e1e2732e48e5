"""Settings of a clustering benchmark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Unpack

from st_biomed.errors import InputError
from st_biomed.evaluators.base import EvaluatorOptions
from st_biomed.evaluators.clustering_pair.evaluator import ClusteringPairEvaluator
from st_biomed.evaluators.data_folder import data_path, open_terminology, source_names


@dataclass(frozen=True)
class ClusteringPairSettings:
    """The settings of a clustering benchmark.

    Args:
        name: Prefix of the metrics.
        sources: The terminology, see :func:`~st_biomed.evaluators.data_folder.open_terminology`.
        path: A table with the columns ``term`` and ``concept``, in place of a terminology.
        languages: Only terms of these languages; empty for all. This and the next two are of a terminology alone.
        below: Codes of roots: only these and the concepts below them; empty for all.
        sample: Number of concepts to draw; 0 for all.
        seed: Seed of both draws, of concepts and of validation terms.
        mode, k, min_length, theta_search, theta, distinct, validation: See
            :class:`~st_biomed.evaluators.clustering_pair.evaluator.ClusteringPairEvaluator`, whose defaults apply to
            an empty mode or search, to 0 neighbors, and to no ``theta``.
    """

    name: str
    sources: list[str] = field(default_factory=list)
    path: str = ""
    languages: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    sample: int = 0
    seed: int = 0
    mode: str = ""
    k: int = 0
    min_length: int = 4
    theta_search: str = ""
    theta: float | None = None
    distinct: bool = False
    validation: float = 0.0

    def evaluators(
        self, *, as_published: bool = False, **options: Unpack[EvaluatorOptions]
    ) -> list[ClusteringPairEvaluator]:
        """The evaluator; as published, it clusters all terms and scores them like CODER++'s script, whatever the settings from
        ``mode`` on say.

        Raises:
            InputError: Neither a terminology nor a file, or both; languages, roots or a sample with a file; or a
                setting that the evaluator rejects.
        """
        if bool(self.sources) == bool(self.path):
            raise InputError(f"{self.name}: expected either a terminology (sources) or a file (path) of terms")
        if self.path and (parts := [name for name in ("languages", "below", "sample") if getattr(self, name)]):
            raise InputError(f"{self.name}: all terms of a file are clustered; remove {', '.join(parts)}")
        scoring = {
            "mode": self.mode or None,
            "k": self.k or None,
            "min_length": self.min_length,
            "theta_search": self.theta_search or None,
            "theta": self.theta,
            "distinct": self.distinct,
            "validation": self.validation,
            "validation_seed": self.seed,
        }
        settings = {"as_published": True} if as_published else scoring
        options["name"] = self.name
        if self.path:
            return [ClusteringPairEvaluator.from_file(data_path(self.path), **settings, **options)]
        terminology = open_terminology(self.sources)
        if self.below or self.languages:
            terminology = terminology.subset(below=self.below or None, languages=self.languages or None)
        return [
            ClusteringPairEvaluator.from_terminology(
                terminology, sample=self.sample or None, seed=self.seed, **settings, **options
            )
        ]

    def source_names(self) -> list[str]:
        """The sources of its terminology; none of a file's."""
        return source_names(self.sources)


FAMILY = "clustering"
SETTINGS = ClusteringPairSettings
