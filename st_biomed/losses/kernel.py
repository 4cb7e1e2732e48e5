"""Masked log-sum-exps of the cosines of a batch, with their gradient worked out by hand.

For rows ``z`` of length one, ``S = Z Z^T``, masks ``M_k`` and slopes ``c_k`` the kernel gives

    y_ki = log sum_{j in M_ki} w_ij exp(c_k S_ij),        dL/dS_ij = sum_k dL/dy_ki c_k exp(c_k S_ij - y_ki) w_ij,
    dL/dZ = (G + G^T) Z    with G = dL/dS.

Multi-similarity losses are sums of ``log(1 + e^y)`` of these. Two things make it fast: a mask with few pairs (mined
ones, synonyms) is a list of pairs that costs what its pairs cost, in the exponentials and in the product with ``Z``;
and autograd keeps no ``[B, B]`` matrix besides ``S``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from st_biomed.losses.similarity import full_precision, row_blocks

EMPTY = -1e30
"""The log-sum-exp of no pair: finite, so that no gradient meets ``inf - inf``, and exactly 0 after ``exp``."""

FEW = 1 / 32
"""Share of all pairs up to which a list of pairs is faster than a dense mask (measured for D = 768 on a CPU)."""


def masked_log_sum_exp(
    unit: Tensor,
    similarities: Tensor,
    masks: Sequence[Tensor],
    terms: Sequence[tuple[int, float]],
    log_weights: Tensor | None = None,
) -> Tensor:
    """``log sum_j w_ij exp(slope * S_ij)`` over the pairs of a mask, for several masks and slopes at once.

    Differentiable once in ``unit``, and in ``log_weights`` where they require a gradient.

    Args:
        unit: Rows of length one, ``[B, D]``.
        similarities: ``unit @ unit.T`` outside the graph, ``[B, B]``.
        masks: Boolean ``[B, B]`` each.
        terms: K pairs of (index of a mask, slope).
        log_weights: Logarithms of pair weights, ``[B, B]``.

    Returns:
        ``[K, B]``; ``EMPTY`` where a row of a mask is empty.
    """
    if log_weights is not None and log_weights.requires_grad:  # learned weights: left to autograd
        cosines = unit @ unit.T
        return torch.stack(
            [(slope * cosines + log_weights).masked_fill(~masks[m], EMPTY).logsumexp(1) for m, slope in terms]
        )
    return _MaskedLogSumExp.apply(unit, similarities, masks, terms, log_weights)


class _FewPairs(NamedTuple):
    """Pairs as a list: ``rows`` and ``columns``, both ``[M]``."""

    rows: Tensor
    columns: Tensor

    def exponents(self, similarities: Tensor, slope: float, log_weights: Tensor | None) -> Tensor:
        """``[M]``."""
        out = similarities[self.rows, self.columns] * slope
        return out if log_weights is None else out + log_weights[self.rows, self.columns]

    def log_sum_exp(self, similarities: Tensor, slope: float, log_weights: Tensor | None) -> Tensor:
        """``[B]``."""
        exponents = self.exponents(similarities, slope, log_weights)
        highest = exponents.new_full((len(similarities),), EMPTY)
        highest.scatter_reduce_(0, self.rows, exponents, "amax")
        total = torch.zeros_like(highest).index_add_(0, self.rows, (exponents - highest[self.rows]).exp_())
        return torch.where(total > 0, highest + total.log(), EMPTY)


class _ManyPairs(NamedTuple):
    """Pairs as a mask, boolean ``[B, B]``; worked through in blocks of rows that stay in the cache."""

    mask: Tensor

    def exponents(self, block: slice, similarities: Tensor, slope: float, log_weights: Tensor | None) -> Tensor:
        """``[R, B]``, some ``EMPTY`` outside the mask."""
        out = similarities[block] * slope
        if log_weights is not None:
            out += log_weights[block]
        return out.add_(~self.mask[block], alpha=EMPTY)  # faster than filling: no branch for each element

    def log_sum_exp(self, similarities: Tensor, slope: float, log_weights: Tensor | None) -> Tensor:
        """``[B]``, from ``max softmax = exp(max - logsumexp)``: softmax is the fastest pass of exponentials there is."""
        out = similarities.new_empty(len(similarities))
        for block in row_blocks(similarities):
            exponents = self.exponents(block, similarities, slope, log_weights)
            out[block] = exponents.amax(1) - exponents.softmax(1).amax(1).log()
        return out


def _pairs(mask: Tensor) -> _FewPairs | _ManyPairs:
    if int(torch.count_nonzero(mask)) <= FEW * mask.numel():
        return _FewPairs(*mask.nonzero(as_tuple=True))
    return _ManyPairs(mask)


class _MaskedLogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        unit: Tensor,
        similarities: Tensor,
        masks: Sequence[Tensor],
        terms: Sequence[tuple[int, float]],
        log_weights: Tensor | None,
    ) -> Tensor:
        pairs = [_pairs(mask) for mask in masks]
        out = torch.stack([pairs[m].log_sum_exp(similarities, slope, log_weights) for m, slope in terms])
        ctx.save_for_backward(unit, similarities, log_weights, out)
        ctx.terms = [(pairs[m], slope) for m, slope in terms]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        unit, similarities, log_weights, out = ctx.saved_tensors
        few: list[tuple[Tensor, Tensor, Tensor]] = []
        dense: Tensor | None = None
        for (pairs, slope), sums, grad in zip(ctx.terms, out, grads[0], strict=True):
            if isinstance(pairs, _FewPairs):
                share = (pairs.exponents(similarities, slope, log_weights) - sums[pairs.rows]).exp_()
                few.append((pairs.rows, pairs.columns, share.mul_((slope * grad)[pairs.rows])))
                continue
            dense = torch.zeros_like(similarities) if dense is None else dense
            grad = torch.where(sums > EMPTY / 2, grad, 0)  # rows without a pair have a softmax too
            for block in row_blocks(similarities):
                share = pairs.exponents(block, similarities, slope, log_weights).softmax(1)
                dense[block].addcmul_(share, (slope * grad)[block, None])
        with full_precision(unit):
            return _both_ways(unit, few, dense), None, None, None, None


def _both_ways(unit: Tensor, few: Sequence[tuple[Tensor, Tensor, Tensor]], dense: Tensor | None) -> Tensor:
    """``(G + G^T) Z``, where G is ``dense`` plus the entries (rows, columns, values) of ``few``; overwrites ``dense``."""
    size = len(unit)
    if dense is None:
        rows, columns, values = (torch.cat(part) for part in zip(*few, strict=True))
        where = torch.stack([torch.cat([rows, columns]), torch.cat([columns, rows])])
        entries = torch.cat([values, values])
        return torch.sparse_coo_tensor(where, entries, (size, size), check_invariants=False) @ unit
    for rows, columns, values in few:
        dense[rows, columns] += values
    step = 128 if unit.device.type == "cpu" else size  # tiles, or every read of a column would miss the cache
    tiles = [slice(start, start + step) for start in range(0, size, step)]
    for i, j in combinations_with_replacement(tiles, 2):
        tile = dense[i, j] + dense[j, i].T
        dense[i, j], dense[j, i] = tile, tile.T
    return dense @ unit
