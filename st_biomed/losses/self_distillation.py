"""Self-distillation: the encoder in training keeps the geometry of the frozen encoder that it started from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from st_biomed.errors import InputError, check_name
from st_biomed.losses.arguments import number
from st_biomed.losses.cached import CachedLoss
from st_biomed.losses.citations import BIOLORD
from st_biomed.losses.similarity import full_precision, join_embeddings, join_labels, unit_rows

TARGETS = ("cosines", "vectors")


class Teacher(Protocol):
    """Vectors ``[N, D]`` that are read by rows: a numpy array, or one that makes them when they are asked for."""

    @property
    def ndim(self) -> int: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __len__(self) -> int: ...

    def __getitem__(self, rows: Any, /) -> Any: ...


class SelfDistillationLoss(nn.Module):
    r"""Keep what a frozen encoder knows of the texts of a batch (Park et al. 2019, relational knowledge distillation).

    For B texts with the student's unit vectors z and the teacher's unit vectors t::

        cosines:  weight / (B (B - 1)) sum_i sum_{j != i} (z_i . z_j - t_i . t_j)^2
        vectors:  weight / B sum_i (1 - z_i . t_i)

    ``cosines`` holds the similarity of each pair of texts and leaves the space free to rotate; teacher and student may have
    different dimensions. ``vectors`` holds each text in its place, as BioLORD-2023 distills (Remy et al. 2024). With a
    ``share`` below 1, B counts the texts of an even selection of the batch, and the teacher embeds these alone.

    Args:
        model: The encoder; ``None`` where only :meth:`compute_loss_from_embeddings` is called.
        teacher: The teacher's vectors, ``[N, D]``; may be memory-mapped, or a
            :class:`~st_biomed.training.teacher.TeacherVectors`. It stays on the CPU, a batch's rows go to the device of the
            embeddings. It belongs to no ``state_dict``.
        weight: Factor of the loss.
        target: ``"cosines"`` or ``"vectors"``.
        share: Share of the texts of a batch, above 0 and at most 1; at least two texts, or all of a smaller batch.
        gather_across_devices: Whether the texts of all processes form one batch.

    Inputs: one or more text columns; ``label`` int64 ``[B]``, or ``[B, n]`` for n columns: the rows of the teacher.

    Raises:
        InputError: An argument out of its range.
    """

    def __init__(
        self,
        model: nn.Module | None,
        teacher: Teacher,
        weight: float = 1.0,
        *,
        target: str = "cosines",
        share: float = 1.0,
        gather_across_devices: bool = False,
    ) -> None:
        super().__init__()
        if getattr(teacher, "ndim", None) != 2 or not len(teacher):
            found = getattr(teacher, "shape", None)
            what = type(teacher).__name__ if found is None else f"shape {list(found)}"
            raise InputError(f"teacher must be vectors [N, D], found {what}")
        self.model: Any = model
        self.teacher = teacher
        self.weight = number("weight", weight, above=0.0)
        self.target = check_name("target", target, TARGETS)
        self.share = number("share", share, above=0.0, most=1.0)
        self.gather_across_devices = gather_across_devices

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        from st_biomed.losses.embed import embed_columns

        return self.compute_loss_from_embeddings(embed_columns(self.model, sentence_features), labels)

    def compute_loss_from_embeddings(self, embeddings: list[Tensor], labels: Tensor) -> Tensor:
        """The loss of a batch.

        Args:
            embeddings: One ``[B, D]`` per text column.
            labels: Rows of the teacher, ``[B]``, or ``[B, n]`` for n columns.

        Returns:
            A scalar, differentiable once.

        Raises:
            InputError: Labels that are no rows of the teacher, or vectors of another dimension where the target is
                ``"vectors"``.
        """
        rows = join_embeddings(embeddings, gather_across_devices=self.gather_across_devices)
        labels = join_labels(labels, embeddings, gather_across_devices=self.gather_across_devices)
        if self.share < 1:
            chosen = self._chosen(len(rows))
            rows, labels = rows[chosen.to(rows.device)], labels[chosen.to(labels.device)]
        with full_precision(rows):
            student = unit_rows(rows)
            teacher = unit_rows(self.teacher_rows(labels).to(rows))
            if self.target == "vectors":
                return self.weight * self._apart(student, teacher)
            differences = student @ student.T - teacher @ teacher.T
            differences = differences - torch.diag(differences.diagonal())
            return self.weight * differences.square().sum() / max(1, len(rows) * (len(rows) - 1))

    def _chosen(self, texts: int) -> Tensor:
        """Positions spread evenly over a batch, int64."""
        count = min(texts, max(2, math.ceil(self.share * texts)))
        return torch.arange(count) * texts // count

    def _apart(self, student: Tensor, teacher: Tensor) -> Tensor:
        """The mean of one minus the cosine of each text's two vectors, ``[B, D]`` each."""
        if student.shape != teacher.shape:
            raise InputError(
                f"target 'vectors' needs a teacher of {student.shape[1]} dimensions like the student, "
                f"found {teacher.shape[1]}; use 'cosines'"
            )
        return (1 - torch.linalg.vecdot(student, teacher)).sum() / max(1, len(student))

    def teacher_rows(self, labels: Tensor) -> Tensor:
        """The teacher's vectors of a batch on the CPU, ``[B, D]``.

        Raises:
            InputError: With the range of labels found and allowed.
        """
        rows = labels.cpu().numpy()
        if len(rows) and (rows.min() < 0 or rows.max() >= len(self.teacher)):
            raise InputError(
                f"labels are rows of the teacher from 0 to {len(self.teacher) - 1}, "
                f"found {rows.min()} to {rows.max()}: was the dataset made from other texts?"
            )
        return torch.from_numpy(np.asarray(self.teacher[rows]))

    def get_config_dict(self) -> dict[str, Any]:
        """The parameters, for cards and records."""
        return {
            "target": self.target,
            "weight": self.weight,
            "share": self.share,
            "teacher": f"{len(self.teacher)} vectors",
            "gather_across_devices": self.gather_across_devices,
        }

    @property
    def citation(self) -> str:
        """BibTeX of the target's paper."""
        if self.target == "vectors":
            return BIOLORD
        return """
@inproceedings{park2019relational,
    title = {Relational Knowledge Distillation},
    author = {Park, Wonpyo and Kim, Dongju and Lu, Yan and Cho, Minsu},
    booktitle = {Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition},
    pages = {3967--3976},
    year = {2019}
}
"""


