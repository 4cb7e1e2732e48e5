"""Embed many texts in the memory of a mini-batch, and leave what is done with their embeddings to autograd."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from sentence_transformers.base.losses import RandContext
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from st_biomed.errors import InputError
from st_biomed.losses.embed import _forwards_are_independent, merge_columns, take_rows, token_lengths


def embed_in_mini_batches(model: Any, features: dict[str, Any], mini_batch_size: int) -> Tensor:
    """The embeddings of texts, whose backward pass embeds them again, mini-batch by mini-batch (GradCache).

    Gao et al. 2021, arXiv 2101.06983. The host's form takes the loss back to the embeddings within its forward pass, so a
    loss's own parameters get gradients there that miss gradient accumulation and loss scaling. Here the embeddings are
    a leaf of the ordinary graph: whatever is computed from them is differentiated when the trainer says so, and the gradient
    that arrives at them goes on to the encoder. Dropout is the same in both passes.

    Args:
        model: The encoder as the loss holds it.
        features: Of T texts, padded.
        mini_batch_size: Texts that are embedded at once; sorted by length, longest first.

    Returns:
        ``[T, D]``.

    Raises:
        InputError: Features that cannot be cut into rows, or an encoder whose forwards are collective.
    """
    names = merge_columns([features])
    if names is None:
        raise InputError("texts must be padded, with an attention_mask, to be embedded in mini-batches")
    if not _forwards_are_independent(model):
        raise InputError("mini-batches need an encoder whose processes may differ in their number: no FSDP")
    mask = names["attention_mask"]
    lengths = token_lengths(mask)
    if lengths is None:  # padded on the left: the ends cannot be cut
        lengths = np.full(len(mask), mask.shape[1])
    order = np.argsort(-lengths, kind="stable")
    rows = torch.from_numpy(order).to(mask.device)
    begins = range(0, len(order), mini_batch_size)

    def chunks() -> Iterator[dict[str, Any]]:
        for begin in begins:
            yield take_rows(names, rows[begin : begin + mini_batch_size], width=int(lengths[order[begin]]))

    random_states, parts = [], []
    with torch.no_grad():
        for chunk in chunks():
            random_states.append(RandContext(*chunk.values()))
            parts.append(model(chunk)["sentence_embedding"])
    embeddings = torch.cat(parts).index_select(0, rows.argsort())

    def embed_again(gradient: Tensor) -> None:
        unwrapped = getattr(model, "_orig_mod", model)
        gradients = gradient.index_select(0, rows).split(mini_batch_size)
        for i, (chunk, part, state) in enumerate(zip(chunks(), gradients, random_states)):
            waits = isinstance(unwrapped, DistributedDataParallel) and i + 1 < len(begins)
            with torch.enable_grad(), unwrapped.no_sync() if waits else nullcontext():
                with state:
                    again = model(chunk)["sentence_embedding"]
                if again.requires_grad:
                    again.backward(part)

    if torch.is_grad_enabled():
        embeddings.requires_grad_().register_hook(embed_again)
    return embeddings
