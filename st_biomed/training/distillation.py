"""Self-distillation as arguments of a recipe: the encoder that training starts from is the teacher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from torch import nn

from st_biomed.encoder.digest import model_digest
from st_biomed.evaluators.embedders import model_embedder
from st_biomed.evaluators.vector_store import VectorStore
from st_biomed.losses.self_distillation import TARGETS, with_distillation
from st_biomed.settings.checks import WEIGHT, about, one_of

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from st_biomed.training.parts import Part


@dataclass
class DistillationArguments:
    """Those of :class:`~st_biomed.losses.SelfDistillationLoss`."""

    distillation: float = field(
        default=0.0,
        metadata=about("weight of self-distillation, which holds what the base model knows; 0 for none", WEIGHT),
    )
    distillation_target: str = field(
        default="cosines",
        metadata=about(
            "what is held: cosines of the names of a batch, or their vectors (BioLORD-2023)", one_of(*TARGETS)
        ),
    )

    def distilled(
        self, loss: nn.Module, model: SentenceTransformer, texts: Sequence[str], folder: Path, *, bf16: bool = False
    ) -> nn.Module:
        """The loss with self-distillation of its batches; the loss itself where the weight is 0.

        Args:
            loss: A loss whose labels are the places of the texts.
            model: The encoder as it is before training; it becomes the teacher.
            texts: What is trained on, by label.
            folder: Where the teacher's vectors are kept.
            bf16: Whether the teacher computes in bfloat16.
        """
        if not self.distillation:
            return loss
        return self._held(loss, teacher_vectors(model, texts, folder, bf16=bf16))

    def distilled_parts(
        self, parts: Mapping[str, Part], model: SentenceTransformer, folder: Path, *, bf16: bool = False
    ) -> dict[str, nn.Module]:
        """The losses of the parts, with self-distillation those whose rows are texts by label.

        Relation pairs, whose labels are concepts, stay without it. The parts share one table of the teacher's vectors: the rows
        with definitions begin with the rows of names.

        Args:
            parts: By name.
            model, folder, bf16: As for :meth:`distilled`.
        """
        losses = {name: part.loss for name, part in parts.items()}
        rows = {name: part.rows for name, part in parts.items() if "text" in part.rows.column_names}
        if self.distillation and rows:
            longest = max(rows.values(), key=len)
            vectors = teacher_vectors(model, longest["text"], folder, bf16=bf16)
            losses |= {name: self._held(losses[name], vectors) for name in rows}
        return losses

    def _held(self, loss: nn.Module, vectors: np.ndarray) -> nn.Module:
        return with_distillation(loss, vectors, weight=self.distillation, target=self.distillation_target)


def teacher_vectors(
    model: SentenceTransformer, texts: Sequence[str], folder: Path, *, bf16: bool = False
) -> np.ndarray:
    """The vectors of texts under the model as it is now; embedded once, also for a run that is resumed.

    Args:
        model: The teacher.
        texts: N texts.
        folder: Where vectors are kept, of this and other models.
        bf16: Whether to compute in bfloat16.

    Returns:
        float16 ``[N, D]``.

    Raises:
        InputError: The folder is a file, or a vector is beyond what float16 holds.
    """
    embed = model_embedder(model, bf16=bf16)
    store = VectorStore(folder, {"model": model_digest(model), "bf16": bf16}, embed, dtype="float16")
    return store(list(texts))
