"""Recipe arguments of self-distillation where a training has parts: each may have a weight of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import nn

from st_biomed.errors import InputError, unknown_name
from st_biomed.settings.checks import check_unused
from st_biomed.settings.keyword_options import unless_none
from st_biomed.settings.origins import later
from st_biomed.terminology import Terminology
from st_biomed.training.distillation import DistillationArguments
from st_biomed.training.teacher import TeacherVectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from st_biomed.training.parts import Part


@dataclass
class PartDistillationArguments(DistillationArguments):
    """Self-distillation of a training in parts."""

    part_distillation: list[str] = field(
        default_factory=list,
        metadata={
            "help": "other weights of self-distillation for single parts, in the form PART=WEIGHT, e.g. hierarchy=0, where "
            "the loss is meant to move what the base model knows; none for none"
        },
    )

    def check_part_distillation(self, parts: Sequence[str]) -> None:
        """As :meth:`check_distillation`, and raise InputError if a weight is invalid, or not used by these parts.

        Args:
            parts: Names of the parts to train on.

        Raises:
            InputError: As there; an entry has another form, or a part is repeated or is not trained on.
        """
        self.check_distillation()
        weights = self.weights_of_parts()
        if not self.distillation:
            check_unused(
                self, ("part_distillation",), "--distillation 0, which distills nothing", by=("distillation",)
            )
        for part in weights:
            if part not in parts and not later(self, "part_distillation", ("parts",)):
                raise unknown_name("part_distillation", part, parts)

    def weights_of_parts(self) -> dict[str, float]:
        """``part_distillation`` as a dictionary.

        Raises:
            InputError: An entry is not ``PART=WEIGHT`` with a weight from 0, or a part is repeated.
        """
        weights: dict[str, float] = {}
        for entry in unless_none(self.part_distillation):
            part, _, number = entry.partition("=")
            try:
                weight = float(number)
            except ValueError:
                weight = -1.0
            if not part or part in weights or not 0 <= weight < math.inf:
                raise InputError(
                    f"part_distillation: entries PART=WEIGHT of different parts are needed, with weights from 0, found {entry!r}"
                )
            weights[part] = weight
        return weights

    def weight_of(self, part: str) -> float:
        """The weight of self-distillation in batches of a part."""
        return self.weights_of_parts().get(part, self.distillation)

    def distill_parts(
        self,
        parts: Mapping[str, Part],
        model: SentenceTransformer,
        train: Terminology,
        *,
        max_length: int | None = None,
        bf16: bool = False,
        teachers: dict[str, TeacherVectors] | None = None,
    ) -> dict[str, nn.Module]:
        """The losses of the parts with self-distillation; all share one table of the teacher's vectors.

        Args:
            model, max_length, bf16: As for :meth:`distill_loss`.
            teachers: The tables of an earlier run of the same parts from the same weights, which are used again; the
                table is added if it is missing. Then no run embeds a text that an earlier one has embedded.
        """
        losses = {name: part.loss for name, part in parts.items()}
        if not self.distillation:
            return losses
        teachers = {} if teachers is None else teachers
        with_texts = [part.rows["text"] for part in parts.values() if "text" in part.rows.column_names]
        # Rows of definitions start with the rows of names; those of chosen sources are a part of them, by text id.
        longest: Any = max([train.strings, *with_texts], key=len)
        if "names" not in teachers:
            teachers["names"] = self._teacher(model, longest, max_length, bf16)
        for name, part in parts.items():
            if weight := self.weight_of(name):
                losses[name] = self._distill(losses[name], teachers["names"], weight=weight, rows=part.texts_of)
        return losses
