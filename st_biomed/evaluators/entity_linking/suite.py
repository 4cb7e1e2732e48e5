"""The evaluators of several linking benchmarks, for a recipe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from st_biomed.evaluators.data_folder import data_path
from st_biomed.evaluators.entity_linking.evaluator import EntityLinkingEvaluator
from st_biomed.evaluators.entity_linking.folds import FoldsEvaluator
from st_biomed.evaluators.entity_linking.settings import LinkingSettings, dev_evaluator
from st_biomed.evaluators.relatedness.evaluator import RelatednessEvaluator
from st_biomed.evaluators.shared_embedding import SharedEvaluator
from st_biomed.evaluators.suite import EvaluatorSuite

if TYPE_CHECKING:
    from st_biomed.evaluators.base import EmbeddingEvaluator, EvaluatorOptions
    from st_biomed.linking_data import LinkingDataset


class LinkingSuite(EvaluatorSuite):
    """The evaluators of several linking benchmarks: one for training, and the reported ones.

    A benchmark is reported as distributed (``<name>_raw``) and after its steps (``<name>``).

    Args:
        benchmarks: Their settings.
        relatedness: Tables of term pairs and scores, see :class:`~st_biomed.evaluators.RelatednessEvaluator`.
        **options: Options of all evaluators; ``name`` is the benchmark's, and evaluators for training have no
            intervals.

    Attributes:
        tests: The evaluators of the reported figures.

    Raises:
        InputError: Two benchmarks with the same name, or invalid files.
    """

    def __init__(
        self,
        benchmarks: Sequence[LinkingSettings] = (),
        *,
        relatedness: Sequence[str | Path] = (),
        **options: Unpack[EvaluatorOptions],
    ) -> None:
        super().__init__()
        self.options = options
        self._devs: list[EntityLinkingEvaluator] = []
        for settings in benchmarks:
            evaluators = settings.evaluators(**options)
            for evaluator in evaluators:
                self.add_evaluator(evaluator)
            if isinstance(evaluators[-1], EntityLinkingEvaluator):
                self._add_dev(evaluators[-1].dataset, settings.name, settings.dev, settings.by_document)
        for path in relatedness:
            self.add_evaluator(RelatednessEvaluator.from_file(data_path(path), **options))

    def add_dataset(
        self,
        dataset: LinkingDataset,
        name: str,
        *,
        dev: str = "dev",
        test: str = "test",
        seen: Sequence[str] = (),
        by_document: bool = False,
    ) -> None:
        """Add a data set: ``dev`` is measured during training if it is not empty, ``test`` before and after."""
        self._add_dev(dataset, name, dev, by_document)
        options: EvaluatorOptions = {**self.options, "name": name}
        self.add_evaluator(EntityLinkingEvaluator(dataset, test, seen=seen, by_document=by_document, **options))

    def _add_dev(self, dataset: LinkingDataset, name: str, dev: str, by_document: bool) -> None:
        """Measure a split in training, where there is one to measure."""
        if dev:
            self._devs.append(dev_evaluator(dataset, name, dev, self.options, by_document=by_document))

    @property
    def dev(self) -> SharedEvaluator | None:
        """Measures every dev split; its primary metric, ``sequential_score``, is the mean of their accuracies."""
        return SharedEvaluator(self._devs) if self._devs else None

    def units_of(self, evaluator: EmbeddingEvaluator) -> str:
        """The split with the number of mentions."""
        if isinstance(evaluator, EntityLinkingEvaluator):
            return f"{evaluator.split}, {super().units_of(evaluator)}"
        return (
            f"{len(evaluator.folds)} folds" if isinstance(evaluator, FoldsEvaluator) else super().units_of(evaluator)
        )
