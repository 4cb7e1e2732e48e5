"""Embed short names in one pass over all text columns, sorted by length and cut into chunks with little padding.

Names have 3 to 30 tokens, and a batch holds hundreds. Padded to the longest name, half of the computation is padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from sentence_transformers.base.losses.merged_forward import merge_feature_batches
from sentence_transformers.util import get_world_size
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from st_biomed.errors import InputError

CHUNK_COST_CPU = 64
"""Cost of one more chunk beyond its tokens (its own gradients of all weights), in tokens of computation.

``benchmarks/chunk_cost.py`` measures it: from 32 to 128 the curve is nearly flat, in float32 and under bf16 autocast."""

CHUNK_COST_ACCELERATOR = 8192
"""The same on a device where a chunk costs the launch of about a hundred kernels (an estimate)."""

Encoder = Callable[[dict[str, Any]], dict[str, Any]]
"""The interface of a module: it takes features and returns them with ``sentence_embedding`` ``[B, D]``."""


def embed_columns(
    model: Encoder | None, features: Iterable[dict[str, Any]], *, chunk_cost: int | None = None
) -> list[Tensor]:
    """The embeddings of every text column, equal to ``model(column)["sentence_embedding"]`` but with less padding.

    All columns are joined into one batch, sorted by length, and cut wherever the saved padding is worth one more
    forward pass; each chunk is as wide as its longest name. Values and gradients are those of one forward per column
    up to rounding (with
    dropout: up to the order of random numbers). Several forwards before one backward are sound under
    DistributedDataParallel: a parameter's gradient is complete, and reduced, once per backward.

    There is one forward per column, as in sentence-transformers' own losses, if rows cannot be regrouped: packed inputs
    (``cu_seq_lens_q``, no ``attention_mask``), other modalities than text, left padding, columns whose metadata
    differ, and inside :func:`~sentence_transformers.base.losses.column_merging_disabled`. There is one forward for all
    columns if forwards are collective and their number must be the same on all processes (FSDP, DDP that broadcasts
    buffers).

    Args:
        model: The encoder as the loss holds it, plain, compiled or wrapped.
        features: One dictionary per text column. A tensor is ``[B, ...]``, one row per text. A tensor whose second
            dimension is as wide as ``attention_mask`` belongs to tokens and is cut with them, as in sentence-transformers' cached
            losses. Pass a tensor that belongs to texts and may have that width by chance as ``[B, 1, k]``.
        chunk_cost: Cost of a forward pass beyond its tokens, in tokens: 0 avoids all padding, a large number gives one
            chunk. By default the measured cost of the device.

    Returns:
        One ``[B, D]`` per column, rows in the order given.

    Raises:
        InputError: The loss has no model.
    """
    if model is None:
        raise InputError("embedding needs a model; without a model call compute_loss_from_embeddings")
    columns = list(features)
    names = merge_columns(columns)
    if names is None:
        return [model(column)["sentence_embedding"] for column in columns]
    mask = names["attention_mask"]
    if chunk_cost is None:
        chunk_cost = CHUNK_COST_CPU if mask.device.type == "cpu" else CHUNK_COST_ACCELERATOR
    if mask.numel() <= chunk_cost or not _forwards_are_independent(model):
        embeddings = model(names)["sentence_embedding"]
    else:
        lengths = token_lengths(mask)
        if lengths is None:
            return [model(column)["sentence_embedding"] for column in columns]
        order = np.argsort(-lengths, kind="stable")
        rows = torch.from_numpy(order).to(mask.device)
        chunks = [
            model(take_rows(names, rows[begin:end], width=int(lengths[order[begin]])))["sentence_embedding"]
            for begin, end in chunk_bounds(lengths[order], chunk_cost)
        ]
        embeddings = torch.cat(chunks).index_select(0, rows.argsort())
    return list(embeddings.chunk(len(columns)))


def merge_columns(columns: list[dict[str, Any]]) -> dict[str, Any] | None:
    """All text columns as one padded batch of ``n * B`` rows, column after column.

    Args:
        columns: One dictionary of features per column.

    Returns:
        A new dictionary, or ``None`` if the columns must be embedded separately.
    """
    merged = merge_feature_batches(columns) if columns else None
    if merged is None or merged.get("modality", "text") != "text":
        return None
    mask = merged.get("attention_mask")
    return merged if isinstance(mask, Tensor) and mask.ndim == 2 else None


def token_lengths(mask: Tensor) -> np.ndarray | None:
    """Tokens of every row, at least one.

    Args:
        mask: Attention mask ``[B, L]``.

    Returns:
        int64 ``[B]``, or ``None`` if a row is not filled from the left and its end cannot be cut.
    """
    present = mask != 0
    last = (present * torch.arange(1, mask.shape[1] + 1, device=mask.device)).amax(1)
    counts, ends = torch.stack([present.sum(1), last]).cpu().numpy()  # the one wait for the device
    return np.maximum(counts, 1) if np.array_equal(counts, ends) else None


def take_rows(features: dict[str, Any], rows: Tensor, width: int) -> dict[str, Any]:
    """The features of some texts, cut to ``width`` tokens.

    Args:
        features: From :func:`merge_columns`.
        rows: Which texts, int64 ``[R]``.
        width: Tokens to keep, from the left.
    """
    padded = features["attention_mask"].shape[1]

    def take(name: str, value: Any) -> Any:
        if not isinstance(value, Tensor) or name == "prompt_length":  # one value for all texts, in any shape
            return value
        if value.ndim > 1 and value.shape[1] == padded:
            value = value[:, :width]
        return value.index_select(0, rows)

    return {name: take(name, value) for name, value in features.items()}


def chunk_bounds(lengths: np.ndarray, chunk_cost: int) -> Iterator[tuple[int, int]]:
    """Cut sorted rows so that padded tokens plus ``chunk_cost`` per chunk are as few as possible.

    Exact, by dynamic programming over the distinct lengths: a cut between equal lengths saves nothing.

    Args:
        lengths: Tokens of the rows, longest first, ``[N]``, N at least 1.
        chunk_cost: Cost of one chunk, in tokens.

    Returns:
        ``(begin, end)`` of each chunk.
    """
    starts = np.append(
        np.flatnonzero(np.diff(lengths, prepend=-1)), len(lengths)
    )  # where a length begins, and the end
    cost = np.zeros(len(starts))
    previous = np.zeros(len(starts), dtype=np.int64)
    for i in range(1, len(starts)):
        tokens = (starts[i] - starts[:i]) * lengths[starts[:i]]
        candidates = cost[:i] + tokens + chunk_cost
        previous[i] = candidates.argmin()
        cost[i] = candidates[previous[i]]
    cuts = [len(starts) - 1]
    while cuts[-1] > 0:
        cuts.append(int(previous[cuts[-1]]))
    bounds = starts[cuts[::-1]].tolist()
    return pairwise(bounds)


def _forwards_are_independent(model: Encoder) -> bool:
    """Whether this process may run another number of forwards than the others."""
    if get_world_size() == 1:
        return True
    model = getattr(model, "_orig_mod", model)  # below torch.compile
    return isinstance(model, DistributedDataParallel) and not model.will_sync_module_buffers()