class CachedSelfDistillationLoss(CachedLoss):
    """:class:`SelfDistillationLoss` over large batches: its arguments, and those of :class:`CachedLoss`."""

    loss_class = SelfDistillationLoss


LabelMap = Callable[[Tensor], Tensor]
"""Maps integers of any shape to integers of the same shape."""


class DistilledLoss(nn.Module):
    """A loss together with the self-distillation of the same batch: the texts are embedded once for both.

    Args:
        model: The encoder; ``None`` where only :meth:`compute_loss_from_embeddings` is called.
        loss: A loss of this package; made without a model.
        distillation: A :class:`SelfDistillationLoss`; made without a model.
        rows: Maps labels to rows of the teacher; by default they are equal.
        labels: Maps labels to those of the loss; by default they are equal.

    Raises:
        InputError: A loss that has a model of its own, or that embeds its texts part by part.
    """

    def __init__(
        self,
        model: nn.Module | None,
        loss: nn.Module,
        distillation: SelfDistillationLoss,
        *,
        rows: LabelMap | None = None,
        labels: LabelMap | None = None,
    ) -> None:
        super().__init__()
        for name, part in (("loss", loss), ("distillation", distillation)):
            if isinstance(part, CachedLoss):
                raise InputError(f"{name}: is a cached loss; make CachedDistilledLoss of the loss that it caches")
            if getattr(part, "model", None) is not None:
                raise InputError(f"{name}: has a model of its own; make it with None in its place")
        self.model: Any = model
        self.loss: Any = loss
        self.distillation = distillation
        self.rows, self.labels = rows, labels

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        from st_biomed.losses.callbacks import require_loss_parameters_callback
        from st_biomed.losses.embed import embed_columns

        require_loss_parameters_callback(self.loss)  # its forward, which would say it, is not called
        return self.compute_loss_from_embeddings(embed_columns(self.model, sentence_features), labels)

    def compute_loss_from_embeddings(self, embeddings: list[Tensor], labels: Tensor) -> Tensor:
        """The sum of both losses of embeddings ``[B, D]``, one for every text column, and their labels ``[B]`` or ``[B, n]``."""
        of_loss = labels if self.labels is None else self.labels(labels)
        of_teacher = labels if self.rows is None else self.rows(labels)
        value = self.loss.compute_loss_from_embeddings(embeddings, of_loss)
        return value + self.distillation.compute_loss_from_embeddings(embeddings, of_teacher)

    def get_config_dict(self) -> dict[str, Any]:
        """The parameters of both, for cards and records."""
        return {
            "loss": type(self.loss).__name__,
            **self.loss.get_config_dict(),
            "distillation": self.distillation.get_config_dict(),
        }

    @property
    def citation(self) -> str:
        """BibTeX of the distillation; the host adds that of the loss itself."""
        return self.distillation.citation


class CachedDistilledLoss(CachedLoss):
    """:class:`DistilledLoss` over large batches: its arguments, and those of :class:`CachedLoss`."""

    loss_class = DistilledLoss


def with_distillation(
    loss: Any,
    teacher: Teacher,
    *,
    weight: float,
    target: str = "cosines",
    share: float = 1.0,
    rows: LabelMap | None = None,
    labels: LabelMap | None = None,
) -> Any:
    """A loss that has its model, cached or not, together with self-distillation of its batches.

    Args:
        loss: A loss of this package; its model moves to the new loss. One that has a place for the distillation among its
            own parts (:class:`~st_biomed.losses.BergamotLoss`) takes it there and is returned.
        teacher: The teacher's vectors, ``[N, D]``.
        weight: Factor of the distillation.
        target: ``"cosines"`` or ``"vectors"``.
        share: Share of the texts of each batch.
        rows, labels: As for :class:`DistilledLoss`.

    Returns:
        A :class:`DistilledLoss`, a :class:`CachedDistilledLoss`, or the loss itself.

    Raises:
        InputError: As :class:`SelfDistillationLoss`.
    """
    inner: Any = loss.loss if isinstance(loss, CachedLoss) else loss
    distillation = SelfDistillationLoss(
        None, teacher, weight, target=target, share=share, gather_across_devices=inner.gather_across_devices
    )
    if hasattr(loss, "hold"):
        loss.hold(distillation)
        return loss
    model, loss.model = loss.model, None
    if not isinstance(loss, CachedLoss):
        return DistilledLoss(model, loss, distillation, rows=rows, labels=labels)
    return CachedDistilledLoss(
        model,
        inner,
        distillation,
        rows=rows,
        labels=labels,
        mini_batch_size=loss.mini_batch_size,
        mini_batch_num_tokens=loss.mini_batch_num_tokens,
        show_progress_bar=loss.show_progress_bar,
    )
