"""Vectors of many short texts, sorted by length and batched by a budget of tokens, with little padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import batch_to_device, truncate_embeddings
from torch import Tensor

from st_biomed.encoder import computes_bf16
from st_biomed.encoder.prompts import Task, task_input
from st_biomed.errors import InputError, check_several
from st_biomed.linking.forks import use_one_thread_in_a_fork
from st_biomed.losses.embed import take_rows, token_lengths

TOKENS_PER_FORWARD_CPU = 1024
"""The fastest of 256, 512, ... 8,192 for all-MiniLM-L6-v2 on one core, in float32 and under bf16 autocast."""

TOKENS_PER_FORWARD_ACCELERATOR = 1 << 16
"""An estimate that keeps a GPU busy; the activations of a BERT-base layer take a few hundred MB."""

_TOKENIZED_AT_ONCE = 4096


class NameEncoder:
    """The vectors of ``model.encode_query`` and ``model.encode_document``, in less time for short texts.

    Prompts are those of :func:`~st_biomed.encoder.prompts.task_input`, which differ where a folder has the prompt ``passage``.

    Args:
        model: Any sentence-transformers model; it is switched to evaluation mode. If its features have no attention
            mask filled from the left (static embeddings, packed inputs), texts are batched by the model.
        bf16: Autocast to bfloat16; ``None`` to use it if the machine supports it. Vectors are returned as float32.
        tokens_per_forward: Tokens of a forward pass, including padding; ``None`` for the measured value of the device.

    Raises:
        InputError: The model cannot encode, or a budget below 1.
    """

    def __init__(
        self, model: SentenceTransformer, *, bf16: bool | None = None, tokens_per_forward: int | None = None
    ) -> None:
        if not isinstance(model, SentenceTransformer):
            raise InputError(f"expected a SentenceTransformer, found {type(model).__name__}")
        if tokens_per_forward is not None and tokens_per_forward < 1:
            raise InputError(f"tokens_per_forward must be at least 1, found {tokens_per_forward}")
        self.model = model.eval()
        self.bf16 = computes_bf16(model.device.type) if bf16 is None else bf16
        on_cpu = model.device.type == "cpu"
        self.tokens_per_forward = tokens_per_forward or (
            TOKENS_PER_FORWARD_CPU if on_cpu else TOKENS_PER_FORWARD_ACCELERATOR
        )

    def encode(self, texts: Sequence[str], *, task: Task) -> np.ndarray:
        """The vectors of some texts.

        Args:
            texts: N texts.
            task: Whether the texts are mentions or names.

        Returns:
            float32 ``[N, D]``; ``[0, 0]`` without texts.

        Raises:
            InputError: One string in place of texts.
        """
        check_several("texts", texts)
        use_one_thread_in_a_fork()
        self.model.eval()  # a training that goes on has switched it back
        order = np.argsort([-len(text) for text in texts], kind="stable")
        out: np.ndarray | None = None
        # One group's vectors are fetched after the next group was tokenized and sent: a GPU computes meanwhile.
        sent: tuple[np.ndarray, Tensor] | None = None
        with (
            torch.inference_mode(),
            torch.autocast(self.model.device.type, dtype=torch.bfloat16, enabled=self.bf16),
        ):
            for start in [*range(0, len(order), _TOKENIZED_AT_ONCE), None]:
                rows = order[:0] if start is None else order[start : start + _TOKENIZED_AT_ONCE]
                vectors = self._forward([texts[row] for row in rows], task) if len(rows) else None
                if sent is not None:
                    fetched = sent[1].float().cpu().numpy()
                    if out is None:
                        out = np.empty((len(texts), fetched.shape[1]), dtype=np.float32)
                    out[sent[0]] = fetched
                sent = None if vectors is None else (rows, vectors)
        return np.empty((0, 0), dtype=np.float32) if out is None else out

    def _forward(self, texts: list[str], task: Task) -> Tensor:
        """Vectors of one group ``[R, D]``, on the device."""
        prompt = task_input(self.model, task).prompt
        features: dict[str, Any] = dict(self.model.preprocess(texts, prompt=prompt, task=task))
        mask = features.get("attention_mask")
        lengths = token_lengths(mask) if isinstance(mask, Tensor) and mask.ndim == 2 else None
        if lengths is None:
            return self._vectors(features, task)
        order = np.argsort(-lengths, kind="stable")
        rows = torch.from_numpy(order)
        parts = [
            self._vectors(take_rows(features, rows[begin:end], width=int(lengths[order[begin]])), task)
            for begin, end in _cuts(lengths[order], self.tokens_per_forward)
        ]
        return torch.cat(parts)[rows.argsort().to(parts[0].device)]

    def _vectors(self, features: dict[str, Any], task: Task) -> Tensor:
        features = batch_to_device(features, self.model.device)
        vectors = self.model(features, task=task)["sentence_embedding"]
        return vectors if self.model.truncate_dim is None else truncate_embeddings(vectors, self.model.truncate_dim)


def _cuts(lengths: np.ndarray, budget: int) -> Iterator[tuple[int, int]]:
    """``(begin, end)`` of each forward pass: as many rows, longest first ``[R]``, as the budget has room for."""
    begin = 0
    while begin < len(lengths):
        end = min(begin + max(1, budget // int(lengths[begin])), len(lengths))
        yield begin, end
        begin = end
