"""A loss together with the self-distillation of the same batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn

from st_biomed.errors import InputError
from st_biomed.losses.cached import CachedLoss
from st_biomed.losses.self_distillation import SelfDistillationLoss, Teacher

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
        InputError: A loss that has a model of its own, that embeds its texts part by part, or that has a place for the
            distillation among its own parts.
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
            if hasattr(part, "add_distillation"):
                raise InputError(
                    f"{name}: {type(part).__name__} has a place for the distillation: use add_distillation"
                )
            if getattr(part, "model", None) is not None:
                raise InputError(f"{name}: has a model of its own; make it with None in its place")
        self.model: Any = model
        self.loss: Any = loss
        self.distillation = distillation
        self.rows, self.labels = rows, labels

    def forward(self, sentence_features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        from st_biomed.losses.embed import embed_columns
        from st_biomed.losses.loss_parameters_callback import require_loss_parameters_callback

        require_loss_parameters_callback(self.loss)  # the forward of the loss, which checks this, is not called
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
        """BibTeX of the distillation; sentence-transformers adds that of the loss itself."""
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
        rows, labels: As for :class:`DistilledLoss`; ``None`` for a loss that takes the distillation among its own parts.

    Returns:
        A :class:`DistilledLoss`, a :class:`CachedDistilledLoss`, or the loss itself.

    Raises:
        InputError: As :class:`SelfDistillationLoss`, or a map for a loss that takes the distillation among its own parts.
    """
    if hasattr(loss, "add_distillation"):
        for name, given in (("rows", rows), ("labels", labels)):
            if given is not None:
                raise InputError(
                    f"{name} must be None for {type(loss).__name__}, which takes no map of labels, found one"
                )
    inner: Any = loss.loss if isinstance(loss, CachedLoss) else loss
    distillation = SelfDistillationLoss(
        None, teacher, weight, target=target, share=share, gather_across_devices=inner.gather_across_devices
    )
    if hasattr(loss, "add_distillation"):
        loss.add_distillation(distillation)
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
