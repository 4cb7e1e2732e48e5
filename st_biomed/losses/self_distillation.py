"""Self-distillation: the encoder in training keeps the geometry of the frozen encoder that it started from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from st_biomed.errors import InputError, check_name, check_number
from st_biomed.losses.cached import CachedLoss, cached_if
from st_biomed.losses.citations import BIOLORD
from st_biomed.losses.similarity import full_precision, join_embeddings, join_labels, unit_rows

TARGETS = ("cosines", "vectors")
GOLDEN_RATIO = (math.sqrt(5) - 1) / 2
"""Its multiples, without their whole part, fill the numbers from 0 to 1 evenly."""


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
        self.weight = check_number("weight", weight, above=0.0)
        self.target = check_name("target", target, TARGETS)
        self.share = check_number("share", share, above=0.0, most=1.0)
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
        rows = join_embeddings(embeddings, gather_across_devices=self.gather_across_devices, loss=self)
        labels = join_labels(labels, embeddings, gather_across_devices=self.gather_across_devices)
        if self.share < 1:
            chosen = self._chosen(len(rows))
            rows, labels = rows[chosen.to(rows.device)], labels[chosen.to(labels.device)]
        with full_precision(rows):
            student = unit_rows(rows)
            teacher = unit_rows(self.teacher_vectors(labels).to(rows))
            if self.target == "vectors":
                return self.weight * self._apart(student, teacher)
            differences = student @ student.T - teacher @ teacher.T
            differences = differences - torch.diag(differences.diagonal())
            return self.weight * differences.square().sum() / max(1, len(rows) * (len(rows) - 1))

    def _chosen(self, texts: int) -> Tensor:
        """Positions spread evenly over a batch, int64: one in each of equal sections, at changing places of them.

        Batches have a structure (a name, a definition, a name, ...) of which equal steps would take one kind of text.
        """
        count = min(texts, max(2, math.ceil(self.share * texts)))
        order = torch.arange(count + 1)
        starts = order * texts // max(1, count)
        places = (order[:-1].double() * GOLDEN_RATIO).frac() * starts.diff()
        return starts[:-1] + places.long()

    def _apart(self, student: Tensor, teacher: Tensor) -> Tensor:
        """The mean of one minus the cosine of each text's two vectors, ``[B, D]`` each."""
        if student.shape != teacher.shape:
            raise InputError(
                f"target 'vectors' needs a teacher of {student.shape[1]} dimensions like the student, "
                f"found {teacher.shape[1]}; use 'cosines', which MatryoshkaLoss can cut, too"
            )
        return (1 - torch.linalg.vecdot(student, teacher)).sum() / max(1, len(student))

    def teacher_vectors(self, labels: Tensor) -> Tensor:
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
        found = self.teacher[rows]
        return found.detach().cpu() if isinstance(found, Tensor) else torch.from_numpy(np.asarray(found))

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


def only_distilled(
    model: nn.Module, teacher: Teacher, *, mini_batch_size: int | None = None, **options: Any
) -> nn.Module:
    """Self-distillation without another loss, cached if the mini-batches have a size.

    Args:
        mini_batch_size: Number of texts embedded at once; ``None`` for all texts of a batch.
        **options: Further arguments of :class:`SelfDistillationLoss`.
    """
    return cached_if(mini_batch_size, SelfDistillationLoss, CachedSelfDistillationLoss)(model, teacher, **options)
