"""Settings of a relatedness benchmark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Unpack

from st_biomed.errors import InputError
from st_biomed.evaluators.base import EvaluatorOptions
from st_biomed.evaluators.data_folder import data_path
from st_biomed.evaluators.relatedness.evaluator import RelatednessEvaluator


@dataclass(frozen=True)
class RelatednessSettings:
    """The settings of a relatedness benchmark.

    Args:
        name: Prefix of the metrics.
        path: The table, see :meth:`RelatednessEvaluator.from_file`.
        terms: Its two columns of terms; empty for those of the published sets.
        score: Its column of scores; empty for that of the published sets.
        unscored: ``"error"`` or ``"skip"`` for a row whose score is not a number.
    """

    name: str
    path: str
    terms: list[str] = field(default_factory=list)
    score: str = ""
    unscored: str = "error"

    def evaluators(
        self, *, as_published: bool = False, **options: Unpack[EvaluatorOptions]
    ) -> list[RelatednessEvaluator]:
        """The evaluator; the published scoring is the same.

        Raises:
            InputError: ``terms`` are not two columns, or an error of :meth:`RelatednessEvaluator.from_file`.
        """
        if len(self.terms) not in (0, 2):
            raise InputError(f"{self.name}: terms must be two columns, found {', '.join(self.terms)}")
        terms = (self.terms[0], self.terms[1]) if self.terms else None
        options["name"] = self.name
        path, score = data_path(self.path), self.score or None
        return [RelatednessEvaluator.from_file(path, terms=terms, score=score, unscored=self.unscored, **options)]

    def source_names(self) -> list[str]:
        """No sources: the pairs are the authors' own."""
        return []


FAMILY = "relatedness"
SETTINGS = RelatednessSettings
