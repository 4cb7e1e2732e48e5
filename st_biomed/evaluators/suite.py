"""What a recipe measures before and after training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Unpack

from st_biomed.errors import InputError
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluatorOptions
from st_biomed.evaluators.benchmark import PublishedFigure, chosen_benchmarks
from st_biomed.evaluators.embedders import Embed, EmbedOnce
from st_biomed.evaluators.shared import KEPT_TEXTS

if TYPE_CHECKING:
    from pathlib import Path

    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.evaluation import BaseEvaluator


class EvaluatorSuite:
    """Several evaluators, measured one after the other; texts that they have in common are embedded once.

    Args:
        evaluators: Of one way to embed: with equal ``embedding_options``.

    Attributes:
        tests: The evaluators.
        published: Figures of the literature that their benchmarks name.

    Raises:
        InputError: Two of one name.
    """

    def __init__(self, evaluators: Iterable[EmbeddingEvaluator] = ()) -> None:
        self.tests: list[EmbeddingEvaluator] = []
        self.published: list[PublishedFigure] = []
        for evaluator in evaluators:
            self.take(evaluator)

    @classmethod
    def of_benchmarks(cls, names: Iterable[str | Path], **options: Unpack[EvaluatorOptions]) -> EvaluatorSuite:
        """The evaluators of benchmarks.

        Args:
            names: Files, or names in ``evaluation/benchmarks``; ``none`` alone for none.
            **options: For all evaluators, ``name`` apart.

        Raises:
            InputError: No such benchmark, files that it needs and that are not there, or what is wrong with them.
        """
        suite = EvaluatorSuite()
        suite.take_benchmarks(names, **options)
        return suite

    def take_benchmarks(self, names: Iterable[str | Path], **options: Unpack[EvaluatorOptions]) -> None:
        """Measure benchmarks besides; as :meth:`of_benchmarks`."""
        for benchmark in chosen_benchmarks(names):
            for evaluator in benchmark.evaluator_settings().evaluators(**options):
                self.take(evaluator)
            self.published += benchmark.published

    def take(self, evaluator: EmbeddingEvaluator) -> None:
        """Measure one more.

        Raises:
            InputError: There is one of its name.
        """
        if evaluator.name in {one.name for one in self.tests}:
            raise InputError(f"two benchmarks are called {evaluator.name!r}")
        self.tests.append(evaluator)

    def joined(self, other: EvaluatorSuite) -> EvaluatorSuite:
        """A suite of the evaluators of both.

        Raises:
            InputError: Two of one name.
        """
        both = EvaluatorSuite([*self.tests, *other.tests])
        both.published = [*self.published, *other.published]
        return both

    @property
    def dev(self) -> BaseEvaluator | None:
        """What is measured in training, and what settings may be chosen on; nothing here."""
        return None

    @property
    def headline(self) -> list[str]:
        """The metrics that the tables show."""
        return [key for one in self.tests for key in one.headline.values()]

    def measure(self, model: SentenceTransformer, called: str = "") -> dict[str, dict[str, float]]:
        """What is reported, by the evaluator's name.

        Args:
            model: The model.
            called: What to call it in a line before each evaluator, with the number of texts; empty for no line.
        """
        if not self.tests:
            return {}
        return self.measure_vectors(EmbedOnce(self.tests[0].embedder(model), KEPT_TEXTS), called)

    def measure_vectors(self, embed: Embed, called: str = "") -> dict[str, dict[str, float]]:
        """What is reported of vectors that come from anywhere, by the evaluator's name.

        Args:
            embed: From N texts to ``[N, D]``; best one that embeds a text once.
            called: As in :meth:`measure`.
        """
        found = {}
        for one in self.tests:
            if called:
                texts = "" if one.n_texts is None else f": {one.n_texts:,} texts"
                print(f"measuring {called} on {one.name}{texts} ...", flush=True)
            found[one.name] = one.measure(embed)
        return found

    def what(self, evaluator: EmbeddingEvaluator) -> str:
        """What its figures are counted over, once it has measured; empty before."""
        return next((f"{len(units):,} {units.unit}s" for units in evaluator.units.values()), "")

    def table(self, **columns: Mapping[str, Mapping[str, float]]) -> str:
        """The headlines of several measurements side by side, a line for each evaluator and metric."""
        lines = []
        for evaluator in self.tests:
            of_one = {title: measured[evaluator.name] for title, measured in columns.items()}
            what = self.what(evaluator)
            lines += [f"{evaluator.name} ({what})" if what else evaluator.name, evaluator.table(**of_one), ""]
        return "\n".join(lines).rstrip()

    def __str__(self) -> str:
        return ", ".join(one.name for one in self.tests) or "none"
