"""Vectors of the encoder that training starts from, computed when a batch first needs them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from datasets.arrow_dataset import Column
from torch import Tensor, nn

from st_biomed.encoder.text_limit import limited_preprocess
from st_biomed.errors import InputError
from st_biomed.losses.embed import embed_columns
from st_biomed.training.all_but_the_top import AllButTheTop, check_removed

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

PIECE = 512
"""Texts embedded at a time."""

SAMPLE = 8192
"""Texts from whose vectors the mean and the principal components are computed."""


class TeacherVectors:
    """The vectors of N texts from the current weights of an encoder, read by row like a matrix ``[N, D]``.

    A row is embedded when it is first requested, by a frozen copy of the encoder on the encoder's device. It is stored
    in float16 on the CPU. Texts that are in no batch are never embedded. Each process has its own table.

    The texts are embedded as the trainer embeds them: cut after ``max_length`` tokens, without a prompt of the model, sorted
    by length. If a text is embedded together with other texts, as in a resumed run, its vector is equal up to
    rounding.

    The copy is not a submodule: it has no gradient, and the trainer neither moves nor saves it.

    Args:
        model: The teacher; it is copied, so training does not change it.
        texts: N texts, e.g. a column of a dataset; those of a batch are read at once, when their rows are requested.
        max_length: Maximum number of tokens of a text, that of the training; ``None`` for the model's own limit.
        bf16: Whether the copy computes in bfloat16.
        removed: Center the vectors and remove this number of leading principal components, see
            :class:`~st_biomed.training.all_but_the_top.AllButTheTop`. They are computed from a sample of the texts,
            which does not depend on the order in which rows are requested. ``None`` leaves the vectors unchanged.

    Attributes:
        shape: ``(N, D)``.

    Example::

        teacher = TeacherVectors(model, terminology.strings)
        loss = SelfDistillationLoss(model, teacher)
    """

    ndim = 2

    def __init__(
        self,
        model: SentenceTransformer,
        texts: Sequence[str],
        *,
        max_length: int | None = None,
        bf16: bool = False,
        removed: int | None = None,
    ) -> None:
        self._student, self._encoder = model, _frozen(model, bf16=bf16)
        self._preprocess = limited_preprocess(self._encoder, max_length)
        self._texts, self._bf16 = texts, bf16
        self._removed = removed
        self._map: AllButTheTop | None = None
        width = self._encoder.get_embedding_dimension()
        if width is None:
            raise InputError("the model does not tell the dimension of its vectors")
        if removed is not None:
            check_removed(removed, width)
        self._vectors = np.zeros((len(texts), width), dtype=np.float16)  # pages that are never written take no memory
        self._known = np.zeros(len(texts), dtype=bool)

    @property
    def shape(self) -> tuple[int, int]:
        return self._vectors.shape

    @property
    def n_known(self) -> int:
        """Rows embedded so far."""
        return int(self._known.sum())

    def __len__(self) -> int:
        return len(self._vectors)

    def __getitem__(self, rows: Any) -> np.ndarray:
        """The vectors of rows, float16 ``[..., D]``.

        Args:
            rows: Integers ``[...]``, or a slice: its vectors are a read-only part of the table, not a copy.

        Raises:
            IndexError: A row is N or more.
            InputError: A vector is not finite in float16.
        """
        places = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows)
        new = np.unique(places[~self._known[places]])
        for start in range(0, len(new), PIECE):  # one piece at a time, so that only the table is in memory as a whole
            piece = new[start : start + PIECE]
            self._vectors[piece] = self._as_float16(self._texts_of(piece))
            self._known[piece] = True
        if not isinstance(rows, slice):
            return self._vectors[places]
        part = self._vectors[rows]
        part.setflags(write=False)
        return part

    def _texts_of(self, rows: np.ndarray) -> list[str]:
        """The texts of rows; a column of a dataset is read once for all of them, not once for each."""
        wanted = rows.tolist()
        return list(self._texts[wanted]) if isinstance(self._texts, Column) else [self._texts[i] for i in wanted]

    def _as_float16(self, texts: list[str]) -> np.ndarray:
        """The vectors of texts, float16 ``[n, D]``."""
        with np.errstate(over="ignore"):
            vectors = self._mapped(self._embedded(texts)).astype(np.float16)
        broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(broken):
            raise InputError(
                f"distillation: the teacher's vector of {texts[broken[0]]!r} has numbers that are not finite or beyond "
                f"{np.finfo(np.float16).max:g}, the largest of float16"
            )
        return vectors

    def _mapped(self, vectors: np.ndarray) -> np.ndarray:
        """The vectors without the mean and the leading components, if ``removed`` is set."""
        if self._removed is None:
            return vectors
        if self._map is None:
            sample = np.random.default_rng(0).permutation(len(self))[:SAMPLE]
            self._map = AllButTheTop.fit(self._embedded(self._texts_of(sample)), self._removed)
        return self._map(vectors)

    @torch.no_grad()
    def _embedded(self, texts: list[str]) -> np.ndarray:
        """The output of the teacher, float32 ``[n, D]``."""
        device = self._student.device
        if self._encoder.device != device:
            self._encoder.to(device)
        found = []
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=self._bf16):
            for start in range(0, len(texts), PIECE):
                features = self._preprocess(texts[start : start + PIECE])
                on_device = {
                    name: value.to(device) if isinstance(value, Tensor) else value for name, value in features.items()
                }
                found += embed_columns(self._encoder, [on_device])
        return torch.cat(found).float().cpu().numpy()

    def __repr__(self) -> str:
        return f"TeacherVectors({len(self):,} texts, {self.n_known:,} of them embedded)"


def _frozen(model: SentenceTransformer, *, bf16: bool) -> SentenceTransformer:
    """A copy without gradients; with bf16 its linear layers are in bfloat16, as autocast would cast them."""
    frozen = deepcopy(model).eval().requires_grad_(False)
    frozen.truncate_dim = None
    if bf16:
        for module in frozen.modules():
            if type(module) is nn.Linear:
                module.to(torch.bfloat16)
    return frozen
