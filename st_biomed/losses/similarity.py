"""Functions for all losses on pairs: rows and labels of a batch, cosines, ``log(1 + sum exp)`` and reductions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from st_biomed.errors import InputError, check_instance
from st_biomed.losses.gathering import check_same_loss, gathered

_SIGNED = (torch.int64, torch.int32, torch.int16, torch.int8)
REDUCTIONS = ("mean_all", "mean_nonzero", "sum")


def full_precision(tensor: Tensor) -> torch.autocast:
    """A context without autocast on the tensor's device: cosines and log-sum-exp are never computed in half."""
    return torch.autocast(tensor.device.type, enabled=False)


def join_embeddings(
    embeddings: Sequence[Tensor], *, gather_across_devices: bool = False, loss: nn.Module | None = None
) -> Tensor:
    """All texts of a batch as the rows of one matrix, column after column.

    Args:
        embeddings: One ``[B, D]`` per text column, n of them.
        gather_across_devices: Whether to append the rows of all other processes, with their gradients.
        loss: The loss that gathers them, to check that all processes are in a batch of it; ``None`` to check nothing.

    Returns:
        ``[n * B, D]`` in float32 (float64 stays).

    Raises:
        InputError: No embeddings, another shape, a single matrix in place of a list, or processes in batches of different
            losses.
    """
    require_list(embeddings)
    if not embeddings or any(column.ndim != 2 or column.shape != embeddings[0].shape for column in embeddings):
        raise InputError(f"embeddings must be a list of [B, D] matrices, found {[tuple(e.shape) for e in embeddings]}")
    rows = torch.cat(list(embeddings))
    if rows.dtype != torch.float64:
        rows = rows.float()
    if gather_across_devices:
        if loss is not None:
            check_same_loss(loss, rows.device)
        rows = gathered(rows)
    return rows


def require_list(embeddings: Sequence[Tensor]) -> None:
    """Reject anything but a list of tensors, such as a single matrix.

    Raises:
        InputError: It is no list, or an entry is no tensor.
    """
    if isinstance(embeddings, Tensor):
        raise InputError(f"embeddings must be a list of [B, D] matrices, found one tensor {tuple(embeddings.shape)}")
    for column in embeddings if isinstance(embeddings, Sequence) else [embeddings]:
        check_instance("each of embeddings", column, Tensor)


def require_integers(labels: Tensor) -> None:
    """Reject anything but a tensor of signed integers.

    Raises:
        InputError: It is another object, or has another type of numbers.
    """
    check_instance("labels", labels, Tensor)
    if labels.dtype not in _SIGNED:
        raise InputError(f"labels must be signed integers, found {labels.dtype}")


def join_labels(labels: Tensor | None, embeddings: Sequence[Tensor], *, gather_across_devices: bool = False) -> Tensor:
    """The labels of the rows of :func:`join_embeddings`, int64 ``[n * B]``.

    Args:
        labels: Signed integers ``[B, n]``, or ``[B]`` if a label holds for every column.
        embeddings: The n columns, ``[B, D]`` each.
        gather_across_devices: As for the embeddings.

    Raises:
        InputError: No labels, or a shape or a type that does not fit.
    """
    if labels is None:
        raise InputError("labels must be given, found none: the dataset needs a column 'label'")
    length, columns = len(embeddings[0]), len(embeddings)
    require_integers(labels)
    if tuple(labels.shape) not in ((length,), (length, columns)):
        raise InputError(
            f"labels must have shape [{length}] or [{length}, {columns}] for {columns} column(s) of {length} texts, "
            f"found {list(labels.shape)}"
        )
    labels = labels.long()  # torch takes no narrower integers as indices
    labels = labels.repeat(columns) if labels.ndim == 1 else labels.T.reshape(-1)
    return gathered(labels) if gather_across_devices else labels


def unit_rows(rows: Tensor) -> Tensor:
    """Rows of length one, ``[B, D]``; a zero row stays zero and gets no gradient. Differentiable once."""
    return _UnitRows.apply(rows)


