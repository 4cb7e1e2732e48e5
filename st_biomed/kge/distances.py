"""Distances between two sets of vectors, without a matrix of all differences."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_CELLS = 1 << 18  # complex differences at once: two megabytes, which stay in the cache of a core
_ROWS = 16  # of a block where there are many entities


def summed_moduli(queries: Tensor, entities: Tensor) -> Tensor:
    """Sum over the dimensions of the modulus of the complex difference, as in RotatE.

    Differences are computed block by block, in the forward and the backward pass, and are not kept. If two vectors are
    equal in a dimension, its gradient is zero.

    Args:
        queries: Real parts, then imaginary parts, ``[..., Q, 2d]``.
        entities: The same, ``[..., N, 2d]`` with equal leading sizes.

    Returns:
        float32 ``[..., Q, N]``.
    """
    leading = queries.shape[:-2]
    left, right = (part.reshape(-1, *part.shape[-2:]).float() for part in (queries, entities))
    out: Tensor = _SummedModuli.apply(left, right)
    return out.reshape(*leading, *out.shape[-2:])


class _SummedModuli(torch.autograd.Function):
    """``[K, Q, 2d]`` and ``[K, N, 2d]`` to ``[K, Q, N]``."""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, entities: Tensor) -> Tensor:
        ctx.save_for_backward(queries, entities)
        out = queries.new_empty(len(queries), queries.shape[1], entities.shape[1])
        for group, rows, columns in _blocks(queries, entities):
            real, imaginary = _differences(queries[group, rows], entities[group, columns])
            out[group, rows, columns] = real.square_().addcmul_(imaginary, imaginary).sqrt_().sum(dim=-1)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        (gradient,) = gradients
        queries, entities = ctx.saved_tensors
        of_queries, of_entities = torch.zeros_like(queries), torch.zeros_like(entities)
        half = queries.shape[-1] // 2
        for group, rows, columns in _blocks(queries, entities):
            real, imaginary = _differences(queries[group, rows], entities[group, columns])
            squares = (real * real).addcmul_(imaginary, imaginary).clamp_min_(torch.finfo(real.dtype).tiny)
            weight = squares.rsqrt_().mul_(gradient[group, rows, columns].unsqueeze(-1))
            for part, difference in ((slice(half), real), (slice(half, None), imaginary)):
                difference.mul_(weight)
                of_queries[group, rows, part] += difference.sum(dim=1)
                of_entities[group, columns, part] -= difference.sum(dim=0)
        return of_queries, of_entities


def _differences(queries: Tensor, entities: Tensor) -> tuple[Tensor, Tensor]:
    """Real and imaginary parts of ``[q, 2d]`` minus ``[N, 2d]``, both ``[q, N, d]``."""
    (real, imaginary), (of_real, of_imaginary) = queries.chunk(2, dim=-1), entities.chunk(2, dim=-1)
    return real.unsqueeze(1) - of_real, imaginary.unsqueeze(1) - of_imaginary


def _blocks(queries: Tensor, entities: Tensor) -> list[tuple[int, slice, slice]]:
    """Group, rows and columns of each block; on a GPU a block is larger, since starting one costs more there."""
    cells = (_CELLS if queries.device.type == "cpu" else _CELLS << 8) // max(1, queries.shape[-1] // 2)
    across = max(1, min(entities.shape[1], cells // _ROWS))
    down = max(1, cells // across)
    return [
        (group, slice(row, row + down), slice(column, column + across))
        for group in range(len(queries))
        for row in range(0, queries.shape[1], down)
        for column in range(0, entities.shape[1], across)
    ]
