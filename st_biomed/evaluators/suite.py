"""The evaluators that a recipe runs before and after training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Unpack

from st_biomed.errors import InputError
from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluatorOptions
from st_biomed.evaluators.benchmark import PublishedFigure, chosen_benchmarks
from st_biomed.evaluators.embedders import Embed, EmbedOnce
from st_biomed.evaluators.shared_embedding import KEPT_TEXTS

if TYPE_CHECKING:
    from pathlib import Path

    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.evaluation import BaseEvaluator


class EvaluatorSuite:
    """Several evaluators that run one after the other; shared texts are embedded once.

    Args:
        evaluators: Evaluators with equal ``embedding_options``.

    Attributes:
        published: Published figures of their benchmarks.

    Raises:
        InputError: Two evaluators with the same name.
    """

    def __init__(self, evaluators: Iterable[EmbeddingEvaluator] = ()) -> None:
        self.tests: list[EmbeddingEvaluator] = []
        self.published: list[PublishedFigure] = []
        for evaluator in evaluators:
            self.add_evaluator(evaluator)

    @classmethod
    def of_benchmarks(cls, names: Iterable[str | Path], **options: Unpack[EvaluatorOptions]) -> EvaluatorSuite:
        """The evaluators of benchmarks.

        Args:
            names: Files, or names in ``evaluation/benchmarks``; a single ``none`` for none.
            **options: Options of all evaluators, except ``name``.

        Raises:
            InputError: No such benchmark, or missing or invalid data files.
        """
        suite = EvaluatorSuite()
        suite.add_benchmarks(names, **options)
        return suite

    def add_benchmarks(self, names: Iterable[str | Path], **options: Unpack[EvaluatorOptions]) -> None:
        """Add benchmarks; see :meth:`of_benchmarks`."""
        for benchmark in chosen_benchmarks(names):
            for evaluator in benchmark.evaluator_settings().evaluators(**options):
                self.add_evaluator(evaluator)
            self.published += benchmark.published

    def add_evaluator(self, evaluator: EmbeddingEvaluator) -> None:
        """Add an evaluator.

        Raises:
            InputError: An evaluator with this name exists already.
        """
        if evaluator.name in {test.name for test in self.tests}:
            raise InputError(f"two benchmarks have the name {evaluator.name!r}")
        self.tests.append(evaluator)

    def joined(self, other: EvaluatorSuite) -> EvaluatorSuite:
        """A suite of the evaluators of both.

        Raises:
            InputError: Two evaluators with the same name.
        """
        both = EvaluatorSuite([*self.tests, *other.tests])
        both.published = [*self.published, *other.published]
        return both

    @property
    def dev(self) -> BaseEvaluator | None:
        """What is measured in training, and units settings may be chosen on; nothing here."""
        return None

    @property
    def headline(self) -> list[str]:
        """The metrics in the tables."""
        return [key for evaluator in self.tests for key in evaluator.headline.values()]

    def measure(self, model: SentenceTransformer, label: str = "") -> dict[str, dict[str, float]]:
        """The reported metrics, by evaluator name.

        Args:
            label: Name of the model in a line before each evaluator, with the number of texts; empty for no line.
        """
        shared: dict[tuple[object, ...], EmbedOnce] = {}  # evaluators with equal options embed a text once
        found: dict[str, dict[str, float]] = {}
        for evaluator in self.tests:
            if (options := evaluator.embedding_options) not in shared:
                shared[options] = EmbedOnce(evaluator.embedder(model), KEPT_TEXTS)
            found |= self._measured([evaluator], shared[options], label)
        return found

    def measure_vectors(self, embed: Embed, label: str = "") -> dict[str, dict[str, float]]:
        """The reported metrics of vectors from any source, by evaluator name.

        Args:
            embed: Maps N texts to ``[N, D]``; preferably one that embeds each text once.
            label: As in :meth:`measure`.
        """
        return self._measured(self.tests, embed, label)

    @staticmethod
    def _measured(evaluators: Iterable[EmbeddingEvaluator], embed: Embed, label: str) -> dict[str, dict[str, float]]:
        found = {}
        for evaluator in evaluators:
            if label:
                texts = "" if evaluator.n_texts is None else f": {evaluator.n_texts:,} texts"
                print(f"measuring {label} on {evaluator.name}{texts} ...", flush=True)
            found[evaluator.name] = evaluator.measure(embed)
        return found

    def units_of(self, evaluator: EmbeddingEvaluator) -> str:
        """The units of its figures, after the first measurement; empty before."""
        return next((f"{len(units):,} {units.unit}s" for units in evaluator.units.values()), "")

    def table(self, **columns: Mapping[str, Mapping[str, float]]) -> str:
        """The headlines of several measurements side by side, a line for each evaluator and metric."""
        lines = []
        for evaluator in self.tests:
            of_one = {title: measured[evaluator.name] for title, measured in columns.items()}
            units = self.units_of(evaluator)
            lines += [f"{evaluator.name} ({units})" if units else evaluator.name, evaluator.table(**of_one), ""]
        return "\n".join(lines).rstrip()

    def __str__(self) -> str:
        return ", ".join(evaluator.name for evaluator in self.tests) or "none"
