"""The arguments by which a recipe averages its trained model with the base."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from st_biomed.errors import InputError, shown
from st_biomed.evaluators.benchmark import BENCHMARK
from st_biomed.settings.checks import COUNT, WEIGHT, Check, about, check_unused
from st_biomed.settings.keyword_options import unless_none
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
        metadata=about("equal steps from the base to the trained weights that are measured on dev", COUNT),
    )
    average_benchmarks: list[str] = field(
        default_factory=list,
        metadata=about("additional benchmarks whose dev parts are measured: names or files", BENCHMARK),
    )
    average_curve: bool = field(
        default=False,
        metadata={
            "help": "measure all steps on dev although --average is a number, for the record, the card and a picture"
        },
    )
    keep_trained: bool = field(
        default=False,
        metadata={"help": "keep the trained model from before averaging in <output_dir>-training/trained"},
    )

    @property
    def measures_shares(self) -> bool:
        """Whether shares are measured on dev, to choose one or for a curve."""
        return self.average == "dev" or (self.average_curve and self.average != "none")

    def check_averaging(self) -> None:
        """Reject contradicting settings before anything is read.

        Raises:
            InputError: Settings of an average that is not made or not measured, or a benchmark without a dev part or
                without its data.
        """
        if self.average == "none":
            check_unused(self, ("average_curve",), "--average none", by=("average",))
        if self.average != "dev":
            check_unused(self, ("average_tolerance",), f"--average {self.average}, only with dev", by=("average",))
        if not self.measures_shares:
            where = f"--average {self.average}, only with dev or with --average_curve true"
            check_unused(self, ("average_steps", "average_benchmarks"), where, by=("average", "average_curve"))
        if self.average == "none" and self.keep_trained and not later(self, "keep_trained", ("average",)):
            raise InputError("keep_trained: with --average none the trained model is the release")
        if self.measures_shares and self.average_benchmarks:
            from st_biomed.evaluators.dev_parts import with_dev_parts

            with_dev_parts(self.average_benchmarks)

    def check_dev(self, dev: BaseEvaluator | None) -> None:
        """Reject shares that no benchmark can measure, before the base model is measured.

        Args:
            dev: The benchmarks of the run during training.

        Raises:
            InputError: Shares are to be measured on dev, and there is no dev split.
        """
        evaluators: Any = getattr(dev, "evaluators", dev)  # those of a suite, or one
        if not self.measures_shares or unless_none(self.average_benchmarks) or evaluators:
            return
        chosen = self.average == "dev"
        raise InputError(
            f"{'average: dev' if chosen else 'average_curve:'} needs benchmarks with a dev split, and there are none: give "
            f"--average_benchmarks, or {'a number' if chosen else 'leave it out'}"
        )

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
            InputError: An error of :meth:`check_dev`.
        """
        self.check_dev(dev)
        if self.average == "none":
            return None
        from st_biomed.averaging.with_base import AverageWithBase
        from st_biomed.evaluators.dev_parts import dev_evaluators

        weight = None if self.average == "dev" else float(self.average)
        parts: list[Any] = []
        if self.measures_shares:
            parts += [] if dev is None else getattr(dev, "evaluators", [dev])
            parts += dev_evaluators(self.average_benchmarks, **options)
        return AverageWithBase(
            model,
            base_model,
            weight,
            parts,
            tolerance=self.average_tolerance,
            steps=self.average_steps,
            keep_trained=self.keep_trained,
        )
