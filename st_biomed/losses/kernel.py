"""Masked log-sum-exps of the cosines of a batch, with an analytic gradient.

For rows ``z`` of length one, ``S = Z Z^T``, masks ``M_k`` and slopes ``c_k`` the kernel gives

    y_ki = log sum_{j in M_ki} w_ij exp(c_k S_ij),        dL/dS_ij = sum_k dL/dy_ki c_k exp(c_k S_ij - y_ki) w_ij,
    dL/dZ = (G + G^T) Z    with G = dL/dS.

Multi-similarity losses are sums of ``log(1 + e^y)`` of these. Two things make it fast. A mask with few pairs (mined
pairs, synonyms) is a list of pairs, whose cost in the exponentials and in the product with ``Z`` is proportional to
its length. Between forward and backward only the shares ``w_ij exp(c_k S_ij - y_ki)`` are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from st_biomed.losses.similarity import full_precision, listed_pairs, row_blocks, tiles

EMPTY = -1e30
"""The log-sum-exp of no pair: finite, to avoid ``inf - inf`` in gradients, and exactly 0 after ``exp``."""

SPARSE_SHARE = 1 / 32
"""Share of all pairs up to which a list of pairs is faster than a dense mask (measured for D = 768 on a CPU)."""


Entries: TypeAlias = list[tuple[Tensor, Tensor, Tensor]]
"""Parts of a matrix ``[B, B]`` as rows, columns and values, ``[M]`` each."""


def masked_log_sum_exp(
    unit: Tensor,
    similarities: Tensor,
    masks: Sequence[Tensor],
    terms: Sequence[tuple[int, float]],
    log_weights: Tensor | None = None,
) -> Tensor:
    """``log sum_j w_ij exp(slope * S_ij)`` over the pairs of a mask, for several masks and slopes at once.

    Differentiable once, in ``unit`` and in ``log_weights``.

    Args:
        unit: Rows of length one, ``[B, D]``.
        similarities: ``unit @ unit.T`` outside the graph, ``[B, B]``.
        masks: Boolean ``[B, B]`` each.
        terms: K pairs of (index of a mask, slope).
        log_weights: Logarithms of pair weights, ``[B, B]``.

    Returns:
        ``[K, B]``; ``EMPTY`` for an empty row of a mask.
    """
    return _MaskedLogSumExp.apply(unit, log_weights, similarities, masks, terms)


class _SparsePairs(NamedTuple):
    """Pairs as a list: ``rows`` and ``columns``, both ``[M]``."""

    rows: Tensor
    columns: Tensor

    def log_sum_exp(self, similarities: Tensor, slope: float, log_weights: Tensor | None) -> tuple[Tensor, Tensor]:
        """The sums ``[B]`` and each pair's share in its row's sum ``[M]``."""
        exponents = similarities[self.rows, self.columns] * slope
        if log_weights is not None:
            exponents = exponents + log_weights[self.rows, self.columns]
        highest = exponents.new_full((len(similarities),), EMPTY)
        highest.scatter_reduce_(0, self.rows, exponents, "amax")
        shares = (exponents - highest[self.rows]).exp_()
        total = torch.zeros_like(highest).index_add_(0, self.rows, shares)
        return torch.where(total > 0, highest + total.log(), EMPTY), shares.div_(total[self.rows])


class _DensePairs(NamedTuple):
    """Pairs as a mask, boolean ``[B, B]``."""

    mask: Tensor

    def log_sum_exp(self, similarities: Tensor, slope: float, log_weights: Tensor | None) -> tuple[Tensor, Tensor]:
        """The sums ``[B]`` and each pair's share in its row's sum ``[B, B]``.

        From ``max softmax = exp(max - logsumexp)``, as softmax is the fastest pass of exponentials there is.
        """
        sums, shares = similarities.new_empty(len(similarities)), torch.empty_like(similarities)
        for block in row_blocks(similarities):
            exponents = similarities[block] * slope
            if log_weights is not None:
                exponents += log_weights[block]
            exponents.add_(~self.mask[block], alpha=EMPTY)  # faster than filling: no branch for each element
            torch.softmax(exponents, 1, out=shares[block])
            sums[block] = exponents.amax(1) - shares[block].amax(1).log()
        return sums, shares


def _pairs(mask: Tensor) -> _SparsePairs | _DensePairs:
    if int(torch.count_nonzero(mask)) <= SPARSE_SHARE * mask.numel():
        return _SparsePairs(*listed_pairs(mask))
    return _DensePairs(mask)


class _MaskedLogSumExp(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        unit: Tensor,
        log_weights: Tensor | None,
        similarities: Tensor,
        masks: Sequence[Tensor],
        terms: Sequence[tuple[int, float]],
    ) -> Tensor:
        pairs = [_pairs(mask) for mask in masks]
        sums, shares = zip(
            *(pairs[m].log_sum_exp(similarities, slope, log_weights) for m, slope in terms), strict=True
        )
        out = torch.stack(sums)
        ctx.save_for_backward(unit, out, *shares)
        ctx.pairs = [few_pairs if isinstance(few_pairs := pairs[m], _SparsePairs) else None for m, _ in terms]
        ctx.slopes = [slope for _, slope in terms]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        unit, out, *shares = ctx.saved_tensors
        grad = torch.where(out > EMPTY / 2, grads[0], 0)  # a fully masked row has a softmax, too; its gradient is 0
        with full_precision(unit):
            to_unit = _symmetric_product(
                unit, *_weighted_sum(ctx.pairs, shares, grad * grad.new_tensor(ctx.slopes)[:, None])
            )
        to_log_weights = None
        if ctx.needs_input_grad[1]:
            few, dense = _weighted_sum(ctx.pairs, shares, grad)
            to_log_weights = _with_entries(unit.new_zeros(len(unit), len(unit)) if dense is None else dense, few)
        return to_unit, to_log_weights, None, None, None


def _weighted_sum(
    pairs: Sequence[_SparsePairs | None], shares: Sequence[Tensor], factors: Tensor
) -> tuple[Entries, Tensor | None]:
    """The sum over K terms of shares times ``factors [K, B]``: the entries of listed pairs, and a dense part if any."""
    few: Entries = []
    dense: Tensor | None = None
    for few_pairs, share, factor in zip(pairs, shares, factors, strict=True):
        if few_pairs is not None:
            few.append((few_pairs.rows, few_pairs.columns, share * factor[few_pairs.rows]))
        elif dense is None:
            dense = share * factor[:, None]
        else:
            dense.addcmul_(share, factor[:, None])
    return few, dense


def _with_entries(dense: Tensor, few: Entries) -> Tensor:
    """Add the entries to a matrix, in place; the pairs of one list are distinct."""
    for rows, columns, values in few:
        dense[rows, columns] += values
    return dense


def _symmetric_product(unit: Tensor, few: Entries, dense: Tensor | None) -> Tensor:
    """``(G + G^T) Z``, where G is ``few`` plus ``dense``; overwrites ``dense``."""
    size = len(unit)
    if dense is None:
        rows, columns, values = (torch.cat(part) for part in zip(*few, strict=True))
        where = torch.stack([torch.cat([rows, columns]), torch.cat([columns, rows])])
        entries = torch.cat([values, values])
        return torch.sparse_coo_tensor(where, entries, (size, size), check_invariants=False) @ unit
    _with_entries(dense, few)
    for i, j in combinations_with_replacement(tiles(unit, 256), 2):
        tile = dense[i, j] + dense[j, i].T
        dense[i, j] = tile
        if i != j:
            dense[j, i] = tile.T
    return dense @ unit
