"""Embed many texts in the memory of a mini-batch, and differentiate the use of their embeddings with autograd."""

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
    """The embeddings of texts; their backward pass embeds the texts again, mini-batch by mini-batch (GradCache).

    Gao et al. 2021, arXiv 2101.06983. sentence-transformers' form differentiates the loss within its forward pass, so the
    gradients of a loss's own parameters miss gradient accumulation and loss scaling. Here the embeddings are part of
    the ordinary graph: they are differentiated in the trainer's backward pass, and their gradient is passed on to the
    encoder. Dropout is the same in both passes.

    Args:
        model: The encoder as the loss holds it.
        features: Features of T texts, padded.
        mini_batch_size: Number of texts embedded at once; sorted by length, longest first.

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