class _UnitRows(torch.autograd.Function):
    """``z = e / |e|`` with ``dL/de = (g - (g . z) z) / |e|``: a sixth of the time autograd takes for it."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        norms = rows.norm(dim=1, keepdim=True)
        scale = torch.where(norms > 1e-12, norms.reciprocal(), 0)
        unit = rows * scale
        ctx.save_for_backward(unit, scale)
        return unit

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        unit, scale = ctx.saved_tensors
        along = torch.linalg.vecdot(grad, unit)[:, None]
        return torch.addcmul(grad, unit, along, value=-1).mul_(scale)


def nan_unless_finite(loss: Tensor, unit: Tensor) -> Tensor:
    """The loss, or NaN if the vectors of the batch are not finite: miners compare, and no comparison with NaN holds, so that
    a diverged model would have no pair and no loss.

    Args:
        loss: A scalar.
        unit: Rows of length one, ``[B, D]``.
    """
    return loss + unit.detach().sum() * 0


@torch.no_grad()
def cosine_matrix(unit: Tensor) -> Tensor:
    """All cosines of a batch, exactly symmetric and outside the graph.

    On a CPU only the lower triangle is computed, strip by strip, in a third less time than ``unit @ unit.T``.

    Args:
        unit: Rows of length one, ``[B, D]``.

    Returns:
        ``[B, B]``.
    """
    out = unit.new_empty(len(unit), len(unit))
    strips = tiles(unit, 128)
    for i, strip in enumerate(strips):
        torch.mm(unit[strip.start :], unit[strip].T, out=out[strip.start :, strip])
        for below in strips[i + 1 :]:
            out[strip, below] = out[below, strip].T
    return out


def tiles(rows: Tensor, step: int) -> list[slice]:
    """Slices of B rows, so that square tiles of a ``[B, B]`` matrix stay in the processor's cache; one slice on an
    accelerator.

    Reading a large matrix by columns misses the cache at every step; reading a tile by columns does not.
    """
    step = step if rows.device.type == "cpu" else max(1, len(rows))
    return [slice(start, start + step) for start in range(0, len(rows), step)]


def listed_pairs(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Rows and columns of the pairs of a mask, in row-major order.

    On a CPU numpy finds a few pairs among many six times as fast as ``nonzero``.

    Args:
        mask: Boolean ``[B, N]``.

    Returns:
        int64 ``[M]`` each.
    """
    if mask.device.type != "cpu":
        rows, columns = mask.nonzero(as_tuple=True)
        return rows, columns
    found = torch.from_numpy(np.flatnonzero(mask.numpy()))
    return found // mask.shape[1], found % mask.shape[1]


def row_blocks(matrix: Tensor) -> Iterator[slice]:
    """Slices of the rows of a ``[B, N]`` matrix, so that a block stays in the cache or fits the device."""
    elements = 2**17 * torch.get_num_threads() if matrix.device.type == "cpu" else 2**28
    step = max(1, elements // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), step):
        yield slice(start, start + step)


def reduce_rows(losses: Tensor, reduction: str, counts: Tensor | None = None) -> Tensor:
    """One number from the losses of the rows.

    Args:
        losses: ``[B]``, none negative.
        reduction: ``"mean_all"`` over all rows, ``"mean_nonzero"`` over those with a loss, or ``"sum"``.
        counts: How many rows each loss stands for, ``[B]``; one by default.

    Returns:
        A scalar, 0 for an empty batch.
    """
    total = losses.sum() if counts is None else torch.dot(losses, counts)
    if reduction == "sum":
        return total
    if counts is not None:
        n = (counts if reduction == "mean_all" else counts[losses != 0]).sum()
    else:
        n = torch.as_tensor(len(losses) if reduction == "mean_all" else torch.count_nonzero(losses))
    return total / n.to(losses.device).clamp(min=1)
