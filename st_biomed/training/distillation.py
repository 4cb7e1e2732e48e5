"""Recipe arguments of self-distillation: the teacher is the encoder that training starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from datasets import Dataset
from torch import nn

from st_biomed.losses.distilled import LabelMap, with_distillation
from st_biomed.losses.self_distillation import TARGETS, only_distilled
from st_biomed.settings.checks import SIZE, WEIGHT, about, check_unused, one_of, within
from st_biomed.training.teacher import TeacherVectors
from st_biomed.training_data.row_labels import RowLabels

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


@dataclass
class DistillationArguments:
    """Arguments of :class:`~st_biomed.losses.SelfDistillationLoss`."""

    distillation: float = field(
        default=0.0,
        metadata=about("weight of self-distillation, which preserves what the base model knows; 0 for none", WEIGHT),
    )
    distillation_target: str = field(
        default="cosines",
        metadata=about(
            "what is preserved: cosines of the names of a batch, or their vectors (BioLORD-2023)", one_of(*TARGETS)
        ),
    )
    distillation_share: float = field(
        default=1.0,
        metadata=about(
            "share of the texts of a batch that are distilled; the base model embeds no others", within("(0, 1]")
        ),
    )
    distillation_removed: int | None = field(
        default=None,
        metadata=about(
            "center the base model's vectors and remove their N leading principal components before distillation "
            "(all-but-the-top); 0 only centers",
            SIZE,
        ),
    )

    def check_distillation(self) -> None:
        """Reject the other arguments if the weight is 0, before anything is read.

        Raises:
            InputError: One of them is given, and the weight is not.
        """
        if not self.distillation:
            names = ("distillation_target", "distillation_share", "distillation_removed")
            check_unused(self, names, "--distillation 0, which distills nothing", by=("distillation",))

    def distill_loss(
        self,
        loss: nn.Module,
        model: SentenceTransformer,
        texts: Sequence[str],
        *,
        max_length: int | None = None,
        bf16: bool = False,
    ) -> Any:
        """The loss with self-distillation of its batches, or the loss itself if the weight is 0.

        Args:
            loss: A loss whose labels are positions in ``texts``.
            model: The encoder before training; it becomes the teacher.
            max_length: Maximum number of tokens of a text in training; ``None`` for the model's own limit.
            bf16: Whether the teacher computes in bfloat16.
        """
        return self._distill(loss, self._teacher(model, texts, max_length, bf16)) if self.distillation else loss

    def distill_rows(
        self,
        loss: nn.Module,
        model: SentenceTransformer,
        rows: Dataset,
        *,
        max_length: int | None = None,
        bf16: bool = False,
    ) -> tuple[Dataset, nn.Module]:
        """The rows and the loss to train with if several texts share a label, as contexts of a term do.

        Args:
            loss: A loss of the labels of the rows.
            model, max_length, bf16: As for :meth:`distill_loss`.
            rows: The dataset, with columns ``text`` and ``label``.
        """
        if not self.distillation:
            return rows, loss
        places = RowLabels(rows)
        teacher = self._teacher(model, places.texts, max_length, bf16)
        return places.dataset(rows), self._distill(loss, teacher, labels=places.labels)

    def only_distilled(
        self,
        model: SentenceTransformer,
        teacher: TeacherVectors,
        *,
        weight: float | None = None,
        mini_batch_size: int | None = None,
        gather_across_devices: bool = False,
    ) -> nn.Module:
        """Self-distillation without another loss.

        Args:
            model: The encoder to train.
            teacher: The vectors of the rows.
            weight: Another weight than that of the arguments.
            mini_batch_size: Number of texts embedded at once; ``None`` for all texts of a batch.
            gather_across_devices: Whether the texts of all processes form one batch.
        """
        options: dict[str, Any] = {
            "target": self.distillation_target,
            "share": self.distillation_share,
            "gather_across_devices": gather_across_devices,
        }
        weight = self.distillation if weight is None else weight
        return only_distilled(model, teacher, weight=weight, mini_batch_size=mini_batch_size, **options)

    def _teacher(
        self, model: SentenceTransformer, texts: Sequence[str], max_length: int | None, bf16: bool
    ) -> TeacherVectors:
        return TeacherVectors(model, texts, max_length=max_length, bf16=bf16, removed=self.distillation_removed)

    def _distill(
        self, loss: nn.Module, teacher: TeacherVectors, *, weight: float | None = None, **maps: LabelMap | None
    ) -> Any:
        return with_distillation(
            loss,
            teacher,
            weight=self.distillation if weight is None else weight,
            target=self.distillation_target,
            share=self.distillation_share,
            **maps,
        )
