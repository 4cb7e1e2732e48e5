"""Several evaluators that embed their shared texts once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import fmean
from typing import TYPE_CHECKING, cast

from sentence_transformers.base.evaluation import BaseEvaluator, SequentialEvaluator

from st_biomed.errors import InputError
from st_biomed.evaluators.base import EmbeddingEvaluator
from st_biomed.evaluators.embedders import EmbedOnce

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

KEPT_TEXTS = 500_000  # vectors of 1.5 GB at 768 dimensions


class SharedEvaluator(SequentialEvaluator):
    """sentence-transformers' ``SequentialEvaluator`` for evaluators that share texts.

    Its primary metric, ``sequential_score``, combines the primary metrics of the evaluators, each as a share of its
    largest possible value, so MCSM (up to 11) has the same weight as an accuracy. sentence-transformers' evaluator uses the first
    metric it finds.

    Args:
        evaluators: Any evaluators; those of this package with equal ``embedding_options`` share the vectors of texts.
        main_score_function: Maps these shares to the score; the mean by default.
        max_texts: Maximum number of texts whose vectors are kept during a call.

    Raises:
        InputError: No evaluator, or two evaluators with the same name. When called: an evaluator without a primary metric.
    """

    def __init__(
        self,
        evaluators: Iterable[BaseEvaluator],
        main_score_function: Callable[[list[float]], float] = fmean,
        *,
        max_texts: int = KEPT_TEXTS,
    ) -> None:
        super().__init__(evaluators, main_score_function)
        self.primary_metric = "sequential_score"
        self.max_texts = max_texts
        if not self.evaluators:
            raise InputError("evaluators: expected at least one, found none")
        # Several of sentence-transformers' evaluators know their primary metric only after they were called.
        names = [getattr(evaluator, "primary_metric", None) for evaluator in self.evaluators]
        for name in names:
            if name is not None and names.count(name) > 1:
                raise InputError(f"evaluators: two of them report {name!r}; give them different names")
        named = [evaluator.name for evaluator in self.evaluators if isinstance(evaluator, EmbeddingEvaluator)]
        for name in named:
            if named.count(name) > 1:
                raise InputError(f"evaluators: two of them are named {name!r}; give them different names")

    def __call__(  # type: ignore[override]  # sentence-transformers' evaluators narrow the model's type as well
        self, model: SentenceTransformer, output_path: str | None = None, epoch: int = -1, steps: int = -1
    ) -> dict[str, float]:
        """Measure with all of them; the metrics of all, and ``sequential_score``."""
        shared: dict[tuple[object, ...], EmbedOnce] = {}
        results: dict[str, float] = {}
        scores = []
        for evaluator in self.evaluators:
            if isinstance(evaluator, EmbeddingEvaluator):
                options = evaluator.embedding_options
                if options not in shared:
                    shared[options] = EmbedOnce(evaluator.embedder(model), self.max_texts)
                found = evaluator.measure_shared(shared[options], model, output_path, epoch, steps)
            else:
                found = cast("dict[str, float]", evaluator(model, output_path, epoch, steps))
            name = getattr(evaluator, "primary_metric", None)
            if name not in found:
                raise InputError(f"evaluators: {type(evaluator).__name__} reports no primary metric, found {name!r}")
            scores.append(found[name] / getattr(evaluator, "largest", 1.0))
            results |= found
        return results | {"sequential_score": self.main_score_function(scores)}
