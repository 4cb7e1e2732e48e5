"""Several trainings of one command, whose weights are averaged: runs with other seeds, and parts that are trained alone.

The sources are Wortsman et al., *Model soups: averaging weights of multiple fine-tuned models improves accuracy without
increasing inference time*, ICML 2022 (uniform soup, section 2), and Ilharco et al., *Editing models with task arithmetic*,
ICLR 2023 (section 2: the weights that one task adds to those of the base model, scaled).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from st_biomed.corpus.coverage import Coverage
from st_biomed.errors import InputError
from st_biomed.release.run_data import CorpusData
from st_biomed.release.run_record import corpus_data
from st_biomed.settings.checks import COUNT, about, check_unused, within
from st_biomed.settings.origins import later
from st_biomed.training.readings import open_encoder_readings
from st_biomed.training.text_part import TextPartArguments


class PlannedRun(NamedTuple):
    """One of the trainings.

    Attributes:
        name: Name of its phase.
        recipe: Its own arguments: of its parts, and of one run.
        weight: Its weight in the average of all trainings.
        arguments: Arguments of the trainer in it.
        suffix: What distinguishes its parts from those of the runs with all parts.
        free: Arguments that may change after it, because it does not read them.
    """

    name: str
    recipe: Any
    weight: float
    arguments: dict[str, Any]
    suffix: str = ""
    free: tuple[str, ...] = ()


@dataclass
class SeveralRunsArguments(TextPartArguments):
    """Which trainings are averaged."""

    runs: int = field(
        default=1,
        metadata=about(
            "number of encoders that are trained with consecutive seeds; their weights are averaged", COUNT
        ),
    )
    alone: list[str] = field(
        default_factory=list,
        metadata={
            "help": "parts that other encoders train alone, one for each run and without self-distillation; they are averaged "
            "with those of the runs; none for none"
        },
    )
    alone_weight: float = field(
        default=0.5,
        metadata=about(
            "weight of an encoder that trains a part alone in their average; a run has 1", within("(0, 1000]")
        ),
    )
    alone_steps: int | None = field(
        default=None, metadata=about("steps of each encoder that trains a part alone; max_steps by default", COUNT)
    )

    def parts_alone(self, parts: Sequence[str]) -> list[str]:
        """The parts that are trained alone: those of ``alone`` that are among the parts to train together."""
        return [part for part in self.alone if part in parts]

    def check_alone(self, parts: Sequence[str]) -> None:
        """Raise InputError if the parts to train alone are invalid.

        Args:
            parts: Names of the parts to train together.

        Raises:
            InputError: One is unknown, has no loss of its own or is repeated; one is not among these parts, unless they were
                chosen in a later place; or an option is given without them.
        """
        alone = self.parts_alone(parts)
        if not alone:
            check_unused(self, ("alone_weight", "alone_steps"), "alone none", by=("alone", "parts"))
        possible = [part for part in self.options_of_parts() if part in parts]
        known = self.options_of_parts() if later(self, "alone", ("parts",)) else possible
        if not set(self.alone) <= set(known) or len(set(self.alone)) < len(self.alone):
            allowed = f"none, or different ones of {' '.join(possible)} are possible"
            if not possible:
                allowed = f"must be none, since no part of {' '.join(parts)} can be trained alone"
            raise InputError(f"alone: {allowed}, found {' '.join(self.alone)}")

    def recorded(self, coverage: Coverage | None, texts: Sequence[CorpusData]) -> dict[str, Any]:
        """What the record of these trainings says of them, as arguments of :class:`~st_biomed.release.run_record.RunRecord`.

        Args:
            coverage: Of the corpus, if there is one.
            texts: The record of the raw text.
        """
        corpora = [] if coverage is None or not self.corpus else [corpus_data(self, coverage)]
        return {
            "corpora": [*corpora, *(texts if self.distilled_texts else ())],
            "readings": open_encoder_readings(self),
        }

    def planned_runs(self, parts: Sequence[str], seed: int) -> list[PlannedRun]:
        """The trainings in their order: those with all parts, then those of each part alone, each with consecutive seeds.

        Args:
            parts: Names of the parts to train together.
            seed: The first seed.

        Returns:
            Trainings whose weights add up to 1.
        """
        alone = self.parts_alone(parts)
        itself: dict[str, Any] = {"runs": 1, "alone": []}
        whole = replace(self, **itself)
        weight = 1 / (self.runs * (1 + len(alone) * self.alone_weight))
        runs = range(self.runs)
        planned = [PlannedRun(f"run-{i + 1}", whole, weight, {"seed": seed + i}, free=("alone_steps",)) for i in runs]
        steps = {} if self.alone_steps is None else {"max_steps": self.alone_steps}
        for part in alone:
            only: dict[str, Any] = {"parts": [part], "shares": [1.0], "distillation": 0.0, "distilled_texts": []}
            recipe = replace(whole, **only, corpus=self.corpus if part == "definitions" else [])
            planned += [
                PlannedRun(
                    f"{part}-{i + 1}",
                    recipe,
                    self.alone_weight * weight,
                    {"seed": seed + i, **steps},
                    suffix="-alone",
                )
                for i in runs
            ]
        return planned
