"""How a recipe averages what it has trained with what it started from, as arguments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from st_biomed.errors import InputError, shown
from st_biomed.evaluators.benchmark import BENCHMARK
from st_biomed.settings.checks import WEIGHT, Check, about

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.evaluation import BaseEvaluator

    from st_biomed.averaging.with_base import AverageWithBase
    from st_biomed.evaluators.base import EvaluatorOptions


def _no_average(name: str, value: str) -> str | None:
    if value in ("none", "dev"):
        return None
    try:
        return (
            None
            if 0 < float(value) <= 1
            else f"{name} must be none, dev, or above 0 and at most 1, found {shown(value)}"
        )
    except ValueError:
        return f"{name} must be none, dev, or a number above 0 and at most 1, found {shown(value)}"


AVERAGE = Check(_no_average)
"""``none``, ``dev``, or a share."""


@dataclass
class AveragingArguments:
    """WiSE-FT (arXiv:2109.01903): what is released is ``(1 - a) base + a trained``."""

    average: str = field(
        default="none",
        metadata=about(
            "share a of the trained weights in what is released, (1 - a) base + a trained: none, a number, or dev, the one "
            "with the largest mean gain on the dev splits of those at which none of them loses",
            AVERAGE,
        ),
    )
    average_tolerance: float = field(
        default=0.0,
        metadata=about("what a dev split may lose with --average dev, as a share of its largest value", WEIGHT),
    )
    average_benchmarks: list[str] = field(
        default_factory=list,
        metadata=about("benchmarks whose dev parts --average dev chooses on besides: names or files", BENCHMARK),
    )
    keep_trained: bool = field(
        default=False,
        metadata={"help": "what was trained stays in <output_dir>-training/trained, as it was before it was averaged"},
    )

    def check_averaging(self) -> None:
        """Refuse before anything is read what does not fit together.

        Raises:
            InputError: Settings of ``dev`` without it, or a benchmark that has no dev part or whose data are not there.
        """
        for name in ("average_tolerance", "average_benchmarks"):
            if getattr(self, name) and self.average != "dev":
                raise InputError(f"{name}: is read with --average dev alone, found --average {self.average}")
        if self.keep_trained and self.average == "none":
            raise InputError("keep_trained: with --average none what was trained is what is released")
        if self.average_benchmarks:
            from st_biomed.evaluators.dev_parts import with_dev_parts

            with_dev_parts(self.average_benchmarks)

    def averaging(
        self,
        model: SentenceTransformer,
        base_model: str,
        dev: BaseEvaluator | None,
        **options: Unpack[EvaluatorOptions],
    ) -> AverageWithBase | None:
        """What averages a trained model with this one; nothing where it is not asked for.

        Args:
            model: The encoder before training.
            base_model: What it is called.
            dev: What the run measures in training.
            **options: For the evaluators of ``average_benchmarks``.

        Raises:
            InputError: ``dev``, and there is no dev split.
        """
        if self.average == "none":
            return None
        from st_biomed.averaging.with_base import AverageWithBase
        from st_biomed.evaluators.dev_parts import dev_evaluators

        if self.average != "dev":
            return AverageWithBase(model, base_model, float(self.average), keep_trained=self.keep_trained)
        parts: list[Any] = [] if dev is None else list(getattr(dev, "evaluators", [dev]))
        parts += dev_evaluators(self.average_benchmarks, **options)
        return AverageWithBase(
            model, base_model, None, parts, tolerance=self.average_tolerance, keep_trained=self.keep_trained
        )
