"""The arguments by which a recipe averages its trained model with the base."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from st_biomed.errors import InputError, shown
from st_biomed.evaluators.benchmark import BENCHMARK
from st_biomed.settings.checks import COUNT, WEIGHT, Check, about, check_unused
from st_biomed.settings.origins import later

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
    """WiSE-FT (arXiv:2109.01903): the release is ``(1 - a) base + a trained``."""

    average: str = field(
        default="none",
        metadata=about(
            "share a of the trained weights in the release, (1 - a) base + a trained: none, a number, or dev for the "
            "share with the largest mean gain on the dev splits among the shares at which none of them loses",
            AVERAGE,
        ),
    )
    average_tolerance: float = field(
        default=0.0,
        metadata=about("allowed loss of a dev split with --average dev, as a share of its largest value", WEIGHT),
    )
    average_steps: int = field(
        default=10,
        metadata=about("equal steps from the base to the trained weights that --average dev measures", COUNT),
    )
    average_benchmarks: list[str] = field(
        default_factory=list,
        metadata=about("additional benchmarks whose dev parts --average dev uses: names or files", BENCHMARK),
    )
    keep_trained: bool = field(
        default=False,
        metadata={"help": "keep the trained model from before averaging in <output_dir>-training/trained"},
    )

    def check_averaging(self) -> None:
        """Reject contradicting settings before anything is read.

        Raises:
            InputError: Settings of ``dev`` without it, or a benchmark without a dev part or without its data.
        """
        if self.average != "dev":
            names = ("average_tolerance", "average_steps", "average_benchmarks")
            check_unused(self, names, f"--average {self.average}, only with dev", by=("average",))
        if self.average == "none" and self.keep_trained and not later(self, "keep_trained", ("average",)):
            raise InputError("keep_trained: with --average none the trained model is the release")
        if self.average == "dev" and self.average_benchmarks:
            from st_biomed.evaluators.dev_parts import with_dev_parts

            with_dev_parts(self.average_benchmarks)

    def averaging(
        self,
        model: SentenceTransformer,
        base_model: str,
        dev: BaseEvaluator | None,
        **options: Unpack[EvaluatorOptions],
    ) -> AverageWithBase | None:
        """The averaging of a trained model with this one; nothing if it is not requested.

        Args:
            model: The encoder before training.
            base_model: Its name.
            dev: The benchmarks of the run during training.
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
            model,
            base_model,
            None,
            parts,
            tolerance=self.average_tolerance,
            steps=self.average_steps,
            keep_trained=self.keep_trained,
        )
